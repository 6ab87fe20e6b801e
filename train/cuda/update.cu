#include "core/error.h"
#include "train/cuda/device.cuh"
#include "train/cuda/update.h"

namespace assay::train::cuda {
namespace {

// Four elements a thread, one by one at the end and where a range does not begin at 16 bytes.
template <typename F>
__global__ void __launch_bounds__(kThreads) update_all(F update, std::int64_t size, bool aligned) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t fours = aligned ? size / 4 : 0;
  for (std::int64_t i = thread; i < fours; i += step) update.four(i * 4);
  for (std::int64_t i = fours * 4 + thread; i < size; i += step) update.one(i);
}

struct Sgd {
  SgdTerms terms;
  const float* factor;
  const float* gradient;
  float* value;
  float* velocity;

  __device__ __forceinline__ void step(float scale, float g, float& p, float& v) const {
    g = g * scale + terms.decay * p;
    v = terms.momentum * v + g;
    p -= terms.rate * (terms.nesterov ? g + terms.momentum * v : v);
  }
  __device__ __forceinline__ float scale() const {
    return factor != nullptr ? terms.scale * *factor : terms.scale;
  }
  __device__ __forceinline__ void one(std::int64_t i) const {
    step(scale(), gradient[i], value[i], velocity[i]);
  }
  __device__ __forceinline__ void four(std::int64_t i) const {
    const float s = scale();
    const float4 g = *reinterpret_cast<const float4*>(gradient + i);
    float4 p = *reinterpret_cast<const float4*>(value + i);
    float4 v = *reinterpret_cast<const float4*>(velocity + i);
    step(s, g.x, p.x, v.x);
    step(s, g.y, p.y, v.y);
    step(s, g.z, p.z, v.z);
    step(s, g.w, p.w, v.w);
    *reinterpret_cast<float4*>(value + i) = p;
    *reinterpret_cast<float4*>(velocity + i) = v;
  }
};

// T: what the new values are rounded to as well; float: they are not.
template <typename T>
struct Adam {
  AdamTerms terms;
  const float* factor;
  const float* gradient;
  float* value;
  float* first;
  float* second;
  T* rounded;

  __device__ __forceinline__ void step(float scale, float g, float& p, float& m, float& v) const {
    g *= scale;
    p -= terms.rate * terms.decay * p;
    m = terms.beta1 * m + (1 - terms.beta1) * g;
    v = terms.beta2 * v + (1 - terms.beta2) * g * g;
    const float root = sqrtf(v / terms.correction2) + terms.epsilon;
    p -= terms.rate * (m / terms.correction1) / root;
  }
  __device__ __forceinline__ float scale() const {
    return factor != nullptr ? terms.scale * *factor : terms.scale;
  }
  __device__ __forceinline__ void one(std::int64_t i) const {
    step(scale(), gradient[i], value[i], first[i], second[i]);
    if constexpr (!std::is_same_v<T, float>) rounded[i] = from_float<T>(value[i]);
  }
  __device__ __forceinline__ void four(std::int64_t i) const {
    const float s = scale();
    const float4 g = *reinterpret_cast<const float4*>(gradient + i);
    float4 p = *reinterpret_cast<const float4*>(value + i);
    float4 m = *reinterpret_cast<const float4*>(first + i);
    float4 v = *reinterpret_cast<const float4*>(second + i);
    step(s, g.x, p.x, m.x, v.x);
    step(s, g.y, p.y, m.y, v.y);
    step(s, g.z, p.z, m.z, v.z);
    step(s, g.w, p.w, m.w, v.w);
    *reinterpret_cast<float4*>(value + i) = p;
    *reinterpret_cast<float4*>(first + i) = m;
    *reinterpret_cast<float4*>(second + i) = v;
    if constexpr (!std::is_same_v<T, float>) {
      alignas(8) T four[4] = {from_float<T>(p.x), from_float<T>(p.y), from_float<T>(p.z),
                              from_float<T>(p.w)};
      *reinterpret_cast<uint2*>(rounded + i) = *reinterpret_cast<const uint2*>(four);
    }
  }
};

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

template <typename F>
void launch(Stream stream, const F& update, std::int64_t size, bool is_aligned) {
  const std::int64_t useful = (size / 4 + kThreads) / kThreads;
  const auto blocks = static_cast<unsigned>(useful < kPassBlocks ? useful : kPassBlocks);
  update_all<<<blocks, kThreads, 0, native(stream)>>>(update, size, is_aligned);
}

}  // namespace

void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    throw Error(ErrorKind::internal, std::string("the CUDA kernel ") + kernel +
                                         " did not start: " + cudaGetErrorString(error));
}

void sgd_update(Stream stream, const SgdTerms& terms, const float* factor, std::int64_t size,
                const float* gradient, float* value, float* velocity) {
  launch(stream, Sgd{terms, factor, gradient, value, velocity}, size,
         aligned(gradient) && aligned(value) && aligned(velocity));
  check_launch("sgd_update");
}

void adamw_update(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
                  const float* gradient, float* value, float* first, float* second,
                  Type rounded_type, void* rounded) {
  const bool is_aligned =
      aligned(gradient) && aligned(value) && aligned(first) && aligned(second) && aligned(rounded);
  with_type(rounded == nullptr ? Type::f32 : rounded_type, [&](auto zero) {
    using T = decltype(zero);
    launch(stream, Adam<T>{terms, factor, gradient, value, first, second, static_cast<T*>(rounded)},
           size, is_aligned);
  });
  check_launch("adamw_update");
}

}  // namespace assay::train::cuda
