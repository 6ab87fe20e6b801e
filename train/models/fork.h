#pragma once

#include "train/base/torch.h"

namespace assay::train {

/// One tensor for two readers: the next layer, and the addition that skips it. If each has its own
/// gradient, one kernel adds and uses them, instead of one that adds and one that uses the sum.
struct Fork {
  torch::Tensor main;
  torch::Tensor skip;

  Fork() = default;
  Fork(torch::Tensor for_main, torch::Tensor for_skip)
      : main(std::move(for_main)), skip(std::move(for_skip)) {}
  explicit Fork(const torch::Tensor& both) : main(both), skip(both) {}
};

}  // namespace assay::train
