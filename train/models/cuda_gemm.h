#pragma once

#include "train/base/torch.h"

namespace assay::train {

// Matrix products of 16-bit types on a CUDA device with the cuBLAS algorithm that is fastest here,
// rather than the one it predicts to be. On a device limited by its power, the two differ by some
// percent.

/// From now on, the first product of a shape is timed with every algorithm that cuBLAS offers for
/// it, for one to two seconds, unless a graph is being captured.
void time_gemm_algorithms(bool wanted) noexcept;

/// Whether gemm() can compute it: requested, contiguous matrices of one 16-bit type on a device,
/// and a cuBLAS in this process.
[[nodiscard]] bool has_gemm(const torch::Tensor& a, const torch::Tensor& b);

enum class Transposed { none, first, second };

/// out = a · b, aᵀ · b or a · bᵀ; `out` has their type or float.
void gemm(Transposed which, const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& out);

}  // namespace assay::train
