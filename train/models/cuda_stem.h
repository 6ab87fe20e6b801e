#pragma once

#include "train/base/torch.h"

namespace assay::train {

// A ResNet's first convolution (7×7, stride 2, padding 3, three channels) on CUDA devices. Three
// channels leave tensor cores idle; 2×2 pixels as 12 channels and a 4×4 kernel of stride 1 compute
// the same with twice the operations in a third of the time.

/// Whether this convolution of these images can be done that way.
[[nodiscard]] bool cuda_stem_fits(const torch::nn::Conv2dImpl& conv, const torch::Tensor& x);

/// Computes conv(x), without a gradient for x.
[[nodiscard]] torch::Tensor cuda_stem(const torch::nn::Conv2dImpl& conv, const torch::Tensor& x);

}  // namespace assay::train
