#pragma once

#include <string>
#include <vector>

#include "train/models/bert.h"
#include "train/models/resnet.h"

namespace assay::train {

// Model FLOPs of one sample, counted analytically. A multiply-add counts 2. Includes convolutions
// (with zero padding), matrix products and attention's two products; excludes element-wise work,
// norms, pooling, softmax, embeddings, losses and the optimizer, as is customary for MFU. Backward
// costs one product for the weights and one for the input: twice forward, but once for layers whose
// input needs no gradient (the first convolution). Attention's products have no weights but two
// inputs, so also twice forward. See docs/training.md.

struct LayerFlops {
  std::string name;
  double forward = 0;
  double backward = 0;
};

struct ModelFlops {
  std::vector<LayerFlops> layers;
  [[nodiscard]] double forward() const;
  [[nodiscard]] double backward() const;
  [[nodiscard]] double training() const { return forward() + backward(); }
};

/// The operations for one image of height × width pixels.
[[nodiscard]] ModelFlops resnet_flops(const ResNetOptions& options, std::int64_t height,
                                      std::int64_t width);

/// The operations for one sequence of `length` tokens, with `predictions` masked ones.
[[nodiscard]] ModelFlops bert_flops(const BertOptions& options, std::int64_t length,
                                    double predictions);

}  // namespace assay::train
