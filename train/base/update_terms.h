#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define ASSAY_EVERY_DEVICE __host__ __device__
#else
#define ASSAY_EVERY_DEVICE
#endif

namespace assay::train {

// The inputs to an update of the parameters, for the kernels of every kind of device.

struct SgdTerms {
  float rate = 0;   ///< learning rate
  float scale = 1;  ///< multiplies the gradient beforehand
  float decay = 0;  ///< weight decay, added to the gradient
  float momentum = 0;
  bool nesterov = false;
};

struct AdamTerms {
  float rate = 0;
  float scale = 1;
  float decay = 0;  ///< decoupled
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float correction1 = 1;  ///< 1 - beta1^t
  float correction2 = 1;  ///< 1 - beta2^t
  // For moments in bf16: the random bits differ by step and element.
  std::uint32_t step = 0;
  std::int64_t begin = 0;  ///< number of the first element
};

/// 32 random bits for an element in a step, the same on every kind of device.
[[nodiscard]] ASSAY_EVERY_DEVICE inline std::uint32_t drawn_bits(std::uint32_t step,
                                                                 std::int64_t element) noexcept {
  std::uint32_t bits = static_cast<std::uint32_t>(element) * 0x9e3779b1U ^ step * 0x85ebca77U ^
                       static_cast<std::uint32_t>(element >> 32) * 0xc2b2ae3dU;
  bits = (bits ^ bits >> 16) * 0x7feb352dU;
  bits = (bits ^ bits >> 15) * 0x846ca68bU;
  return bits ^ bits >> 16;
}

/// Rounds a float's bits randomly down or up to a bf16's: since `drawn` is uniform over 16 bits,
/// the mean is the float.
[[nodiscard]] ASSAY_EVERY_DEVICE inline std::uint16_t rounded_by_chance(
    std::uint32_t bits, std::uint32_t drawn) noexcept {
  return static_cast<std::uint16_t>((bits + (drawn & 0xffffU)) >> 16);
}

}  // namespace assay::train
