#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// Layer norm supports rows of at most widest_row() columns: backward's data for wider ones would
// not fit into every device's shared memory.

[[nodiscard]] constexpr std::int64_t widest_row(Type type) noexcept {
  return 256 * lanes(type);
}

/// The dropped elements, drawn from (seed, offset) with Philox. The rate is exact to 2⁻¹⁶. In a
/// CUDA graph, whose arguments are constant, the seed is read from `seed_at`, and the value at
/// `offset_at` is added to the offset.
struct Dropout {
  float rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  const std::int64_t* seed_at = nullptr;
  const std::int64_t* offset_at = nullptr;
};

/// How far one call advances a generator's offset.
inline constexpr std::uint64_t kDropoutOffset = 4;

/// A dropout's record for backward: a byte per `lanes(type)` elements, with one bit each, set if
/// the element stays. It costs a sixteenth of the activations; drawing again would cost more than
/// reading them.
using KeptBits = std::uint8_t;

/// sum = x + dropout(h); y = (sum - mean) · inverse · weight + bias, with each row's mean and
/// inverse (1 / √(variance + ε)), which are kept as `rows` floats each. `sum` may be h. `kept` has
/// room for the matrix's elements / lanes(type), and may be null if the rate is 0.
void add_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const Dropout& dropout, const float* weight, const float* bias, float epsilon,
                      void* sum, void* y, float* mean, float* inverse, KeptBits* kept);

/// The number of blocks of partial sums left by add_norm_backward().
[[nodiscard]] std::int64_t add_norm_blocks(const Matrix& matrix) noexcept;

/// Computes from dy (plus `other` if given): dx, dh, and the sums over rows that are the gradients
/// of weight, bias and the bias added to h. `kept` is forward's for this rate. `partial` has room
/// for add_norm_blocks() × 3 × columns floats.
void add_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* other, const void* sum, const float* mean, const float* inverse,
                       const KeptBits* kept, float rate, const float* weight, void* dx, void* dh,
                       float* partial, float* dweight, float* dbias, float* dh_bias);

}  // namespace assay::train::cuda
