#pragma once

#include "train/models/fork.h"

namespace assay::train {

// The parts of a transformer on CUDA devices, in training, with our own kernels (train/cuda/) for
// the operations between the matrix products. Activations are of type x.scalar_type(); weights are
// float and are rounded to it.

/// Whether they support activations of this type and width.
[[nodiscard]] bool cuda_dense_fits(const torch::Tensor& x, std::int64_t head_width);

/// Queries, keys and values of x, each [batch, heads, length, width], from one packed product.
[[nodiscard]] std::vector<torch::Tensor> cuda_linear_heads(const torch::Tensor& x,
                                                           const torch::nn::LinearImpl& layer,
                                                           std::int64_t heads);

/// gelu(layer(x)).
[[nodiscard]] torch::Tensor cuda_linear_gelu(const torch::Tensor& x,
                                             const torch::nn::LinearImpl& layer);

/// norm(skip + dropout(layer(h))).
[[nodiscard]] Fork cuda_linear_add_norm(const torch::Tensor& h, const torch::nn::LinearImpl& layer,
                                        const torch::Tensor& skip,
                                        const torch::nn::LayerNormImpl& norm, double dropout);

}  // namespace assay::train
