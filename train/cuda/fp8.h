#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// fp8 products need both operands contiguous in the summed dimension, so a product and its two
// gradients need each matrix both as it is and transposed. These kernels read a bf16 matrix once,
// write both, and record its largest absolute value, by which later steps are scaled.

enum class Fp8 : std::uint8_t {
  e4m3,  ///< more precision: inputs and weights
  e5m2,  ///< more range: gradients
};

/// The largest number of a format.
[[nodiscard]] constexpr float largest_of(Fp8 format) noexcept {
  return format == Fp8::e4m3 ? 448.0F : 57344.0F;
}

/// The destination of a matrix, with values times *scale, clipped at the largest number. Either of
/// the two may be null; if both are, only *largest is computed.
struct Fp8Matrix {
  void* rows = nullptr;     ///< in the matrix's layout
  void* columns = nullptr;  ///< transposed
  Fp8 format = Fp8::e4m3;
  const float* scale = nullptr;
  float* largest = nullptr;  ///< raised to the largest absolute value, before scaling
};

// The numbers of rows and columns must be multiples of 16.

void round_to_fp8(Stream stream, const Matrix& matrix, const void* x, const Fp8Matrix& out);
/// y = silu(gate) · up, whose shape is `matrix`; gate_up is as for swiglu_forward().
void swiglu_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up, const Fp8Matrix& out);
/// The gradient of gate_up, [rows, 2 · columns], from y's.
void swiglu_gradient_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up,
                            const void* dy, const Fp8Matrix& out);

/// The number of steps whose largest values determine a scale.
inline constexpr std::int64_t kFp8Steps = 16;

/// cuBLAS reads a scale from an address divisible by 16.
inline constexpr std::int64_t kFp8Apart = 4;

/// The scales of many matrices; all on the device.
struct Fp8History {
  std::int64_t matrices = 0;
  const float* limit = nullptr;  ///< for each, its format's largest_of()
  float* largest = nullptr;      ///< for each, in the current step
  float* past = nullptr;         ///< [matrices, kFp8Steps]
  std::int32_t* step = nullptr;  ///< a single one: the number of past steps
  float* scale = nullptr;        ///< for each: limit / the largest value of the past steps
  float* inverse = nullptr;      ///< for each, kFp8Apart floats apart: 1 / scale
};

/// Ends a step. A matrix of zeros, or with a non-finite value, keeps its scale.
void advance_fp8(Stream stream, const Fp8History& history);
/// Sets one matrix's scale from its `largest` so far.
void begin_fp8(Stream stream, const Fp8History& history, std::int64_t matrix);

}  // namespace assay::train::cuda
