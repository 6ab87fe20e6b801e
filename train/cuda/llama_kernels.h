#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// The operations between the matrix products of a decoder with RMSNorm, rotary positions and
// SwiGLU. One block of threads handles a row.

/// The most columns that rms_norm_forward() and _backward() accept.
[[nodiscard]] constexpr std::int64_t widest_rms_row(Type type) noexcept {
  return 4 * 256 * lanes(type);
}

/// sum = x + h, y = sum · inverse · weight, with each row's inverse = 1 / √(mean(sum²) + ε), kept
/// as `rows` floats. Without h (null), x is the sum, and `sum` is not written.
void rms_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const float* weight, float epsilon, void* sum, void* y, float* inverse);

/// The number of blocks of partial sums left by rms_norm_backward().
[[nodiscard]] std::int64_t rms_norm_blocks(const Matrix& matrix) noexcept;

/// dx = the gradient through the norm, plus `dsum` if given (the gradient of the sum itself), and
/// the weight's gradient. `partial` has room for rms_norm_blocks() × columns floats.
void rms_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* dsum, const void* sum, const float* inverse, const float* weight,
                       void* dx, float* partial, float* dweight);

/// Rows of `heads` queries, then `kv_heads` keys, then as many values, each of `width` elements (a
/// multiple of 2 · lanes(type)); a row's position is its number modulo `length`. The tables are
/// [length, width / 2] floats.
struct Rotary {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;
  const float* cosine = nullptr;
  const float* sine = nullptr;
};

/// Rotates queries and keys in place: pair (i, i + width / 2) by its position's angle.
void rotate_heads(Stream stream, Type type, const Rotary& rotary, void* packed);

/// Gradients of queries, keys and values, [batch, length, heads, width] by their strides in
/// elements (multiples of lanes(type); the last is 1).
struct HeadGradients {
  const void* part[3] = {nullptr, nullptr, nullptr};
  std::int64_t batch_stride[3] = {};
  std::int64_t position_stride[3] = {};
  std::int64_t head_stride[3] = {};
};

/// The inverse of rotate_heads(): packs the three as rows, with queries and keys rotated back.
void pack_rotated(Stream stream, Type type, const Rotary& rotary, const HeadGradients& gradients,
                  void* packed);

/// y = silu(gate) · up; a row of gate_up is [gate, up], each of matrix.columns elements.
void swiglu_forward(Stream stream, Type type, const Matrix& matrix, const void* gate_up, void* y);
/// `dgate_up` may be `gate_up`. With `y`, recomputes that as well.
void swiglu_backward(Stream stream, Type type, const Matrix& matrix, const void* gate_up,
                     const void* dy, void* dgate_up, void* y = nullptr);

/// losses = log Σ exp(row) - row[label] for each row, NaN for a label that is not a column; with
/// `gradient`, the logits become share · (softmax(row) - [column is the label]).
void cross_entropy_in_place(Stream stream, Type type, const Matrix& matrix, void* logits,
                            const std::int64_t* labels, bool gradient, float share, float* losses);

}  // namespace assay::train::cuda
