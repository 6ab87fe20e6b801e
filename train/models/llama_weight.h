#pragma once

#include <memory>

#include "train/base/torch.h"

namespace assay::train {

class Fp8Product;

/// A weight and, optionally, a copy in the activations' type, which saves products from rounding
/// it. Whoever updates the weight must keep the copy up to date.
struct Weight {
  torch::Tensor value;    ///< the module's parameter
  torch::Tensor rounded;  ///< undefined if none
  /// Backward overwrites the gradient instead of adding to it. For a matrix that is both input and
  /// output, the output's part comes first.
  bool overwrite = false;
  /// for products in fp8; null: in the activations' type
  std::shared_ptr<Fp8Product> fp8 = nullptr;

  [[nodiscard]] torch::Tensor as(torch::ScalarType type) const {
    if (rounded.defined() && rounded.scalar_type() == type) return rounded;
    return value.to(type);
  }
};

}  // namespace assay::train
