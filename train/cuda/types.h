#pragma once

#include <cstdint>

namespace assay::train::cuda {

// Kernels of our own. Plain pointers to device memory, no libtorch, so that nvcc compiles them fast
// and on their own. All are asynchronous on `stream`. Pointers to activations are aligned to 16
// bytes; numbers of channels and columns are multiples of `lanes(type)`.

/// A cudaStream_t.
using Stream = void*;

/// How activations are stored; sums, statistics and parameters are always float.
enum class Type : std::uint8_t { f32, bf16, f16 };

/// Elements that a thread reads at once.
[[nodiscard]] constexpr std::int64_t lanes(Type type) noexcept {
  return type == Type::f32 ? 4 : 8;
}

/// A matrix in row-major order: positions × channels, or tokens × columns.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Kernels that sum over rows leave one partial result per block of rows; this many blocks.
[[nodiscard]] std::int64_t row_blocks(Type type, const Matrix& matrix) noexcept;

/// Throws Error of kind internal with the name of the CUDA error when a launch has failed.
void check_launch(const char* kernel);

}  // namespace assay::train::cuda
