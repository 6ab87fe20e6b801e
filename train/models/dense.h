#pragma once

#include "train/base/torch.h"

namespace assay::train {

// Matrix products of the models. On the CPU in single precision they call oneDNN's sgemm, which
// comes with libtorch: the BLAS called by a distribution's libtorch may be the reference one, which
// reaches a thirtieth of the speed. Elsewhere they are libtorch's own operators. Everything here
// supports autograd.

/// Whether oneDNN's sgemm was found in this process.
[[nodiscard]] bool has_fast_gemm() noexcept;

/// C (m × n) = op(A) · op(B) + beta · C, row-major with the given leading dimensions. Requires
/// has_fast_gemm(). Uses all threads, or one if called within a parallel region.
void fast_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
               float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
               float beta, float* c, std::int64_t ldc);

/// x · weightᵀ + bias over the last dimension of x; bias may be undefined.
[[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                                   const torch::Tensor& bias);

/// Multi-head self-attention. `qkv` is [B, S, 3, heads, D] (contiguous), `mask` is undefined or
/// additive over keys, [B, 1, 1, S] (0 or a large negative number). Returns [B, S, heads · D].
/// `dropout` applies to the attention probabilities and must be 0 in evaluation.
[[nodiscard]] torch::Tensor attention(const torch::Tensor& qkv, const torch::Tensor& mask,
                                      double dropout);

/// The same for queries, keys and values, each [B, heads, S, D].
[[nodiscard]] torch::Tensor attention(const std::vector<torch::Tensor>& parts,
                                      const torch::Tensor& mask, double dropout);

}  // namespace assay::train
