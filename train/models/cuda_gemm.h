#pragma once

#include "train/base/torch.h"

namespace assay::train {

// Matrix products of 16-bit types on a CUDA device by that algorithm of cuBLAS which is the fastest
// here, and not by the one that it predicts to be. Where a device is held back by its power, the
// two differ by some percent.

/// From now on: the first product of a shape is timed with every algorithm that cuBLAS offers for
/// it, one to two seconds, unless a graph is being captured.
void time_gemm_algorithms(bool wanted) noexcept;

/// Whether gemm() can compute it: asked for, contiguous matrices of one 16-bit type on a device,
/// and a cuBLAS in this process.
[[nodiscard]] bool has_gemm(const torch::Tensor& a, const torch::Tensor& b);

enum class Transposed { none, first, second };

/// out = a · b, aᵀ · b or a · bᵀ; `out` is of their type or float.
void gemm(Transposed which, const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& out);

}  // namespace assay::train
