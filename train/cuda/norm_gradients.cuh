#pragma once

// Batch norm's backward over any source of gradients: a functor that returns the gradient of the
// norm's output for one pack, from its row, column and normalized value. For .cu files.

#include "train/cuda/batch_norm.h"
#include "train/cuda/device.cuh"

namespace assay::train::cuda {

template <typename T>
struct Affine {
  Floats<T> scale;
  Floats<T> shift;
  __device__ __forceinline__ Affine(const NormState& state, std::int64_t column)
      : scale(load_columns<T>(state.scale, column)), shift(load_columns<T>(state.shift, column)) {}
  // Rounded as in the forward pass, so that both clip at the same places.
  __device__ __forceinline__ Floats<T> operator()(const Floats<T>& x) const {
    Floats<T> out;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      out.value[i] = to_float(from_float<T>(x.value[i] * scale.value[i] + shift.value[i]));
    return out;
  }
};

template <typename T, typename Source>
__global__ void __launch_bounds__(kThreads)
    sum_gradients_kernel(const T* __restrict__ x, Source source, std::int64_t rows,
                         std::int64_t columns, NormState state, T* __restrict__ kept,
                         float* __restrict__ partial) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const Affine<T> affine(state, column);
  const Floats<T> mean = load_columns<T>(state.mean, column);
  Floats<T> sums[2] = {};
#pragma unroll 2
  for (; row < rows; row += step) {
    const std::int64_t at = row * columns + column;
    const Floats<T> v = load(x + at);
    const Floats<T> g = source(row, column, affine(v));
    if (kept != nullptr) store(kept + at, g);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      sums[0].value[i] += g.value[i];
      sums[1].value[i] += g.value[i] * (v.value[i] - mean.value[i]);
    }
  }
  add_rows<T>(sums, partial, columns);
}

template <typename T, typename Source>
__global__ void __launch_bounds__(kThreads)
    pass_gradients_kernel(const T* __restrict__ x, Source source, std::int64_t rows,
                          std::int64_t columns, NormState state,
                          const float* __restrict__ coefficients, T* __restrict__ dx) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const Affine<T> affine(state, column);
  const Floats<T> a = load_columns<T>(coefficients, column);
  const Floats<T> b = load_columns<T>(coefficients + columns, column);
  const Floats<T> c = load_columns<T>(coefficients + 2 * columns, column);
#pragma unroll 2
  for (; row < rows; row += step) {
    const std::int64_t at = row * columns + column;
    const Floats<T> v = load(x + at);
    const Floats<T> g = source(row, column, affine(v));
    Floats<T> out;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      out.value[i] = a.value[i] * g.value[i] + (b.value[i] * v.value[i] + c.value[i]);
    store(dx + at, out);
  }
}

template <typename T, typename Source>
void sum_gradients(Stream stream, Type type, const Matrix& matrix, const T* x, const Source& source,
                   const NormState& state, T* kept, float* partial) {
  const Tiling tiling = tile(type, matrix, kSumBlocks);
  sum_gradients_kernel<T><<<tiling.grid, tiling.block, 0, native(stream)>>>(
      x, source, matrix.rows, matrix.columns, state, kept, partial);
}

template <typename T, typename Source>
void pass_gradients(Stream stream, Type type, const Matrix& matrix, const T* x,
                    const Source& source, const NormState& state, const float* coefficients,
                    T* dx) {
  const Tiling tiling = tile(type, matrix, kPassBlocks);
  pass_gradients_kernel<T><<<tiling.grid, tiling.block, 0, native(stream)>>>(
      x, source, matrix.rows, matrix.columns, state, coefficients, dx);
}

/// From the partial sums of the gradient and of gradient · (x - mean): the gradients of weight and
/// bias, and the coefficients of dx = a · g + b · x + c.
void finish_gradients(Stream stream, Type type, const Matrix& matrix, const float* partial,
                      const NormState& state, const float* weight, float* dweight, float* dbias,
                      float* coefficients);

}  // namespace assay::train::cuda
