#include <cuda_fp8.h>

#include "train/cuda/device.cuh"
#include "train/cuda/fp8.h"
#include "train/cuda/swiglu.cuh"

namespace assay::train::cuda {
namespace {

using Value = __nv_bfloat16;
using Values = Floats<Value>;

constexpr int kTile = 128;         // rows and columns
constexpr int kTileThreads = 256;  // each takes 4 rows of 8 columns at a time
constexpr int kTilePacks = kTile / kLanes<Value>;
constexpr int kWords = kTile / 4;  // of a column: the bytes of four rows

// The data to round: `kParts` matrices side by side, read together.
struct Plain {
  static constexpr int kParts = 1;
  const Value* x;
  std::int64_t columns;
  __device__ __forceinline__ void read(std::int64_t row, std::int64_t column,
                                       Values (&out)[1]) const {
    out[0] = load(x + row * columns + column);
  }
};

struct SwiGluOf {
  static constexpr int kParts = 1;
  const Value* gate_up;
  std::int64_t columns;
  __device__ __forceinline__ void read(std::int64_t row, std::int64_t column,
                                       Values (&out)[1]) const {
    const Value* const gate = gate_up + row * 2 * columns + column;
    const Values a = load(gate);
    out[0] = load(gate + columns);
#pragma unroll
    for (int i = 0; i < kLanes<Value>; ++i) out[0].value[i] *= a.value[i] * sigmoid(a.value[i]);
  }
};

struct SwiGluGradientOf {
  static constexpr int kParts = 2;
  const Value* gate_up;
  const Value* dy;
  std::int64_t columns;
  __device__ __forceinline__ void read(std::int64_t row, std::int64_t column,
                                       Values (&out)[2]) const {
    const Value* const gate = gate_up + row * 2 * columns + column;
    out[0] = load(gate);
    out[1] = load(gate + columns);
    const Values d = load(dy + row * columns + column);
#pragma unroll
    for (int i = 0; i < kLanes<Value>; ++i)
      swiglu_gradient(d.value[i], out[0].value[i], out[1].value[i]);
  }
};

template <Fp8 Format>
__device__ __forceinline__ unsigned four_bytes(const float* values) {
  constexpr __nv_fp8_interpretation_t kKind = Format == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2;
  const unsigned low =
      __nv_cvt_float2_to_fp8x2(make_float2(values[0], values[1]), __NV_SATFINITE, kKind);
  const unsigned high =
      __nv_cvt_float2_to_fp8x2(make_float2(values[2], values[3]), __NV_SATFINITE, kKind);
  return low | high << 16;
}

// The bytes of four words, transposed.
__device__ __forceinline__ void transpose(unsigned (&word)[4]) {
  const unsigned a = __byte_perm(word[0], word[1], 0x5140);
  const unsigned b = __byte_perm(word[2], word[3], 0x5140);
  const unsigned c = __byte_perm(word[0], word[1], 0x7362);
  const unsigned d = __byte_perm(word[2], word[3], 0x7362);
  word[0] = __byte_perm(a, b, 0x5410);
  word[1] = __byte_perm(a, b, 0x7632);
  word[2] = __byte_perm(c, d, 0x5410);
  word[3] = __byte_perm(c, d, 0x7632);
}

// The word of a column for rows 4 · group ..., rotated so that the threads of a warp, which write
// the same column of 16 packs and read all words of one, use different banks.
__device__ __forceinline__ int word_at(int column, int group) {
  return column * kWords + ((group + 2 * (column / kLanes<Value>)) & (kWords - 1));
}

__device__ __forceinline__ void raise(float* largest, float most) {
  __shared__ float shared[kTileThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, offset));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const float other : shared) most = fmaxf(most, other);
  // For non-negative numbers, the bits have the same order.
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(most));
}

template <typename Source, Fp8 Format>
__global__ void __launch_bounds__(kTileThreads)
    round_tiles(Source source, std::int64_t rows, std::int64_t columns, Fp8Matrix out) {
  constexpr int kParts = Source::kParts;
  __shared__ unsigned tile[kParts][kTile * kWords];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t width = kParts * columns;  // of a row in the result
  const int pack = threadIdx.x % kTilePacks;
  const std::int64_t column = first_column + pack * kLanes<Value>;
  const float scale = *out.scale;
  float most = 0;
#pragma unroll
  for (int group = threadIdx.x / kTilePacks; group < kWords; group += kTileThreads / kTilePacks) {
    const std::int64_t row = first_row + 4 * group;
    if (row >= rows || column >= columns) continue;
    Values v[4][kParts];
#pragma unroll
    for (int r = 0; r < 4; ++r) source.read(row + r, column, v[r]);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      unsigned word[2][4];  // left and right half of the columns, for each row
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int i = 0; i < kLanes<Value>; ++i) {
          most = fmaxf(most, fabsf(v[r][part].value[i]));
          v[r][part].value[i] *= scale;
        }
        word[0][r] = four_bytes<Format>(v[r][part].value);
        word[1][r] = four_bytes<Format>(v[r][part].value + 4);
        if (out.rows != nullptr)
          *reinterpret_cast<uint2*>(static_cast<unsigned char*>(out.rows) + (row + r) * width +
                                    part * columns + column) = make_uint2(word[0][r], word[1][r]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        transpose(word[half]);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          tile[part][word_at(pack * kLanes<Value> + half * 4 + i, group)] = word[half][i];
      }
    }
  }
  raise(out.largest, most);  // and all have written their part of the tile
  if (out.columns == nullptr) return;
  const int lane = threadIdx.x % 32;
  const std::int64_t row = first_row + 4 * lane;
  if (row >= rows) return;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll 4
    for (int i = threadIdx.x / 32; i < kTile; i += kTileThreads / 32) {
      if (first_column + i >= columns) break;
      *reinterpret_cast<unsigned*>(static_cast<unsigned char*>(out.columns) +
                                   (part * columns + first_column + i) * rows + row) =
          tile[part][word_at(i, lane)];
    }
}

template <typename Source>
void launch_tiles(Stream stream, const Source& source, const Matrix& matrix, const Fp8Matrix& out) {
  const dim3 grid(static_cast<unsigned>((matrix.columns + kTile - 1) / kTile),
                  static_cast<unsigned>((matrix.rows + kTile - 1) / kTile));
  if (out.format == Fp8::e4m3)
    round_tiles<Source, Fp8::e4m3>
        <<<grid, kTileThreads, 0, native(stream)>>>(source, matrix.rows, matrix.columns, out);
  else
    round_tiles<Source, Fp8::e5m2>
        <<<grid, kTileThreads, 0, native(stream)>>>(source, matrix.rows, matrix.columns, out);
  check_launch("round_to_fp8");
}

// Scales of matrices [begin, end); one block.
__global__ void set_scales(Fp8History history, std::int64_t begin, std::int64_t end, bool advance) {
  const auto is_number = [](float value) { return value > 0 && value < INFINITY; };
  const std::int64_t place = *history.step % kFp8Steps;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    float most = history.largest[i];
    if (advance) {
      float* const past = history.past + i * kFp8Steps;
      past[place] = is_number(most) ? most : 0.0F;
      most = 0;
      for (std::int64_t k = 0; k < kFp8Steps; ++k) most = fmaxf(most, past[k]);
      history.largest[i] = 0;
    }
    if (!is_number(most)) continue;
    const float scale = fminf(history.limit[i] / most, 1e30F);
    history.scale[i] = scale;
    history.inverse[i * kFp8Apart] = 1 / scale;
  }
  if (!advance) return;
  __syncthreads();
  if (threadIdx.x == 0) *history.step += 1;
}

}  // namespace

void round_to_fp8(Stream stream, const Matrix& matrix, const void* x, const Fp8Matrix& out) {
  launch_tiles(stream, Plain{static_cast<const Value*>(x), matrix.columns}, matrix, out);
}

void swiglu_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up, const Fp8Matrix& out) {
  launch_tiles(stream, SwiGluOf{static_cast<const Value*>(gate_up), matrix.columns}, matrix, out);
}

void swiglu_gradient_to_fp8(Stream stream, const Matrix& matrix, const void* gate_up,
                            const void* dy, const Fp8Matrix& out) {
  launch_tiles(stream,
               SwiGluGradientOf{static_cast<const Value*>(gate_up), static_cast<const Value*>(dy),
                                matrix.columns},
               matrix, out);
}

void advance_fp8(Stream stream, const Fp8History& history) {
  set_scales<<<1, 1024, 0, native(stream)>>>(history, 0, history.matrices, true);
  check_launch("advance_fp8");
}

void begin_fp8(Stream stream, const Fp8History& history, std::int64_t matrix) {
  set_scales<<<1, 1, 0, native(stream)>>>(history, matrix, matrix + 1, false);
  check_launch("begin_fp8");
}

}  // namespace assay::train::cuda
