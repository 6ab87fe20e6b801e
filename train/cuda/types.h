#pragma once

#include <cstdint>

namespace assay::train::cuda {

// Our own kernels. They use plain pointers to device memory and no libtorch, so that nvcc compiles
// them fast and separately. All are asynchronous on `stream`. Pointers to activations are aligned
// to 16 bytes; numbers of channels and columns are multiples of `lanes(type)`.

/// A cudaStream_t.
using Stream = void*;

/// The storage type of activations; sums, statistics and parameters are always float.
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

/// The number of row blocks, for each of which a kernel that sums over rows leaves a result.
[[nodiscard]] std::int64_t row_blocks(Type type, const Matrix& matrix) noexcept;

/// Throws Error of kind internal with the CUDA error's name if a launch failed.
void check_launch(const char* kernel);

}  // namespace assay::train::cuda
