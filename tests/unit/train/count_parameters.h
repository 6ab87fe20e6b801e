#pragma once

#include <cstdint>

#include "train/base/torch.h"

namespace assay::train {

inline std::int64_t count_parameters(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace assay::train
