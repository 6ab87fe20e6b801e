#include "train/cuda/cross_entropy.h"
#include "train/cuda/device.cuh"

namespace assay::train::cuda {
namespace {

constexpr int kRowThreads = 512;  // all for one row
constexpr int kRowWarps = kRowThreads / 32;
constexpr float kNothing = -INFINITY;

// Σ exp(values) as exp(most) · sum, so that nothing overflows, and Σ values.
struct Totals {
  float most = kNothing;
  float sum = 0;
  float values = 0;
};

__device__ __forceinline__ Totals joined(const Totals& a, const Totals& b) {
  const float most = fmaxf(a.most, b.most);
  if (most == kNothing) return {most, 0, a.values + b.values};
  return {most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most), a.values + b.values};
}

__device__ __forceinline__ Totals warp_totals(Totals totals) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    totals = joined(totals, {__shfl_xor_sync(0xffffffffU, totals.most, offset),
                             __shfl_xor_sync(0xffffffffU, totals.sum, offset),
                             __shfl_xor_sync(0xffffffffU, totals.values, offset)});
  return totals;
}

// As exact as the logits' type.
template <typename T>
__device__ __forceinline__ float exponential(float x) {
  if constexpr (std::is_same_v<T, float>) return expf(x);
  return __expf(x);
}

template <typename T>
__device__ __forceinline__ const T* row_of(const Logits& logits, std::int64_t row) {
  return static_cast<const T*>(logits.values) + row * logits.stride;
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    forward_rows(Logits logits, Targets targets, float* __restrict__ losses,
                 float* __restrict__ log_sums) {
  __shared__ Totals shared[kRowWarps];
  const std::int64_t row = blockIdx.x;
  const std::int64_t label = targets.labels[row];
  const T* const values = row_of<T>(logits, row);
  Totals totals;
  for (std::int64_t column = threadIdx.x * kLanes<T>; column < logits.classes;
       column += kRowThreads * kLanes<T>) {
    const Floats<T> v = load(values + column);
    float most = totals.most;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      if (column + i < logits.classes) most = fmaxf(most, v.value[i]);
    totals.sum *= exponential<T>(totals.most - most);
    totals.most = most;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i)
      if (column + i < logits.classes) {
        totals.sum += exponential<T>(v.value[i] - most);
        totals.values += v.value[i];
      }
  }
  totals = warp_totals(totals);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = totals;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  totals = warp_totals(threadIdx.x < kRowWarps ? shared[threadIdx.x] : Totals());
  if (threadIdx.x != 0) return;
  const float log_sum = totals.most + logf(totals.sum);
  log_sums[row] = log_sum;
  if (label == targets.ignored) {
    losses[row] = 0;
    return;
  }
  if (label < 0 || label >= logits.classes) {
    losses[row] = NAN;
    return;
  }
  const float even = totals.values / static_cast<float>(logits.classes);
  losses[row] =
      log_sum - (1 - targets.smoothing) * to_float(values[label]) - targets.smoothing * even;
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    backward_rows(Logits logits, Targets targets, const float* __restrict__ log_sums,
                  const float* __restrict__ factor, T* __restrict__ gradients) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t label = targets.labels[row];
  const T* const values = row_of<T>(logits, row);
  T* const out = gradients + row * logits.stride;
  const float scale = label == targets.ignored ? 0.0F : *factor;
  const float log_sum = log_sums[row];
  const float even = targets.smoothing / static_cast<float>(logits.classes);
#pragma unroll 2
  for (std::int64_t column = threadIdx.x * kLanes<T>; column < logits.stride;
       column += kRowThreads * kLanes<T>) {
    Floats<T> v = load(values + column);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      const float wanted = even + (column + i == label ? 1 - targets.smoothing : 0.0F);
      v.value[i] = column + i < logits.classes
                       ? scale * (exponential<T>(v.value[i] - log_sum) - wanted)
                       : 0.0F;
    }
    store(out + column, v);
  }
}

}  // namespace

void cross_entropy_forward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                           float* losses, float* log_sums) {
  if (logits.rows == 0) return;
  with_type(type, [&](auto zero) {
    forward_rows<decltype(zero)>
        <<<static_cast<unsigned>(logits.rows), kRowThreads, 0, native(stream)>>>(logits, targets,
                                                                                 losses, log_sums);
  });
  check_launch("cross_entropy_forward");
}

void cross_entropy_backward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                            const float* log_sums, const float* factor, void* gradients) {
  if (logits.rows == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    backward_rows<T><<<static_cast<unsigned>(logits.rows), kRowThreads, 0, native(stream)>>>(
        logits, targets, log_sums, factor, static_cast<T*>(gradients));
  });
  check_launch("cross_entropy_backward");
}

}  // namespace assay::train::cuda
