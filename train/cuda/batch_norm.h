#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// Batch norm with ReLU, addition and pooling over channels-last activations: rows are positions
// (N·H·W), columns are channels. Training only. `partial` has room for row_blocks() × 2 × columns
// floats.

/// A norm's values, also kept for backward; each has `columns` floats.
struct NormState {
  float* mean = nullptr;
  float* inverse = nullptr;  ///< 1 / √(variance + ε)
  float* scale = nullptr;    ///< weight · inverse
  float* shift = nullptr;    ///< bias - mean · scale
};

struct NormParameters {
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* running_mean = nullptr;  ///< moved by `momentum` towards the batch's value
  float* running_variance = nullptr;
  float momentum = 0.1F;
  float epsilon = 1e-5F;
};

/// Computes the statistics of x in `state`. Sums are relative to the first row, so that a mean far
/// from 0 does not lose digits.
void norm_statistics(Stream stream, Type type, const Matrix& matrix, const void* x, float* partial,
                     const NormParameters& parameters, const NormState& state);

/// y = x · scale + shift (+ addend), clipped at 0 with `relu`.
void norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* addend,
                  const NormState& state, bool relu, void* y);

/// The uses of a norm's output: one, or a second one as a sum's other operand.
struct NormGradient {
  const void* dy = nullptr;
  const void* other = nullptr;  ///< added to dy if given
  const void* y = nullptr;  ///< with `relu`: clips where y is 0; null: decided by x · scale + shift
  bool relu = false;
};

/// Gradients of weight and bias, and the three coefficients (3 × columns floats) needed by
/// norm_backward(). If `kept` is given, it receives the gradient after the ReLU, which is also the
/// addend's.
void norm_backward_sums(Stream stream, Type type, const Matrix& matrix, const void* x,
                        const NormGradient& gradient, const NormState& state, const float* weight,
                        void* kept, float* partial, float* dweight, float* dbias,
                        float* coefficients);

/// dx, from the same gradient or from the kept one (dy = kept, no ReLU).
void norm_backward(Stream stream, Type type, const Matrix& matrix, const void* x,
                   const NormGradient& gradient, const NormState& state, const float* coefficients,
                   void* dx);

/// Images of a 3×3 max-pooling with stride 2 and padding 1.
struct PoolShape {
  std::int64_t images = 0;
  std::int64_t height = 0;  ///< before pooling
  std::int64_t width = 0;
  std::int64_t channels = 0;
  [[nodiscard]] std::int64_t pooled_height() const noexcept { return (height - 1) / 2 + 1; }
  [[nodiscard]] std::int64_t pooled_width() const noexcept { return (width - 1) / 2 + 1; }
  [[nodiscard]] Matrix matrix() const noexcept { return {images * height * width, channels}; }
};

/// y = max over the window of relu(x · scale + shift); `winner` (a byte per y) is the position of
/// the maximum in the window, the first one of equals.
void norm_pool_forward(Stream stream, Type type, const PoolShape& shape, const void* x,
                       const NormState& state, void* y, std::uint8_t* winner);
/// Same as norm_backward_sums() and norm_backward() for the output of norm_pool_forward().
void norm_pool_backward_sums(Stream stream, Type type, const PoolShape& shape, const void* x,
                             const void* dy, const std::uint8_t* winner, const NormState& state,
                             const float* weight, float* partial, float* dweight, float* dbias,
                             float* coefficients);
void norm_pool_backward(Stream stream, Type type, const PoolShape& shape, const void* x,
                        const void* dy, const std::uint8_t* winner, const NormState& state,
                        const float* coefficients, void* dx);

}  // namespace assay::train::cuda
