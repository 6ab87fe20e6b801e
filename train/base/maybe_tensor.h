#pragma once

#include <optional>

#include "train/base/torch.h"

namespace assay::train {

/// The type of libtorch's parameters for an optional tensor.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
using MaybeTensor = std::optional<torch::Tensor>;
#else
using MaybeTensor = c10::optional<torch::Tensor>;
#endif

}  // namespace assay::train
