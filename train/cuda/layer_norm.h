#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// Layer norm over rows of at most widest_row() columns: what backward holds of a wider one would
// not fit into the shared memory of every device.

[[nodiscard]] constexpr std::int64_t widest_row(Type type) noexcept {
  return 256 * lanes(type);
}

/// Which elements are dropped: drawn from (seed, offset) by Philox. The rate is exact to 2⁻¹⁶. In a
/// CUDA graph, whose arguments stay the same, the seed is read from `seed_at`, and what is at
/// `offset_at` is added to the offset.
struct Dropout {
  float rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  const std::int64_t* seed_at = nullptr;
  const std::int64_t* offset_at = nullptr;
};

/// How far a generator's offset has to move on for one call.
inline constexpr std::uint64_t kDropoutOffset = 4;

/// What is kept of a dropout for backward: a byte for `lanes(type)` elements, one bit each, set
/// where the element stays. It costs a sixteenth of the activations, drawing again more than
/// reading them.
using KeptBits = std::uint8_t;

/// sum = x + dropout(h); y = (sum - mean) · inverse · weight + bias, with mean and inverse
/// (1 / √(variance + ε)) of each row, which are kept as `rows` floats each. `sum` may be h. `kept`
/// has room for the matrix's elements / lanes(type), and may be null when the rate is 0.
void add_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const Dropout& dropout, const float* weight, const float* bias, float epsilon,
                      void* sum, void* y, float* mean, float* inverse, KeptBits* kept);

/// Blocks of partial sums that add_norm_backward() leaves.
[[nodiscard]] std::int64_t add_norm_blocks(const Matrix& matrix) noexcept;

/// Computes from dy (plus `other` when given): dx, dh, and the sums over rows that are the
/// gradients of weight and bias and of the bias that was added to h. `kept` is what forward left
/// for this rate. `partial` has room for add_norm_blocks() × 3 × columns floats.
void add_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* other, const void* sum, const float* mean, const float* inverse,
                       const KeptBits* kept, float rate, const float* weight, void* dx, void* dh,
                       float* partial, float* dweight, float* dbias, float* dh_bias);

}  // namespace assay::train::cuda
