#include "train/cuda/device.cuh"
#include "train/cuda/stem.h"

namespace assay::train::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    regroup(const float* __restrict__ x, std::int64_t positions, int height, int width,
            T* __restrict__ y) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= positions) return;
  constexpr int kAround = static_cast<int>(kStemBefore + kStemAfter);
  const int out_width = width / 2 + kAround;
  const int out_height = height / 2 + kAround;
  const int w = static_cast<int>(index % out_width) - static_cast<int>(kStemBefore);
  const int h = static_cast<int>(index / out_width % out_height) - static_cast<int>(kStemBefore);
  const std::int64_t image = index / out_width / out_height;
  float values[kStemChannels] = {};
  if (h >= 0 && h < height / 2 && w >= 0 && w < width / 2) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const float* const row = x + ((image * height + 2 * h + p) * width + 2 * w) * 3;
#pragma unroll
      for (int i = 0; i < 6; i += 2) {
        const float2 two = __ldg(reinterpret_cast<const float2*>(row + i));
        values[p * 6 + i] = two.x;
        values[p * 6 + i + 1] = two.y;
      }
    }
  }
  T* const out = y + index * kStemChannels;
#pragma unroll
  for (int i = 0; i < static_cast<int>(kStemChannels); i += kLanes<T>) {
    Floats<T> pack;
#pragma unroll
    for (int k = 0; k < kLanes<T>; ++k) pack.value[k] = values[i + k];
    store(out + i, pack);
  }
}

}  // namespace

void space_to_depth(Stream stream, Type type, std::int64_t images, std::int64_t height,
                    std::int64_t width, const float* x, void* y) {
  constexpr std::int64_t kAround = kStemBefore + kStemAfter;
  const std::int64_t positions = images * (height / 2 + kAround) * (width / 2 + kAround);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    regroup<T><<<static_cast<unsigned>((positions + kThreads - 1) / kThreads), kThreads, 0,
                 native(stream)>>>(x, positions, static_cast<int>(height), static_cast<int>(width),
                                   static_cast<T*>(y));
  });
  check_launch("space_to_depth");
}

}  // namespace assay::train::cuda
