#pragma once

#include <cstdint>

namespace assay::train {

// One pass over memory per update, on the CPU. All arrays have `size` elements and do not overlap.
// Threads: libtorch's own pool.

struct SgdTerms {
  float rate = 0;   ///< learning rate
  float scale = 1;  ///< multiplies the gradient first
  float decay = 0;  ///< weight decay, added to the gradient
  float momentum = 0;
  bool nesterov = false;
};
void sgd_update(const SgdTerms& terms, std::int64_t size, const float* gradient, float* value,
                float* velocity);

struct AdamTerms {
  float rate = 0;
  float scale = 1;
  float decay = 0;  ///< decoupled
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float correction1 = 1;  ///< 1 - beta1^t
  float correction2 = 1;  ///< 1 - beta2^t
};
void adamw_update(const AdamTerms& terms, std::int64_t size, const float* gradient, float* value,
                  float* first, float* second);

/// The sum of squares, in double precision; the same for any number of threads.
[[nodiscard]] double sum_of_squares(std::int64_t size, const float* values);

}  // namespace assay::train
