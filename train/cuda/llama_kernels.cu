#include "train/cuda/device.cuh"
#include "train/cuda/llama_kernels.h"
#include "train/cuda/swiglu.cuh"

namespace assay::train::cuda {
namespace {

constexpr int kWarpSize = 32;
constexpr int kMaxWarps = kThreads / kWarpSize;
constexpr int kNormBlocks = 132 * 4;

__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

// Packs is the number of packs of a row held by each thread.
template <typename T, int Packs, bool Add>
__global__ void __launch_bounds__(kThreads)
    norm_forward(const T* __restrict__ x, const T* __restrict__ h, int columns,
                 const float* __restrict__ weight, float epsilon, T* __restrict__ sum,
                 T* __restrict__ y, float* __restrict__ inverses) {
  __shared__ float shared[kMaxWarps];
  const int packs = columns / kLanes<T>;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * columns;
  Floats<T> s[Packs];
  float squares = 0;
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * blockDim.x + threadIdx.x;
    if (pack >= packs) continue;
    const std::int64_t at = row + pack * kLanes<T>;
    s[p] = load(x + at);
    if constexpr (Add) {
      const Floats<T> more = load(h + at);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i)
        // Rounded as when stored, since backward sees only that value.
        s[p].value[i] = to_float(from_float<T>(s[p].value[i] + more.value[i]));
      store(sum + at, s[p]);
    }
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) squares += s[p].value[i] * s[p].value[i];
  }
  squares = sum_of_warp(squares);
  if (threadIdx.x % kWarpSize == 0) shared[threadIdx.x / kWarpSize] = squares;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / kWarpSize; ++warp) total += shared[warp];
  const float inverse = rsqrtf(total / static_cast<float>(columns) + epsilon);
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * blockDim.x + threadIdx.x;
    if (pack >= packs) continue;
    const Floats<T> w = load_columns<T>(weight, pack * kLanes<T>);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) s[p].value[i] *= inverse * w.value[i];
    store(y + row + pack * kLanes<T>, s[p]);
  }
  if (threadIdx.x == 0) inverses[blockIdx.x] = inverse;
}

// A thread holds the same packs of columns in all rows of its block, a few at a time, so that the
// weight's gradient stays in registers.
template <typename T, int Packs, bool Add>
__global__ void __launch_bounds__(kThreads)
    norm_backward(const T* __restrict__ dy, const T* __restrict__ dsum, const T* __restrict__ sum,
                  const float* __restrict__ inverses, std::int64_t rows, int columns,
                  const float* __restrict__ weight, T* __restrict__ dx,
                  float* __restrict__ partial) {
  constexpr int kRows = 4 / Packs;
  __shared__ float shared[2][kMaxWarps][kRows];
  const int packs = columns / kLanes<T>;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  Floats<T> w[Packs];
  Floats<T> dweight[Packs] = {};
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * blockDim.x + threadIdx.x;
    if (pack < packs) w[p] = load_columns<T>(weight, pack * kLanes<T>);
  }
  int turn = 0;
  for (std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kRows; begin < rows;
       begin += static_cast<std::int64_t>(gridDim.x) * kRows, turn ^= 1) {
    Pack<T> g[kRows][Packs];
    Pack<T> s[kRows][Packs];
    Pack<T> d[kRows][Packs];
    float inverse[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      inverse[r] = begin + r < rows ? inverses[begin + r] : 0.0F;
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        const int pack = p * blockDim.x + threadIdx.x;
        if (pack >= packs || begin + r >= rows) continue;
        const std::int64_t at = (begin + r) * columns + pack * kLanes<T>;
        g[r][p] = load_pack(dy + at);
        s[r][p] = load_pack(sum + at);
        if constexpr (Add) d[r][p] = load_pack(dsum + at);
      }
    }
    float sums[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        if (static_cast<int>(p * blockDim.x + threadIdx.x) >= packs || begin + r >= rows) continue;
        const Floats<T> gradient = widen(g[r][p]);
        const Floats<T> value = widen(s[r][p]);
#pragma unroll
        for (int i = 0; i < kLanes<T>; ++i) {
          const float product = gradient.value[i] * value.value[i] * inverse[r];
          dweight[p].value[i] += product;
          sums[r] += product * w[p].value[i];
        }
      }
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] = sum_of_warp(sums[r]);
    // Two alternating buffers: the next rows' sums may be written while these are still being read.
    if (threadIdx.x % kWarpSize == 0)
#pragma unroll
      for (int r = 0; r < kRows; ++r) shared[turn][threadIdx.x / kWarpSize][r] = sums[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (begin + r >= rows) continue;
      float total = 0;
      for (int warp = 0; warp < warps; ++warp) total += shared[turn][warp][r];
      const float mean = total / static_cast<float>(columns);
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        const int pack = p * blockDim.x + threadIdx.x;
        if (pack >= packs) continue;
        const Floats<T> gradient = widen(g[r][p]);
        const Floats<T> value = widen(s[r][p]);
        Floats<T> out;
        if constexpr (Add) out = widen(d[r][p]);
#pragma unroll
        for (int i = 0; i < kLanes<T>; ++i) {
          const float through =
              inverse[r] * (gradient.value[i] * w[p].value[i] - value.value[i] * inverse[r] * mean);
          if constexpr (Add)
            out.value[i] += through;
          else
            out.value[i] = through;
        }
        store(dx + (begin + r) * columns + pack * kLanes<T>, out);
      }
    }
  }
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * blockDim.x + threadIdx.x;
    if (pack >= packs) continue;
    float* const mine =
        partial + static_cast<std::int64_t>(blockIdx.x) * columns + pack * kLanes<T>;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) mine[i] = dweight[p].value[i];
  }
}

__global__ void finish_norm(const float* __restrict__ partial, std::int64_t blocks,
                            std::int64_t columns, float* __restrict__ dweight) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kGather + threadIdx.x;
  double sums[1];
  gather<1>(partial, blocks, columns, column, sums);
  if (threadIdx.y == 0 && column < columns) dweight[column] = static_cast<float>(sums[0]);
}

template <typename T>
__device__ __forceinline__ void turn_pair(Floats<T>& a, Floats<T>& b, const Floats<T>& cosine,
                                          const Floats<T>& sine, float direction) {
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) {
    const float c = cosine.value[i];
    const float s = direction * sine.value[i];
    const float first = a.value[i];
    const float second = b.value[i];
    a.value[i] = first * c - second * s;
    b.value[i] = second * c + first * s;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) rotate_rows(Rotary rotary, T* packed) {
  const int half = static_cast<int>(rotary.width) / 2;
  const int of_head = half / kLanes<T>;  // pairs of packs
  const int turned = static_cast<int>(rotary.heads + rotary.kv_heads);
  const std::int64_t columns = (rotary.heads + 2 * rotary.kv_heads) * rotary.width;
  const std::int64_t position = blockIdx.x % static_cast<unsigned>(rotary.length);
  T* const row = packed + static_cast<std::int64_t>(blockIdx.x) * columns;
  for (int item = threadIdx.x; item < turned * of_head; item += blockDim.x) {
    const int head = item / of_head;
    const int within = (item - head * of_head) * kLanes<T>;
    T* const at = row + head * static_cast<int>(rotary.width) + within;
    Floats<T> a = load(at);
    Floats<T> b = load(at + half);
    turn_pair<T>(a, b, load_columns<T>(rotary.cosine, position * half + within),
                 load_columns<T>(rotary.sine, position * half + within), 1);
    store(at, a);
    store(at + half, b);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    pack_rows(Rotary rotary, HeadGradients gradients, T* __restrict__ packed) {
  const int width = static_cast<int>(rotary.width);
  const int half = width / 2;
  const int of_head = half / kLanes<T>;
  const int heads = static_cast<int>(rotary.heads);
  const int kv_heads = static_cast<int>(rotary.kv_heads);
  const std::int64_t columns = static_cast<std::int64_t>(heads + 2 * kv_heads) * width;
  const std::int64_t item = blockIdx.x / static_cast<unsigned>(rotary.length);
  const std::int64_t position = blockIdx.x % static_cast<unsigned>(rotary.length);
  T* const row = packed + static_cast<std::int64_t>(blockIdx.x) * columns;
  for (int at = threadIdx.x; at < (heads + 2 * kv_heads) * of_head; at += blockDim.x) {
    const int head = at / of_head;
    const int within = (at - head * of_head) * kLanes<T>;
    const int part = head < heads ? 0 : head < heads + kv_heads ? 1 : 2;
    const int of_part = head - (part == 0 ? 0 : part == 1 ? heads : heads + kv_heads);
    // Selected without a run-time index, which would go through memory.
    const auto of = [part](const auto& values) {
      return part == 0 ? values[0] : part == 1 ? values[1] : values[2];
    };
    const T* const from =
        static_cast<const T*>(of(gradients.part)) + item * of(gradients.batch_stride) +
        position * of(gradients.position_stride) + of_part * of(gradients.head_stride) + within;
    Floats<T> a = load(from);
    Floats<T> b = load(from + half);
    if (part != 2)
      turn_pair<T>(a, b, load_columns<T>(rotary.cosine, position * half + within),
                   load_columns<T>(rotary.sine, position * half + within), -1);
    store(row + head * width + within, a);
    store(row + head * width + half + within, b);
  }
}

// Packs that a thread is loading from memory at a time.
constexpr int kAtOnce = 4;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    swiglu_rows(const T* __restrict__ gate_up, int columns, T* __restrict__ y) {
  const int packs = columns / kLanes<T>;
  const T* const gate = gate_up + static_cast<std::int64_t>(blockIdx.x) * 2 * columns;
  const T* const up = gate + columns;
  T* const out = y + static_cast<std::int64_t>(blockIdx.x) * columns;
  for (int first = threadIdx.x; first < packs; first += kAtOnce * blockDim.x) {
    Pack<T> g[kAtOnce];
    Pack<T> u[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int pack = first + k * blockDim.x;
      if (pack >= packs) continue;
      g[k] = load_pack(gate + pack * kLanes<T>);
      u[k] = load_pack(up + pack * kLanes<T>);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int pack = first + k * blockDim.x;
      if (pack >= packs) continue;
      const Floats<T> a = widen(g[k]);
      Floats<T> b = widen(u[k]);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) b.value[i] *= a.value[i] * sigmoid(a.value[i]);
      store(out + pack * kLanes<T>, b);
    }
  }
}

// Works in place if dgate_up is gate_up: each thread writes only what it has read itself.
template <typename T, bool Again>
__global__ void __launch_bounds__(kThreads)
    swiglu_gradient_rows(const T* gate_up, const T* __restrict__ dy, int columns, T* dgate_up,
                         T* __restrict__ y) {
  const int packs = columns / kLanes<T>;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * 2 * columns;
  const T* const gradient = dy + static_cast<std::int64_t>(blockIdx.x) * columns;
  constexpr int kTwo = 2;
  for (int first = threadIdx.x; first < packs; first += kTwo * blockDim.x) {
    Pack<T> g[kTwo];
    Pack<T> u[kTwo];
    Pack<T> d[kTwo];
#pragma unroll
    for (int k = 0; k < kTwo; ++k) {
      const int pack = first + k * blockDim.x;
      if (pack >= packs) continue;
      g[k] = *reinterpret_cast<const Pack<T>*>(gate_up + begin + pack * kLanes<T>);
      u[k] = *reinterpret_cast<const Pack<T>*>(gate_up + begin + columns + pack * kLanes<T>);
      d[k] = load_pack(gradient + pack * kLanes<T>);
    }
#pragma unroll
    for (int k = 0; k < kTwo; ++k) {
      const int pack = first + k * blockDim.x;
      if (pack >= packs) continue;
      Floats<T> a = widen(g[k]);
      Floats<T> b = widen(u[k]);
      Floats<T> c = widen(d[k]);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i)
        c.value[i] = swiglu_gradient(c.value[i], a.value[i], b.value[i]);
      store(dgate_up + begin + pack * kLanes<T>, a);
      store(dgate_up + begin + columns + pack * kLanes<T>, b);
      if constexpr (Again)
        store(y + static_cast<std::int64_t>(blockIdx.x) * columns + pack * kLanes<T>, c);
    }
  }
}

constexpr int kLossThreads = 1024;
constexpr int kLossWarps = kLossThreads / kWarpSize;

// Σ exp(values) as exp(most) · sum, so that nothing overflows.
struct ExpSum {
  float most = -INFINITY;
  float sum = 0;
};

__device__ __forceinline__ ExpSum added(const ExpSum& a, const ExpSum& b) {
  const float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) return {};
  return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

__device__ __forceinline__ ExpSum warp_exp_sum(ExpSum value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = added(value, {__shfl_xor_sync(0xffffffffU, value.most, offset),
                          __shfl_xor_sync(0xffffffffU, value.sum, offset)});
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kLossThreads)
    loss_rows(T* logits, std::int64_t columns, const std::int64_t* __restrict__ labels,
              bool gradient, float share, float* __restrict__ losses) {
  __shared__ ExpSum shared[kLossWarps];
  __shared__ float log_sum_of_row;
  T* const row = logits + static_cast<std::int64_t>(blockIdx.x) * columns;
  const std::int64_t label = labels[blockIdx.x];
  const bool valid = label >= 0 && label < columns;
  const float wanted = valid ? to_float(row[label]) : NAN;
  const auto read = [&](std::int64_t column) {
    return widen(*reinterpret_cast<const Pack<T>*>(row + column));
  };
  ExpSum total;
#pragma unroll 4
  for (std::int64_t column = threadIdx.x * kLanes<T>; column < columns;
       column += kLossThreads * kLanes<T>) {
    const Floats<T> v = read(column);
    float most = total.most;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) most = fmaxf(most, v.value[i]);
    total.sum *= __expf(total.most - most);
    total.most = most;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) total.sum += __expf(v.value[i] - most);
  }
  total = warp_exp_sum(total);
  if (threadIdx.x % kWarpSize == 0) shared[threadIdx.x / kWarpSize] = total;
  __syncthreads();
  if (threadIdx.x < kWarpSize) {
    total = warp_exp_sum(threadIdx.x < kLossWarps ? shared[threadIdx.x] : ExpSum());
    if (threadIdx.x == 0) {
      log_sum_of_row = total.most + logf(total.sum);
      losses[blockIdx.x] = log_sum_of_row - wanted;
    }
  }
  if (!gradient) return;
  __syncthreads();
  const float log_sum = log_sum_of_row;
#pragma unroll 4
  for (std::int64_t column = threadIdx.x * kLanes<T>; column < columns;
       column += kLossThreads * kLanes<T>) {
    Floats<T> v = read(column);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      v.value[i] = share * (__expf(v.value[i] - log_sum) - (column + i == label ? 1.0F : 0.0F));
    store(row + column, v);
  }
}

// Calls f with the type and the number of packs that each of a row's threads holds.
template <typename F>
void with_row(Type type, std::int64_t columns, const F& f) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t packs = columns / kLanes<T>;
    const std::int64_t rounded = (packs + kWarpSize - 1) / kWarpSize * kWarpSize;
    const auto threads = static_cast<unsigned>(rounded < kThreads ? rounded : kThreads);
    const std::int64_t each = (packs + threads - 1) / threads;
    if (each <= 1)
      f(zero, threads, std::integral_constant<int, 1>());
    else if (each <= 2)
      f(zero, threads, std::integral_constant<int, 2>());
    else
      f(zero, threads, std::integral_constant<int, 4>());
  });
}

unsigned threads_for(std::int64_t items) {
  const std::int64_t rounded = (items + kWarpSize - 1) / kWarpSize * kWarpSize;
  return static_cast<unsigned>(rounded < kThreads ? rounded : kThreads);
}

}  // namespace

void rms_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const float* weight, float epsilon, void* sum, void* y, float* inverse) {
  with_row(type, matrix.columns, [&](auto zero, unsigned threads, auto packs) {
    using T = decltype(zero);
    constexpr int kPacks = decltype(packs)::value;
    const auto launch = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(matrix.rows), threads, 0, native(stream)>>>(
          static_cast<const T*>(x), static_cast<const T*>(h), static_cast<int>(matrix.columns),
          weight, epsilon, static_cast<T*>(sum), static_cast<T*>(y), inverse);
    };
    if (h != nullptr)
      launch(norm_forward<T, kPacks, true>);
    else
      launch(norm_forward<T, kPacks, false>);
  });
  check_launch("rms_norm_forward");
}

std::int64_t rms_norm_blocks(const Matrix& matrix) noexcept {
  return matrix.rows < kNormBlocks ? matrix.rows : kNormBlocks;
}

void rms_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* dsum, const void* sum, const float* inverse, const float* weight,
                       void* dx, float* partial, float* dweight) {
  const std::int64_t blocks = rms_norm_blocks(matrix);
  with_row(type, matrix.columns, [&](auto zero, unsigned threads, auto packs) {
    using T = decltype(zero);
    constexpr int kPacks = decltype(packs)::value;
    const auto launch = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(blocks), threads, 0, native(stream)>>>(
          static_cast<const T*>(dy), static_cast<const T*>(dsum), static_cast<const T*>(sum),
          inverse, matrix.rows, static_cast<int>(matrix.columns), weight, static_cast<T*>(dx),
          partial);
    };
    if (dsum != nullptr)
      launch(norm_backward<T, kPacks, true>);
    else
      launch(norm_backward<T, kPacks, false>);
  });
  finish_norm<<<gather_grid(matrix.columns), dim3(kGather, kGather), 0, native(stream)>>>(
      partial, blocks, matrix.columns, dweight);
  check_launch("rms_norm_backward");
}

void rotate_heads(Stream stream, Type type, const Rotary& rotary, void* packed) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t items = (rotary.heads + rotary.kv_heads) * rotary.width / 2 / kLanes<T>;
    rotate_rows<T><<<static_cast<unsigned>(rotary.rows), threads_for(items), 0, native(stream)>>>(
        rotary, static_cast<T*>(packed));
  });
  check_launch("rotate_heads");
}

void pack_rotated(Stream stream, Type type, const Rotary& rotary, const HeadGradients& gradients,
                  void* packed) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t items = (rotary.heads + 2 * rotary.kv_heads) * rotary.width / 2 / kLanes<T>;
    pack_rows<T><<<static_cast<unsigned>(rotary.rows), threads_for(items), 0, native(stream)>>>(
        rotary, gradients, static_cast<T*>(packed));
  });
  check_launch("pack_rotated");
}

void swiglu_forward(Stream stream, Type type, const Matrix& matrix, const void* gate_up, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    swiglu_rows<T><<<static_cast<unsigned>(matrix.rows), kThreads, 0, native(stream)>>>(
        static_cast<const T*>(gate_up), static_cast<int>(matrix.columns), static_cast<T*>(y));
  });
  check_launch("swiglu_forward");
}

void swiglu_backward(Stream stream, Type type, const Matrix& matrix, const void* gate_up,
                     const void* dy, void* dgate_up, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto launch = [&](auto kernel) {
      kernel<<<static_cast<unsigned>(matrix.rows), kThreads, 0, native(stream)>>>(
          static_cast<const T*>(gate_up), static_cast<const T*>(dy),
          static_cast<int>(matrix.columns), static_cast<T*>(dgate_up), static_cast<T*>(y));
    };
    if (y != nullptr)
      launch(swiglu_gradient_rows<T, true>);
    else
      launch(swiglu_gradient_rows<T, false>);
  });
  check_launch("swiglu_backward");
}

void cross_entropy_in_place(Stream stream, Type type, const Matrix& matrix, void* logits,
                            const std::int64_t* labels, bool gradient, float share, float* losses) {
  if (matrix.rows == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    loss_rows<T><<<static_cast<unsigned>(matrix.rows), kLossThreads, 0, native(stream)>>>(
        static_cast<T*>(logits), matrix.columns, labels, gradient, share, losses);
  });
  check_launch("cross_entropy_in_place");
}

}  // namespace assay::train::cuda
