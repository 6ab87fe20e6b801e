#pragma once

#include <cstdint>

#include "train/base/update_terms.h"

namespace assay::train {

// One pass over memory per update, on the CPU. All arrays have `size` elements and must not
// overlap. Uses libtorch's thread pool.

void sgd_update(const SgdTerms& terms, std::int64_t size, const float* gradient, float* value,
                float* velocity);

void adamw_update(const AdamTerms& terms, std::int64_t size, const float* gradient, float* value,
                  float* first, float* second);
/// The same with moments in bf16, rounded randomly.
void adamw_update(const AdamTerms& terms, std::int64_t size, const float* gradient, float* value,
                  std::uint16_t* first, std::uint16_t* second);

/// The sum of squares in double precision; the same for any number of threads.
[[nodiscard]] double sum_of_squares(std::int64_t size, const float* values);

}  // namespace assay::train
