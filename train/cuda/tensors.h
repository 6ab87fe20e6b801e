#pragma once

#include <ATen/cuda/CUDAContext.h>

#include "train/base/torch.h"
#include "train/cuda/types.h"

namespace assay::train::cuda {

// Passes libtorch's tensors to the kernels.

[[nodiscard]] inline Stream current_stream() {
  return at::cuda::getCurrentCUDAStream().stream();
}

/// Whether there are kernels for the tensor's device and type.
[[nodiscard]] inline bool fits(const torch::Tensor& tensor) {
  const torch::ScalarType type = tensor.scalar_type();
  return tensor.is_cuda() &&
         (type == torch::kFloat || type == torch::kBFloat16 || type == torch::kHalf);
}

[[nodiscard]] inline Type type_of(const torch::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case torch::kBFloat16:
      return Type::bf16;
    case torch::kHalf:
      return Type::f16;
    default:
      return Type::f32;
  }
}

/// Room for sums on the tensor's device.
[[nodiscard]] inline torch::Tensor floats(const torch::Tensor& like,
                                          std::vector<std::int64_t> shape) {
  return torch::empty(std::move(shape), like.options().dtype(torch::kFloat));
}

}  // namespace assay::train::cuda
