#pragma once

#include "automl/graph.h"

namespace assay::automl {

/// ResNet-50 v1 (stride on the first 1×1 convolution of a stage), layer by layer the one that
/// AIPerf starts with: 224×224×3 → 1000, 174 layers.
[[nodiscard]] Graph resnet50();

/// ResNet-20 for 32×32×3 images: 3 stages of 3 basic blocks with 16, 32 and 64 filters, projection
/// (1×1 convolution and batch norm) where the size changes.
[[nodiscard]] Graph resnet20(int classes = 10);

/// A ResNet of basic blocks: `stages` × `blocks` of two 3×3 convolutions, with `filters` in the
/// first stage and twice as many in each that follows, which also halves the image.
[[nodiscard]] Graph basic_resnet(Shape input, int stages, int blocks, int filters, int classes);

}  // namespace assay::automl
