#pragma once

#include <cstdint>

namespace assay::train {

// Batch norm with relu and addition over channels-last data in memory: `rows` (N·H·W) × `channels`
// floats. Sums over fixed blocks make results independent of the number of threads. Uses libtorch's
// thread pool.

struct NormShape {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
};

/// Mean and (biased) variance of every channel.
void norm_statistics(const NormShape& shape, const float* x, double* mean, double* variance);

/// y = x · scale + shift, plus addend if given, clipped at 0 with `relu`.
void norm_forward(const NormShape& shape, const float* x, const float* addend, const float* scale,
                  const float* shift, bool relu, float* y);

/// The gradient of a norm's output from its readers, masked where relu clipped.
struct NormGradient {
  const float* dy = nullptr;
  const float* other = nullptr;  ///< a second reader's, to be added; null: only one reader
  const float* y = nullptr;      ///< passes where y > 0; null: see scale
  const float* scale = nullptr;  ///< per channel, with shift: passes where x · scale + shift > 0;
  const float* shift = nullptr;  ///< null, and y too: passes everywhere
};

/// `sum` and `product`: the sums over rows of the gradient and of gradient · (x - mean) · inverse.
/// `masked` receives the gradient itself; it may be null if `other` and `y` are.
void norm_backward_sums(const NormShape& shape, const float* x, const NormGradient& gradient,
                        const float* mean, const float* inverse, float* masked, double* sum,
                        double* product);

/// dx = a · gradient + b · x + c per channel. The gradient must have neither `other` nor `y`.
void norm_backward_input(const NormShape& shape, const float* x, const NormGradient& gradient,
                         const float* a, const float* b, const float* c, float* dx);

}  // namespace assay::train
