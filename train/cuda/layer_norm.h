#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// Layer norm over rows of at most kWidestRow columns.

inline constexpr std::int64_t kWidestRow = 2048;

/// Which elements are dropped: drawn anew for every element from (seed, offset), so that no mask
/// has to be kept. The rate is exact to 2⁻¹⁶.
struct Dropout {
  float rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// How far a generator's offset has to move on for one call.
inline constexpr std::uint64_t kDropoutOffset = 4;

/// sum = x + dropout(h); y = (sum - mean) · inverse · weight + bias, with mean and inverse
/// (1 / √(variance + ε)) of each row, which are kept as `rows` floats each. `sum` may be h.
void add_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const Dropout& dropout, const float* weight, const float* bias, float epsilon,
                      void* sum, void* y, float* mean, float* inverse);

/// Blocks of partial sums that add_norm_backward() leaves.
[[nodiscard]] std::int64_t add_norm_blocks(const Matrix& matrix) noexcept;

/// Of dy (plus `other` when given): dx, dh, and the sums over rows that are the gradients of weight
/// and bias and of the bias that was added to h. `partial` has room for add_norm_blocks() × 3 ×
/// columns floats.
void add_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* other, const void* sum, const float* mean, const float* inverse,
                       const Dropout& dropout, const float* weight, void* dx, void* dh,
                       float* partial, float* dweight, float* dbias, float* dh_bias);

}  // namespace assay::train::cuda
