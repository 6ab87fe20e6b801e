#pragma once

#include "train/models/fork.h"

namespace assay::train {

// Batch norm on CUDA devices, in training, with our own kernels (train/cuda/batch_norm.h).

/// Whether they support these tensors.
[[nodiscard]] bool cuda_norm_fits(const torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x);

/// Like norm_act().
[[nodiscard]] Fork cuda_norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                 const torch::Tensor& addend, bool relu);

/// Like norm_act_pool().
[[nodiscard]] torch::Tensor cuda_norm_pool(torch::nn::BatchNorm2dImpl& norm,
                                           const torch::Tensor& x);

}  // namespace assay::train
