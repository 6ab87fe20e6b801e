#include <cuda_pipeline.h>

#include "train/cuda/device.cuh"
#include "train/cuda/layer_norm.h"

namespace assay::train::cuda {
namespace {

constexpr int kWarps = 4;  // per block; each takes one row at a time
constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffU;
constexpr int kRows = 4;           // in backward, at a time
constexpr int kWidestBlock = 512;  // more than widest_row() needs, to limit the registers
constexpr int kBackwardBlocks = 132 * 4;

// The arrays read by backward: dy, sum and possibly a second gradient.
template <bool Two>
constexpr int kArrays = Two ? 3 : 2;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(kAll, value, offset);
  return value;
}

// Philox 4×32 with 10 rounds (Salmon et al., 2011): 128 random bits for a counter and a key.
__device__ __forceinline__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = static_cast<std::uint64_t>(0xD2511F53U) * counter.x;
    const std::uint64_t b = static_cast<std::uint64_t>(0xCD9E8D57U) * counter.z;
    counter =
        make_uint4(static_cast<unsigned>(b >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(b),
                   static_cast<unsigned>(a >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(a));
    key.x += 0x9E3779B9U;
    key.y += 0xBB67AE85U;
  }
  return counter;
}

__device__ __forceinline__ unsigned low(std::uint64_t value) {
  return static_cast<unsigned>(value);
}
__device__ __forceinline__ unsigned high(std::uint64_t value) {
  return static_cast<unsigned>(value >> 32);
}

// The elements that stay in pack number `pack` of the matrix.
template <typename T>
__device__ __forceinline__ unsigned draw_kept(const Dropout& dropout, std::int64_t pack) {
  const auto number = static_cast<std::uint64_t>(pack);
  std::uint64_t seed = dropout.seed;
  std::uint64_t offset = dropout.offset;
  if (dropout.seed_at != nullptr) {
    seed = static_cast<std::uint64_t>(*dropout.seed_at);
    offset += static_cast<std::uint64_t>(*dropout.offset_at);
  }
  const uint4 bits = philox(make_uint4(low(offset), high(offset), low(number), high(number)),
                            make_uint2(low(seed), high(seed)));
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
  const auto threshold = static_cast<unsigned>(dropout.rate * 65536.0F + 0.5F);
  unsigned kept = 0;
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) {
    const unsigned draw = (words[i / 2] >> (i % 2 * 16)) & 0xffffU;
    kept |= draw < threshold ? 0U : 1U << i;
  }
  return kept;
}

// 0 for dropped elements, 1 / (1 - rate) for the rest.
__device__ __forceinline__ float factor(unsigned kept, int element, float scale) {
  return (kept >> element & 1U) != 0 ? scale : 0.0F;
}

// Packs is the number of packs of a row held by each lane.
template <typename T, int Packs>
__global__ void __launch_bounds__(kWarps* kWarp)
    forward(const T* __restrict__ x, const T* __restrict__ h, std::int64_t rows, int columns,
            Dropout dropout, const float* __restrict__ weight, const float* __restrict__ bias,
            float epsilon, T* __restrict__ sum, T* __restrict__ y, float* __restrict__ means,
            float* __restrict__ inverses, KeptBits* __restrict__ kept) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= rows) return;
  const int packs = columns / kLanes<T>;
  Pack<T> in[Packs];
  Pack<T> more[Packs];
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * kWarp + lane;
    if (pack >= packs) continue;
    const std::int64_t at = row * columns + pack * kLanes<T>;
    in[p] = load_pack(x + at);
    more[p] = load_pack(h + at);
  }
  const float scale = 1 / (1 - dropout.rate);
  Floats<T> s[Packs];
  float total = 0;
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * kWarp + lane;
    if (pack >= packs) continue;
    unsigned stays = ~0U;
    if (dropout.rate > 0) {
      stays = draw_kept<T>(dropout, row * packs + pack);
      kept[row * packs + pack] = static_cast<KeptBits>(stays);
    }
    const Floats<T> a = widen(in[p]);
    const Floats<T> b = widen(more[p]);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      // Rounded as when stored, since backward sees only that value.
      s[p].value[i] = to_float(from_float<T>(a.value[i] + b.value[i] * factor(stays, i, scale)));
      total += s[p].value[i];
    }
    store(sum + row * columns + pack * kLanes<T>, s[p]);
  }
  const float mean = warp_sum(total) / static_cast<float>(columns);
  float squares = 0;
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    if (p * kWarp + lane >= packs) continue;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      const float distance = s[p].value[i] - mean;
      squares += distance * distance;
    }
  }
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(columns) + epsilon);
#pragma unroll
  for (int p = 0; p < Packs; ++p) {
    const int pack = p * kWarp + lane;
    if (pack >= packs) continue;
    const Floats<T> w = load_columns<T>(weight, pack * kLanes<T>);
    const Floats<T> b = load_columns<T>(bias, pack * kLanes<T>);
    Floats<T> out;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      out.value[i] = (s[p].value[i] - mean) * inverse * w.value[i] + b.value[i];
    store(y + row * columns + pack * kLanes<T>, out);
  }
  if (lane == 0) {
    means[row] = mean;
    inverses[row] = inverse;
  }
}

// A row's values for backward, apart from its elements.
struct RowTerms {
  float mean = 0;
  float inverse = 0;
  unsigned kept = 0;
};

// A thread holds one pack of columns, a block all of them, for kRows rows at a time: values of
// columns stay in registers, and sums over a row cost one exchange for kRows rows. Meanwhile each
// thread loads the packs that it will read next into shared memory.
template <typename T, bool Two>
__global__ void __launch_bounds__(kWidestBlock)
    backward(const T* __restrict__ dy, const T* __restrict__ other, const T* __restrict__ sum,
             const float* __restrict__ means, const float* __restrict__ inverses, std::int64_t rows,
             int columns, const KeptBits* __restrict__ kept, float scale,
             const float* __restrict__ weight, T* __restrict__ dx, T* __restrict__ dh,
             float* __restrict__ partial) {
  __shared__ float shared[2][kWidestBlock / kWarp][2 * kRows];
  extern __shared__ int4 arriving[];  // [2][kArrays<Two>][kRows][threads]
  const int packs = columns / kLanes<T>;
  const int pack = threadIdx.x;
  const bool active = pack < packs;
  const int column = active ? pack * kLanes<T> : 0;
  const auto place = [&](int turn, int array, int r) {
    return arriving + ((turn * kArrays<Two> + array) * kRows + r) * blockDim.x + threadIdx.x;
  };
  const auto arrived = [&](int turn, int array, int r) {
    return widen(*reinterpret_cast<const Pack<T>*>(place(turn, array, r)));
  };
  const auto gradient = [&](int turn, int r) {
    Floats<T> g = arrived(turn, 0, r);
    if constexpr (Two) {
      const Floats<T> more = arrived(turn, 2, r);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) g.value[i] += more.value[i];
    }
    return g;
  };
  const auto normalized = [&](int turn, int r, const RowTerms& terms) {
    Floats<T> s = arrived(turn, 1, r);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) s.value[i] = (s.value[i] - terms.mean) * terms.inverse;
    return s;
  };
  RowTerms next[kRows];
  const auto fetch = [&](std::int64_t begin, int turn) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = begin + r;
      if (!active || row >= rows) continue;
      const std::int64_t at = row * columns + column;
      __pipeline_memcpy_async(place(turn, 0, r), dy + at, sizeof(int4));
      __pipeline_memcpy_async(place(turn, 1, r), sum + at, sizeof(int4));
      if constexpr (Two) __pipeline_memcpy_async(place(turn, 2, r), other + at, sizeof(int4));
      next[r] = {means[row], inverses[row], kept != nullptr ? kept[row * packs + pack] : ~0U};
    }
    __pipeline_commit();
  };
  const Floats<T> w = load_columns<T>(weight, column);
  Floats<T> dweight = {};
  Floats<T> dbias = {};
  Floats<T> dh_bias = {};
  int turn = 0;
  std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kRows;
  fetch(begin, turn);
  for (; begin < rows; begin += step, turn ^= 1) {
    RowTerms terms[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) terms[r] = next[r];
    // The old data was used up: each thread reads only what it loaded itself.
    fetch(begin + step, turn ^ 1);
    __pipeline_wait_prior(1);
    float sums[2 * kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!active || begin + r >= rows) continue;
      const Floats<T> g = gradient(turn, r);
      const Floats<T> normed = normalized(turn, r, terms[r]);
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) {
        dweight.value[i] += g.value[i] * normed.value[i];
        dbias.value[i] += g.value[i];
        const float scaled = g.value[i] * w.value[i];
        sums[2 * r] += scaled;
        sums[2 * r + 1] += scaled * normed.value[i];
      }
    }
#pragma unroll
    for (int k = 0; k < 2 * kRows; ++k) sums[k] = warp_sum(sums[k]);
    // Two alternating buffers: the next rows' sums may be written while these are still being read.
    auto& buffer = shared[turn];
    if (threadIdx.x % kWarp == 0)
#pragma unroll
      for (int k = 0; k < 2 * kRows; ++k) buffer[threadIdx.x / kWarp][k] = sums[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2 * kRows; ++k) sums[k] = 0;
    for (int warp = 0; warp < static_cast<int>(blockDim.x) / kWarp; ++warp)
#pragma unroll
      for (int k = 0; k < 2 * kRows; ++k) sums[k] += buffer[warp][k];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = begin + r;
      if (!active || row >= rows) continue;
      const float first = sums[2 * r] / static_cast<float>(columns);
      const float second = sums[2 * r + 1] / static_cast<float>(columns);
      // Read again from shared memory, which costs less than keeping them in registers.
      const Floats<T> g = gradient(turn, r);
      const Floats<T> normed = normalized(turn, r, terms[r]);
      Floats<T> out;
      Floats<T> dropped;
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) {
        out.value[i] =
            terms[r].inverse * (g.value[i] * w.value[i] - first - normed.value[i] * second);
        dropped.value[i] = out.value[i] * factor(terms[r].kept, i, scale);
        dh_bias.value[i] += dropped.value[i];
      }
      const std::int64_t at = row * columns + column;
      store(dx + at, out);
      store(dh + at, dropped);
    }
  }
  if (!active) return;
  float* const mine = partial + static_cast<std::int64_t>(blockIdx.x) * 3 * columns + column;
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) {
    mine[i] = dweight.value[i];
    mine[columns + i] = dbias.value[i];
    mine[2 * columns + i] = dh_bias.value[i];
  }
}

__global__ void finish(const float* __restrict__ partial, std::int64_t blocks, std::int64_t columns,
                       float* __restrict__ dweight, float* __restrict__ dbias,
                       float* __restrict__ dh_bias) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kGather + threadIdx.x;
  double sums[3];
  gather<3>(partial, blocks, columns, column, sums);
  if (threadIdx.y != 0 || column >= columns) return;
  dweight[column] = static_cast<float>(sums[0]);
  dbias[column] = static_cast<float>(sums[1]);
  dh_bias[column] = static_cast<float>(sums[2]);
}

// Calls f with the element type and the number of packs of a row held by each lane.
template <typename F>
void with_packs(Type type, std::int64_t columns, const F& f) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t each = (columns / kLanes<T> + kWarp - 1) / kWarp;
    if (each <= 1)
      f(zero, std::integral_constant<int, 1>());
    else if (each <= 2)
      f(zero, std::integral_constant<int, 2>());
    else if (each <= 4)
      f(zero, std::integral_constant<int, 4>());
    else if (each <= 8)
      f(zero, std::integral_constant<int, 8>());
    else
      f(zero, std::integral_constant<int, 16>());
  });
}

}  // namespace

void add_norm_forward(Stream stream, Type type, const Matrix& matrix, const void* x, const void* h,
                      const Dropout& dropout, const float* weight, const float* bias, float epsilon,
                      void* sum, void* y, float* mean, float* inverse, KeptBits* kept) {
  with_packs(type, matrix.columns, [&](auto zero, auto packs) {
    using T = decltype(zero);
    const auto blocks = static_cast<unsigned>((matrix.rows + kWarps - 1) / kWarps);
    forward<T, decltype(packs)::value><<<blocks, kWarps * kWarp, 0, native(stream)>>>(
        static_cast<const T*>(x), static_cast<const T*>(h), matrix.rows,
        static_cast<int>(matrix.columns), dropout, weight, bias, epsilon, static_cast<T*>(sum),
        static_cast<T*>(y), mean, inverse, kept);
  });
  check_launch("add_norm_forward");
}

std::int64_t add_norm_blocks(const Matrix& matrix) noexcept {
  const std::int64_t useful = (matrix.rows + kRows - 1) / kRows;
  return useful < kBackwardBlocks ? useful : kBackwardBlocks;
}

void add_norm_backward(Stream stream, Type type, const Matrix& matrix, const void* dy,
                       const void* other, const void* sum, const float* mean, const float* inverse,
                       const KeptBits* kept, float rate, const float* weight, void* dx, void* dh,
                       float* partial, float* dweight, float* dbias, float* dh_bias) {
  const std::int64_t blocks = add_norm_blocks(matrix);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto threads = static_cast<unsigned>((matrix.columns / kLanes<T> + kWarp - 1) / kWarp);
    const auto launch = [&](auto kernel, int arrays) {
      const int arriving = 2 * arrays * kRows * static_cast<int>(threads * kWarp * sizeof(int4));
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, arriving);
      kernel<<<static_cast<unsigned>(blocks), threads * kWarp, arriving, native(stream)>>>(
          static_cast<const T*>(dy), static_cast<const T*>(other), static_cast<const T*>(sum), mean,
          inverse, matrix.rows, static_cast<int>(matrix.columns), rate > 0 ? kept : nullptr,
          1 / (1 - rate), weight, static_cast<T*>(dx), static_cast<T*>(dh), partial);
    };
    if (other != nullptr)
      launch(backward<T, true>, kArrays<true>);
    else
      launch(backward<T, false>, kArrays<false>);
  });
  finish<<<gather_grid(matrix.columns), dim3(kGather, kGather), 0, native(stream)>>>(
      partial, blocks, matrix.columns, dweight, dbias, dh_bias);
  check_launch("add_norm_backward");
}

}  // namespace assay::train::cuda
