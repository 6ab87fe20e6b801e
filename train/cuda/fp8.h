#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

// Products in fp8 want both operands with the summed dimension together. A product and its two
// gradients therefore need each matrix as it is and transposed. These kernels read a matrix of bf16
// once and write both, and note its largest absolute value, by which later steps are scaled.

enum class Fp8 : std::uint8_t {
  e4m3,  ///< more digits: inputs and weights
  e5m2,  ///< more range: gradients
};

/// The largest number of a format.
[[nodiscard]] constexpr float largest_of(Fp8 format) noexcept {
  return format == Fp8::e4m3 ? 448.0F : 57344.0F;
}

/// Where a matrix is written, values times *scale and cut off at the largest number. Either of the
/// two may be null; with both null only *largest is found.
struct Fp8Matrix {
  void* rows = nullptr;     ///< as the matrix
  void* columns = nullptr;  ///< transposed
  Fp8 format = Fp8::e4m3;
  const float* scale = nullptr;
  float* largest = nullptr;  ///< raised to the largest absolute value, before scaling
};

// Numbers of rows and columns are multiples of 16.

void round_to_fp8(Stream stream, const Matrix& matrix, const void* x, const Fp8Matrix& out);
/// y = silu(gate) · up, of which `matrix` is the shape; gate_up as for swiglu_forward().
void swiglu_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up, const Fp8Matrix& out);
/// The gradient of gate_up, [rows, 2 · columns], from that of y.
void swiglu_gradient_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up,
                            const void* dy, const Fp8Matrix& out);

/// Steps whose largest values decide on a scale.
inline constexpr std::int64_t kFp8Steps = 16;

/// cuBLAS reads a scale from an address that is a multiple of 16.
inline constexpr std::int64_t kFp8Apart = 4;

/// The scales of many matrices; all on the device.
struct Fp8History {
  std::int64_t matrices = 0;
  const float* limit = nullptr;  ///< of each: largest_of() its format
  float* largest = nullptr;      ///< of each: in the step that is under way
  float* past = nullptr;         ///< [matrices, kFp8Steps]
  std::int32_t* step = nullptr;  ///< one: how many are past
  float* scale = nullptr;        ///< of each: limit / the largest value of the past steps
  float* inverse = nullptr;      ///< of each, kFp8Apart floats apart: 1 / scale
};

/// Ends a step. A matrix of zeros, or with a value that is not finite, keeps its scale.
void advance_fp8(Stream stream, const Fp8History& history);
/// Sets the scale of one matrix by what `largest` is so far.
void begin_fp8(Stream stream, const Fp8History& history, std::int64_t matrix);

}  // namespace assay::train::cuda
