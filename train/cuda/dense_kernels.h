#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// The operations between the matrix products of a transformer.

/// y = gelu(x), exact (with erf); `count` elements, a multiple of lanes(type).
void gelu_forward(Stream stream, Type type, std::int64_t count, const void* x, void* y);

/// dx = dy · gelu'(x), and its sums over rows, which are the gradient of the bias in x. `partial`
/// has room for row_blocks() × columns floats.
void gelu_backward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* dy,
                   void* dx, float* partial, float* dbias);

/// Three tensors [batch, heads, length, width] whose last dimension is contiguous, by their strides
/// in elements (multiples of lanes(type)).
struct Heads {
  const void* part[3] = {nullptr, nullptr, nullptr};
  std::int64_t batch_stride[3] = {};
  std::int64_t head_stride[3] = {};
  std::int64_t position_stride[3] = {};
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t length = 0;
  std::int64_t width = 0;
};

/// Packs the three as [batch, length, 3, heads, width], and sums over rows. `partial` has room for
/// row_blocks() × columns floats of the matrix (batch · length) × (3 · heads · width).
void pack_heads(Stream stream, Type type, const Heads& heads, void* packed, float* partial,
                float* sums);

}  // namespace assay::train::cuda
