#include "train/cuda/dense_kernels.h"
#include "train/cuda/device.cuh"

namespace assay::train::cuda {
namespace {

constexpr float kHalfRoot = 0.70710678118654752F;  // 1 / √2
constexpr float kDensity = 0.39894228040143268F;   // 1 / √(2π)

// The normal distribution at x, and e^(-x²/2), of which its density is a multiple.
struct Normal {
  float below;
  float bell;
};

template <typename T>
__device__ __forceinline__ Normal normal_at(float x) {
  return {0.5F * (1 + erff(x * kHalfRoot)), __expf(-0.5F * x * x)};
}

// Accurate to 1e-7, which is far below the resolution of 16 bits (Abramowitz and Stegun 7.1.26,
// with its coefficients halved). erff() alone would take longer than reading and writing the
// element.
__device__ __forceinline__ Normal quick_normal_at(float x) {
  const float t = __fdividef(1.0F, fmaf(0.3275911F * kHalfRoot, fabsf(x), 1.0F));
  const float bell = exp2f(-0.72134752044F * x * x);  // log₂(e) / 2
  float tail = fmaf(0.5307027145F, t, -0.7265760135F);
  tail = fmaf(tail, t, 0.7107068705F);
  tail = fmaf(tail, t, -0.142248368F);
  tail = fmaf(tail, t, 0.127414796F);
  tail *= t * bell;
  return {x < 0 ? tail : 1 - tail, bell};
}
template <>
__device__ __forceinline__ Normal normal_at<__nv_bfloat16>(float x) {
  return quick_normal_at(x);
}
template <>
__device__ __forceinline__ Normal normal_at<__half>(float x) {
  return quick_normal_at(x);
}

template <typename T>
__device__ __forceinline__ float gelu(float x) {
  return x * normal_at<T>(x).below;
}

template <typename T>
__device__ __forceinline__ float gelu_slope(float x) {
  const Normal normal = normal_at<T>(x);
  return normal.below + x * kDensity * normal.bell;
}

// Packs that a thread is loading from memory at a time.
constexpr int kAhead = 4;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    gelu_all(const T* __restrict__ x, std::int64_t packs, T* __restrict__ y) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * blockDim.x * kAhead + threadIdx.x;
  Pack<T> in[kAhead];
#pragma unroll
  for (int k = 0; k < kAhead; ++k) {
    const std::int64_t at = first + k * blockDim.x;
    if (at < packs) in[k] = load_pack(x + at * kLanes<T>);
  }
#pragma unroll
  for (int k = 0; k < kAhead; ++k) {
    const std::int64_t at = first + k * blockDim.x;
    if (at >= packs) continue;
    Floats<T> v = widen(in[k]);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) v.value[i] = gelu<T>(v.value[i]);
    store(y + at * kLanes<T>, v);
  }
}

// Writes f.value(f.read(row, column)) to out and sums it over rows.
template <typename T, typename F>
__global__ void __launch_bounds__(kThreads)
    map_and_sum(F f, std::int64_t rows, std::int64_t columns, T* __restrict__ out,
                float* __restrict__ partial) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  Floats<T> sums[1] = {};
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
       first < rows; first += kAhead * step) {
    typename F::In in[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (first + k * step < rows) in[k] = f.read(first + k * step, column);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const std::int64_t row = first + k * step;
      if (row >= rows) continue;
      const Floats<T> v = f.value(in[k]);
      store(out + row * columns + column, v);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) sums[0].value[i] += v.value[i];
    }
  }
  add_rows<T>(sums, partial, columns);
}

__global__ void finish_sums(const float* __restrict__ partial, std::int64_t blocks,
                            std::int64_t columns, float* __restrict__ out) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kGather + threadIdx.x;
  double sums[1];
  gather<1>(partial, blocks, columns, column, sums);
  if (threadIdx.y == 0 && column < columns) out[column] = static_cast<float>(sums[0]);
}

template <typename T, typename F>
void launch_map_and_sum(Stream stream, Type type, const Matrix& matrix, const F& f, T* out,
                        float* partial, float* sums) {
  const Tiling tiling = tile(type, matrix, kSumBlocks);
  map_and_sum<T><<<tiling.grid, tiling.block, 0, native(stream)>>>(f, matrix.rows, matrix.columns,
                                                                   out, partial);
  finish_sums<<<gather_grid(matrix.columns), dim3(kGather, kGather), 0, native(stream)>>>(
      partial, tiling.grid.y, matrix.columns, sums);
}

template <typename T>
struct GeluGradient {
  struct In {
    Pack<T> x;
    Pack<T> dy;
  };
  const T* x;
  const T* dy;
  std::int64_t columns;
  __device__ __forceinline__ In read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * columns + column;
    return {load_pack(x + at), load_pack(dy + at)};
  }
  __device__ __forceinline__ Floats<T> value(const In& in) const {
    const Floats<T> v = widen(in.x);
    Floats<T> g = widen(in.dy);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) g.value[i] *= gelu_slope<T>(v.value[i]);
    return g;
  }
};

template <typename T>
struct PackedHeads {
  using In = Pack<T>;
  Heads heads;
  __device__ __forceinline__ In read(std::int64_t row, std::int64_t column) const {
    const auto of_part = static_cast<int>(heads.heads * heads.width);
    const int part = static_cast<int>(column) / of_part;
    const int within = static_cast<int>(column) - part * of_part;
    const int head = within / static_cast<int>(heads.width);
    const int at = within - head * static_cast<int>(heads.width);
    // Rows and lengths are below 2³¹; a 64-bit division would take longer than the memory access.
    const auto length = static_cast<unsigned>(heads.length);
    const unsigned item = static_cast<unsigned>(row) / length;
    const unsigned position = static_cast<unsigned>(row) - item * length;
    // Selected without a run-time index, which would go through memory.
    const auto of = [part](const auto& values) {
      return part == 0 ? values[0] : part == 1 ? values[1] : values[2];
    };
    return load_pack(static_cast<const T*>(of(heads.part)) + item * of(heads.batch_stride) +
                     head * of(heads.head_stride) + position * of(heads.position_stride) + at);
  }
  __device__ __forceinline__ Floats<T> value(const In& in) const { return widen(in); }
};

}  // namespace

void gelu_forward(Stream stream, Type type, std::int64_t count, const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t packs = count / kLanes<T>;
    constexpr std::int64_t kEach = kThreads * kAhead;
    const auto blocks = static_cast<unsigned>((packs + kEach - 1) / kEach);
    gelu_all<T><<<blocks, kThreads, 0, native(stream)>>>(static_cast<const T*>(x), packs,
                                                         static_cast<T*>(y));
  });
  check_launch("gelu_forward");
}

void gelu_backward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* dy,
                   void* dx, float* partial, float* dbias) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const GeluGradient<T> f{static_cast<const T*>(x), static_cast<const T*>(dy), matrix.columns};
    launch_map_and_sum<T>(stream, type, matrix, f, static_cast<T*>(dx), partial, dbias);
  });
  check_launch("gelu_backward");
}

void pack_heads(Stream stream, Type type, const Heads& heads, void* packed, float* partial,
                float* sums) {
  const Matrix matrix{heads.batch * heads.length, 3 * heads.heads * heads.width};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    launch_map_and_sum<T>(stream, type, matrix, PackedHeads<T>{heads}, static_cast<T*>(packed),
                          partial, sums);
  });
  check_launch("pack_heads");
}

}  // namespace assay::train::cuda
