#pragma once

#include <memory>

#include "train/base/torch.h"

namespace assay::train {

class Fp8Product;

/// A weight, and where there is one a copy of it in the type that activations have, which whoever
/// updates the weight keeps up to date: a product then need not round it.
struct Weight {
  torch::Tensor value;    ///< the module's parameter
  torch::Tensor rounded;  ///< undefined: none
  /// Backward writes the gradient instead of adding to what is there. Of a matrix that is input and
  /// output, the output's part comes first.
  bool overwrite = false;
  /// Its products are in fp8; null: in the activations' type.
  std::shared_ptr<Fp8Product> fp8 = nullptr;

  [[nodiscard]] torch::Tensor as(torch::ScalarType type) const {
    if (rounded.defined() && rounded.scalar_type() == type) return rounded;
    return value.to(type);
  }
};

}  // namespace assay::train
