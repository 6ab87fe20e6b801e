#include "train/cuda/norm_gradients.cuh"

namespace assay::train::cuda {
namespace {

constexpr std::uint8_t kNobody = 255;  // the whole window was cut

template <typename T>
struct alignas(kLanes<T>) Bytes {
  std::uint8_t value[kLanes<T>];
};

struct Pooled {
  int height;
  int width;
  int channels;
  int pooled_height;
  int pooled_width;
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    pool(const T* __restrict__ x, Pooled shape, std::int64_t rows, NormState state,
         T* __restrict__ y, std::uint8_t* __restrict__ winner) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const Affine<T> affine(state, column);
  for (; row < rows; row += step) {
    const auto pw = static_cast<int>(row % shape.pooled_width);
    const auto ph = static_cast<int>(row / shape.pooled_width % shape.pooled_height);
    const std::int64_t image = row / shape.pooled_width / shape.pooled_height;
    Floats<T> best = {};
    Bytes<T> from;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) from.value[i] = kNobody;
#pragma unroll
    for (int kh = 0; kh < 3; ++kh) {
      const int h = 2 * ph - 1 + kh;
      if (h < 0 || h >= shape.height) continue;
#pragma unroll
      for (int kw = 0; kw < 3; ++kw) {
        const int w = 2 * pw - 1 + kw;
        if (w < 0 || w >= shape.width) continue;
        const std::int64_t at = ((image * shape.height + h) * shape.width + w) * shape.channels;
        const Floats<T> z = affine(load(x + at + column));
#pragma unroll
        for (int i = 0; i < kLanes<T>; ++i) {
          // A NaN wins and stays visible.
          const bool wins = z.value[i] > best.value[i] || isnan(z.value[i]);
          if (!wins || isnan(best.value[i])) continue;
          best.value[i] = z.value[i];
          from.value[i] = static_cast<std::uint8_t>(kh * 3 + kw);
        }
      }
    }
    store(y + row * shape.channels + column, best);
    *reinterpret_cast<Bytes<T>*>(winner + row * shape.channels + column) = from;
  }
}

// The gradient at a position before pooling: the sum over up to four windows that it won.
template <typename T>
struct FromPool {
  const T* dy;
  const std::uint8_t* winner;
  Pooled shape;

  __device__ __forceinline__ Floats<T> operator()(std::int64_t row, std::int64_t column,
                                                  const Floats<T>&) const {
    const auto w = static_cast<int>(row % shape.width);
    const auto h = static_cast<int>(row / shape.width % shape.height);
    const std::int64_t image = row / shape.width / shape.height;
    Floats<T> g = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // A position with an even index is in the middle of a single window.
      const int ph = (h + i) / 2;
      if ((i == 1 && h % 2 == 0) || ph >= shape.pooled_height) continue;
      const int kh = h - (2 * ph - 1);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int pw = (w + j) / 2;
        if ((j == 1 && w % 2 == 0) || pw >= shape.pooled_width) continue;
        const int own = kh * 3 + (w - (2 * pw - 1));
        const std::int64_t at =
            ((image * shape.pooled_height + ph) * shape.pooled_width + pw) * shape.channels +
            column;
        const Bytes<T> from = *reinterpret_cast<const Bytes<T>*>(winner + at);
        const Floats<T> d = load(dy + at);
#pragma unroll
        for (int k = 0; k < kLanes<T>; ++k)
          if (from.value[k] == own) g.value[k] += d.value[k];
      }
    }
    return g;
  }
};

Pooled narrow(const PoolShape& shape) {
  return {static_cast<int>(shape.height), static_cast<int>(shape.width),
          static_cast<int>(shape.channels), static_cast<int>(shape.pooled_height()),
          static_cast<int>(shape.pooled_width())};
}

}  // namespace

void norm_pool_forward(Stream stream, Type type, const PoolShape& shape, const void* x,
                       const NormState& state, void* y, std::uint8_t* winner) {
  const Matrix pooled{shape.images * shape.pooled_height() * shape.pooled_width(), shape.channels};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const Tiling tiling = tile(type, pooled, kPassBlocks);
    pool<T><<<tiling.grid, tiling.block, 0, native(stream)>>>(
        static_cast<const T*>(x), narrow(shape), pooled.rows, state, static_cast<T*>(y), winner);
  });
  check_launch("norm_pool_forward");
}

void norm_pool_backward_sums(Stream stream, Type type, const PoolShape& shape, const void* x,
                             const void* dy, const std::uint8_t* winner, const NormState& state,
                             const float* weight, float* partial, float* dweight, float* dbias,
                             float* coefficients) {
  const Matrix matrix = shape.matrix();
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const FromPool<T> source{static_cast<const T*>(dy), winner, narrow(shape)};
    sum_gradients<T>(stream, type, matrix, static_cast<const T*>(x), source, state,
                     static_cast<T*>(nullptr), partial);
  });
  finish_gradients(stream, type, matrix, partial, state, weight, dweight, dbias, coefficients);
  check_launch("norm_pool_backward_sums");
}

void norm_pool_backward(Stream stream, Type type, const PoolShape& shape, const void* x,
                        const void* dy, const std::uint8_t* winner, const NormState& state,
                        const float* coefficients, void* dx) {
  const Matrix matrix = shape.matrix();
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const FromPool<T> source{static_cast<const T*>(dy), winner, narrow(shape)};
    pass_gradients<T>(stream, type, matrix, static_cast<const T*>(x), source, state, coefficients,
                      static_cast<T*>(dx));
  });
  check_launch("norm_pool_backward");
}

}  // namespace assay::train::cuda
