#pragma once

#include "train/base/update_terms.h"
#include "train/cuda/types.h"

namespace assay::train::cuda {

// One pass over memory per update, like train/optim/update_kernels.h on the CPU. `factor`, if
// given, is a float on the device that multiplies the gradient in addition to the terms' scale, so
// the host need not read it. `rounded`, if given, receives the new values in `rounded_type`.

void sgd_update(Stream stream, const SgdTerms& terms, const float* factor, std::int64_t size,
                const float* gradient, float* value, float* velocity);

/// A gradient may be in bf16.
void adamw_update(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
                  Type gradient_type, const void* gradient, float* value, float* first,
                  float* second, Type rounded_type = Type::f32, void* rounded = nullptr);
/// The same with moments in bf16, rounded randomly.
void adamw_update(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
                  Type gradient_type, const void* gradient, float* value, std::uint16_t* first,
                  std::uint16_t* second, Type rounded_type = Type::f32, void* rounded = nullptr);

}  // namespace assay::train::cuda
