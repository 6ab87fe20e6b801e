#pragma once

// Shared by the kernels: vector loads, grid shapes, sums over rows. For .cu files.

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "train/cuda/types.h"

namespace assay::train::cuda {

template <typename T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}
template <typename T>
__device__ __forceinline__ T from_float(float value) {
  return static_cast<T>(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __forceinline__ __half from_float(float value) {
  return __float2half_rn(value);
}

template <typename T>
inline constexpr int kLanes = 16 / static_cast<int>(sizeof(T));

/// 16 bytes of activations as stored in memory: single 16-bit elements in registers would take
/// twice as many.
template <typename T>
struct alignas(16) Pack {
  unsigned word[4];
};

template <typename T>
struct Floats {
  float value[kLanes<T>];
};

template <typename T>
__device__ __forceinline__ Pack<T> load_pack(const T* at) {
  const int4 raw = __ldg(reinterpret_cast<const int4*>(at));
  return *reinterpret_cast<const Pack<T>*>(&raw);
}

template <typename T>
__device__ __forceinline__ Floats<T> widen(const Pack<T>& pack) {
  Floats<T> out;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {  // the upper half of a float
      out.value[2 * i] = __uint_as_float(pack.word[i] << 16);
      out.value[2 * i + 1] = __uint_as_float(pack.word[i] & 0xffff0000U);
    } else if constexpr (std::is_same_v<T, __half>) {
      const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&pack.word[i]));
      out.value[2 * i] = two.x;
      out.value[2 * i + 1] = two.y;
    } else {
      out.value[i] = __uint_as_float(pack.word[i]);
    }
  }
  return out;
}

template <typename T>
__device__ __forceinline__ Pack<T> narrow(const Floats<T>& values) {
  Pack<T> pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      const __nv_bfloat162 two =
          __floats2bfloat162_rn(values.value[2 * i], values.value[2 * i + 1]);
      pack.word[i] = *reinterpret_cast<const unsigned*>(&two);
    } else if constexpr (std::is_same_v<T, __half>) {
      const __half2 two = __floats2half2_rn(values.value[2 * i], values.value[2 * i + 1]);
      pack.word[i] = *reinterpret_cast<const unsigned*>(&two);
    } else {
      pack.word[i] = __float_as_uint(values.value[i]);
    }
  }
  return pack;
}

template <typename T>
__device__ __forceinline__ Floats<T> load(const T* at) {
  return widen(load_pack(at));
}

template <typename T>
__device__ __forceinline__ void store(T* at, const Floats<T>& values) {
  const Pack<T> pack = narrow(values);
  *reinterpret_cast<int4*>(at) = *reinterpret_cast<const int4*>(&pack);
}

/// The float of each column in the pack that begins at `column`.
template <typename T>
__device__ __forceinline__ Floats<T> load_columns(const float* values, std::int64_t column) {
  Floats<T> out;
#pragma unroll
  for (int i = 0; i < kLanes<T>; i += 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(values + column + i));
    out.value[i] = four.x;
    out.value[i + 1] = four.y;
    out.value[i + 2] = four.z;
    out.value[i + 3] = four.w;
  }
  return out;
}

inline constexpr int kThreads = 256;

/// A block is `x` packs wide and `y` rows high; thread (i, j) handles every (y · blocks)-th row of
/// one pack of columns, so that values that belong to columns stay in registers.
struct Tiling {
  dim3 block;
  dim3 grid;
};

[[nodiscard]] inline Tiling tile(Type type, const Matrix& matrix, int blocks_per_device) {
  const auto packs = static_cast<int>(matrix.columns / lanes(type));
  int x = 1;
  while (x < 32 && packs % (2 * x) == 0) x *= 2;
  const int y = kThreads / x;
  const int across = packs / x;
  const std::int64_t useful = (matrix.rows + 2 * y - 1) / (2 * y);
  std::int64_t down = blocks_per_device / across;
  if (down < 1) down = 1;
  if (down > useful) down = useful;
  return {dim3(x, y), dim3(across, static_cast<unsigned>(down))};
}

/// Adds `Count` sums per column over a block's rows and writes them to partial[block of
/// rows][sum][column].
template <typename T, int Count>
__device__ __forceinline__ void add_rows(const Floats<T> (&sums)[Count], float* partial,
                                         std::int64_t columns) {
  __shared__ float shared[kThreads * kLanes<T>];
  const int width = blockDim.x * kLanes<T>;
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < Count; ++k) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      shared[threadIdx.y * width + threadIdx.x * kLanes<T> + i] = sums[k].value[i];
    __syncthreads();
    if (thread < width) {
      float sum = 0;
      for (int y = 0; y < static_cast<int>(blockDim.y); ++y) sum += shared[y * width + thread];
      partial[(static_cast<std::int64_t>(blockIdx.y) * Count + k) * columns +
              static_cast<std::int64_t>(blockIdx.x) * width + thread] = sum;
    }
  }
}

/// The sum of partial[…][k][column] over all blocks of rows, for this thread's column: x is the
/// column within the block, y iterates over the blocks of rows. Valid if threadIdx.y is 0.
template <int Count>
__device__ __forceinline__ void gather(const float* partial, std::int64_t blocks,
                                       std::int64_t columns, std::int64_t column,
                                       double (&sums)[Count]) {
  __shared__ double shared[Count][32][33];
#pragma unroll
  for (int k = 0; k < Count; ++k) sums[k] = 0;
  if (column < columns)
#pragma unroll 4
    for (std::int64_t block = threadIdx.y; block < blocks; block += blockDim.y)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        sums[k] += static_cast<double>(partial[(block * Count + k) * columns + column]);
#pragma unroll
  for (int k = 0; k < Count; ++k) shared[k][threadIdx.y][threadIdx.x] = sums[k];
  __syncthreads();
  for (int half = static_cast<int>(blockDim.y) / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.y) < half)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        shared[k][threadIdx.y][threadIdx.x] += shared[k][threadIdx.y + half][threadIdx.x];
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < Count; ++k) sums[k] = shared[k][0][threadIdx.x];
}

/// The block of a gathering kernel: 32 columns, 32 rows.
inline constexpr unsigned kGather = 32;

[[nodiscard]] inline dim3 gather_grid(std::int64_t columns) {
  return dim3(static_cast<unsigned>((columns + kGather - 1) / kGather));
}

/// Blocks for kernels that sum over rows, and for those that only pass over them.
inline constexpr int kSumBlocks = 132 * 4;
inline constexpr int kPassBlocks = 132 * 12;

[[nodiscard]] inline cudaStream_t native(Stream stream) {
  return static_cast<cudaStream_t>(stream);
}

/// Calls f with a value of the element type.
template <typename F>
void with_type(Type type, const F& f) {
  if (type == Type::bf16)
    f(__nv_bfloat16());
  else if (type == Type::f16)
    f(__half());
  else
    f(float());
}

}  // namespace assay::train::cuda
