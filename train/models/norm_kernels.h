#pragma once

#include <cstdint>

namespace assay::train {

// Batch norm with relu and addition over channels-last data in memory: `rows` (N·H·W) × `channels`
// floats. Sums are taken over fixed blocks, so that results do not depend on the number of threads.
// Threads: libtorch's own pool.

struct NormShape {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
};

/// Mean and (biased) variance of every channel.
void norm_statistics(const NormShape& shape, const float* x, double* mean, double* variance);

/// y = x · scale + shift, plus addend when there is one, cut at 0 with `relu`.
void norm_forward(const NormShape& shape, const float* x, const float* addend, const float* scale,
                  const float* shift, bool relu, float* y);

/// `gradient` = dy where y > 0 (with `relu`), else dy; `sum` and `product` are the sums over rows
/// of the gradient and of gradient · (x - mean) · inverse. `gradient` may be null when it is not
/// wanted.
void norm_backward_sums(const NormShape& shape, const float* x, const float* y, const float* dy,
                        const float* mean, const float* inverse, bool relu, float* gradient,
                        double* sum, double* product);

/// dx = a · g + b · x + c per channel, with g as above (from dy and y, or ready-made when y is
/// null).
void norm_backward_input(const NormShape& shape, const float* x, const float* y, const float* dy,
                         const float* a, const float* b, const float* c, float* dx);

}  // namespace assay::train
