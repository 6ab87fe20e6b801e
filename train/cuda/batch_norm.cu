#include "train/cuda/batch_norm.h"
#include "train/cuda/norm_gradients.cuh"

namespace assay::train::cuda {
namespace {

constexpr int kUnroll = 4;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_distances(const T* __restrict__ x, std::int64_t rows, std::int64_t columns,
                  float* __restrict__ partial) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const Floats<T> first = load(x + column);
  Floats<T> sums[2] = {};
  const auto add = [&](const Pack<T>& pack) {
    const Floats<T> v = widen(pack);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      const float distance = v.value[i] - first.value[i];
      sums[0].value[i] += distance;
      sums[1].value[i] += distance * distance;
    }
  };
  for (; row + (kUnroll - 1) * step < rows; row += kUnroll * step) {
    Pack<T> packs[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) packs[u] = load_pack(x + (row + u * step) * columns + column);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) add(packs[u]);
  }
  for (; row < rows; row += step) add(load_pack(x + row * columns + column));
  add_rows<T>(sums, partial, columns);
}

template <typename T>
__global__ void finish_statistics(const T* __restrict__ x, const float* __restrict__ partial,
                                  std::int64_t blocks, std::int64_t rows, std::int64_t columns,
                                  NormParameters parameters, NormState state) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kGather + threadIdx.x;
  double sums[2];
  gather<2>(partial, blocks, columns, column, sums);
  if (threadIdx.y != 0 || column >= columns) return;
  const double count = static_cast<double>(rows);
  const double offset = sums[0] / count;
  const double mean = static_cast<double>(to_float(x[column])) + offset;
  const double variance = fmax(0.0, sums[1] / count - offset * offset);
  const float inverse =
      static_cast<float>(rsqrt(variance + static_cast<double>(parameters.epsilon)));
  const float scale = parameters.weight[column] * inverse;
  state.mean[column] = static_cast<float>(mean);
  state.inverse[column] = inverse;
  state.scale[column] = scale;
  state.shift[column] = parameters.bias[column] - static_cast<float>(mean) * scale;
  const double unbiased = rows > 1 ? count / (count - 1) : 1;
  const float momentum = parameters.momentum;
  float& running_mean = parameters.running_mean[column];
  float& running_variance = parameters.running_variance[column];
  running_mean = (1 - momentum) * running_mean + momentum * static_cast<float>(mean);
  running_variance =
      (1 - momentum) * running_variance + momentum * static_cast<float>(variance * unbiased);
}

template <typename T, bool Addend>
__global__ void __launch_bounds__(kThreads)
    apply(const T* __restrict__ x, const T* __restrict__ addend, std::int64_t rows,
          std::int64_t columns, NormState state, float floor, T* __restrict__ y) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kLanes<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const Floats<T> scale = load_columns<T>(state.scale, column);
  const Floats<T> shift = load_columns<T>(state.shift, column);
  const auto write = [&](std::int64_t at, const Pack<T>& pack, const Pack<T>& more) {
    const Floats<T> v = widen(pack);
    const Floats<T> a = widen(more);
    Floats<T> out;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      float z = v.value[i] * scale.value[i] + shift.value[i];
      if constexpr (Addend) z += a.value[i];
      // fmaxf would turn a NaN into the floor and hide it.
      out.value[i] = z < floor ? floor : z;
    }
    store(y + at, out);
  };
  constexpr int kRows = Addend ? 2 : kUnroll;
  for (; row + (kRows - 1) * step < rows; row += kRows * step) {
    Pack<T> packs[kRows];
    Pack<T> more[kRows] = {};
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const std::int64_t at = (row + u * step) * columns + column;
      packs[u] = load_pack(x + at);
      if constexpr (Addend) more[u] = load_pack(addend + at);
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) write((row + u * step) * columns + column, packs[u], more[u]);
  }
  for (; row < rows; row += step) {
    const std::int64_t at = row * columns + column;
    Pack<T> more = {};
    if constexpr (Addend) more = load_pack(addend + at);
    write(at, load_pack(x + at), more);
  }
}

// The gradient of a norm's output, stored as it is.
template <typename T, bool Relu, bool ByOutput, bool Two>
struct Stored {
  const T* dy;
  const T* other;
  const T* y;
  std::int64_t columns;

  __device__ __forceinline__ Floats<T> operator()(std::int64_t row, std::int64_t column,
                                                  const Floats<T>& normed) const {
    const std::int64_t at = row * columns + column;
    Floats<T> g = load(dy + at);
    if constexpr (Two) {
      const Floats<T> more = load(other + at);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) g.value[i] += more.value[i];
    }
    if constexpr (Relu && ByOutput) {
      const Floats<T> out = load(y + at);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i)
        if (out.value[i] <= 0) g.value[i] = 0;
    } else if constexpr (Relu) {
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i)
        if (normed.value[i] <= 0) g.value[i] = 0;
    }
    return g;
  }
};

// Calls f with the source described by `gradient`.
template <typename T, typename F>
void with_source(const NormGradient& gradient, std::int64_t columns, const F& f) {
  const auto make = [&](auto source) {
    source.dy = static_cast<const T*>(gradient.dy);
    source.other = static_cast<const T*>(gradient.other);
    source.y = static_cast<const T*>(gradient.y);
    source.columns = columns;
    f(source);
  };
  const bool two = gradient.other != nullptr;
  if (!gradient.relu)
    two ? make(Stored<T, false, false, true>{}) : make(Stored<T, false, false, false>{});
  else if (gradient.y != nullptr)
    two ? make(Stored<T, true, true, true>{}) : make(Stored<T, true, true, false>{});
  else
    two ? make(Stored<T, true, false, true>{}) : make(Stored<T, true, false, false>{});
}

__global__ void finish_backward(const float* __restrict__ partial, std::int64_t blocks,
                                std::int64_t rows, std::int64_t columns, NormState state,
                                const float* __restrict__ weight, float* __restrict__ dweight,
                                float* __restrict__ dbias, float* __restrict__ coefficients) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kGather + threadIdx.x;
  double sums[2];
  gather<2>(partial, blocks, columns, column, sums);
  if (threadIdx.y != 0 || column >= columns) return;
  const double count = static_cast<double>(rows);
  const double inverse = static_cast<double>(state.inverse[column]);
  const double product = sums[1] * inverse;
  dweight[column] = static_cast<float>(product);
  dbias[column] = static_cast<float>(sums[0]);
  // dx = scale · (g - mean(g) - x̂ · mean(g · x̂)), sorted by g, x and 1.
  const double scale = static_cast<double>(weight[column]) * inverse;
  const double slope = -scale * product / count * inverse;
  coefficients[column] = static_cast<float>(scale);
  coefficients[columns + column] = static_cast<float>(slope);
  coefficients[2 * columns + column] = static_cast<float>(
      -scale * sums[0] / count - slope * static_cast<double>(state.mean[column]));
}

}  // namespace

std::int64_t row_blocks(Type type, const Matrix& matrix) noexcept {
  return tile(type, matrix, kSumBlocks).grid.y;
}

void norm_statistics(Stream stream, Type type, const Matrix& matrix, const void* x, float* partial,
                     const NormParameters& parameters, const NormState& state) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const Tiling tiling = tile(type, matrix, kSumBlocks);
    sum_distances<T><<<tiling.grid, tiling.block, 0, native(stream)>>>(
        static_cast<const T*>(x), matrix.rows, matrix.columns, partial);
    finish_statistics<T>
        <<<gather_grid(matrix.columns), dim3(kGather, kGather), 0, native(stream)>>>(
            static_cast<const T*>(x), partial, tiling.grid.y, matrix.rows, matrix.columns,
            parameters, state);
  });
  check_launch("norm_statistics");
}

void norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* addend,
                  const NormState& state, bool relu, void* y) {
  const float floor = relu ? 0.0F : -INFINITY;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const Tiling tiling = tile(type, matrix, kPassBlocks);
    if (addend != nullptr)
      apply<T, true><<<tiling.grid, tiling.block, 0, native(stream)>>>(
          static_cast<const T*>(x), static_cast<const T*>(addend), matrix.rows, matrix.columns,
          state, floor, static_cast<T*>(y));
    else
      apply<T, false><<<tiling.grid, tiling.block, 0, native(stream)>>>(
          static_cast<const T*>(x), nullptr, matrix.rows, matrix.columns, state, floor,
          static_cast<T*>(y));
  });
  check_launch("norm_forward");
}

void finish_gradients(Stream stream, Type type, const Matrix& matrix, const float* partial,
                      const NormState& state, const float* weight, float* dweight, float* dbias,
                      float* coefficients) {
  finish_backward<<<gather_grid(matrix.columns), dim3(kGather, kGather), 0, native(stream)>>>(
      partial, row_blocks(type, matrix), matrix.rows, matrix.columns, state, weight, dweight, dbias,
      coefficients);
}

void norm_backward_sums(Stream stream, Type type, const Matrix& matrix, const void* x,
                        const NormGradient& gradient, const NormState& state, const float* weight,
                        void* kept, float* partial, float* dweight, float* dbias,
                        float* coefficients) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_source<T>(gradient, matrix.columns, [&](const auto& source) {
      sum_gradients<T>(stream, type, matrix, static_cast<const T*>(x), source, state,
                       static_cast<T*>(kept), partial);
    });
  });
  finish_gradients(stream, type, matrix, partial, state, weight, dweight, dbias, coefficients);
  check_launch("norm_backward_sums");
}

void norm_backward(Stream stream, Type type, const Matrix& matrix, const void* x,
                   const NormGradient& gradient, const NormState& state, const float* coefficients,
                   void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_source<T>(gradient, matrix.columns, [&](const auto& source) {
      pass_gradients<T>(stream, type, matrix, static_cast<const T*>(x), source, state, coefficients,
                        static_cast<T*>(dx));
    });
  });
  check_launch("norm_backward");
}

}  // namespace assay::train::cuda
