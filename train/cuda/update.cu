#include "core/error.h"
#include "train/cuda/device.cuh"
#include "train/cuda/update.h"

namespace assay::train::cuda {
namespace {

constexpr int kFours = 4;  // per thread, one after another

// Four elements at a time, single ones at the end and where a range is not aligned to 16 bytes. As
// many blocks as there is work: of a few persistent ones the last would run alone.
template <typename F>
__global__ void __launch_bounds__(kThreads) update_all(F update, std::int64_t size, bool aligned) {
  const std::int64_t fours = aligned ? size / 4 : 0;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFours * kThreads;
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    const std::int64_t i = first + k * kThreads + threadIdx.x;
    if (i < fours) update.four(i * 4);
  }
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
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

// Four moments or gradients, in float or in bf16.
__device__ __forceinline__ float4 load_four(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}
__device__ __forceinline__ float4 load_four(const std::uint16_t* at) {
  const uint2 raw = *reinterpret_cast<const uint2*>(at);
  return make_float4(__uint_as_float(raw.x << 16), __uint_as_float(raw.x & 0xffff0000U),
                     __uint_as_float(raw.y << 16), __uint_as_float(raw.y & 0xffff0000U));
}
__device__ __forceinline__ float load_one(const float* at) {
  return *at;
}
__device__ __forceinline__ float load_one(const std::uint16_t* at) {
  return __uint_as_float(static_cast<unsigned>(*at) << 16);
}
__device__ __forceinline__ unsigned by_chance(float value, unsigned drawn) {
  return rounded_by_chance(__float_as_uint(value), drawn);
}

// T is the type to which the new values are also rounded; float: not rounded. M is the moments'
// type and G the gradients': float, or the bits of bf16.
template <typename T, typename M, typename G>
struct Adam {
  AdamTerms terms;
  const float* factor;
  const G* gradient;
  float* value;
  M* first;
  M* second;
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
  // The first moment uses the lower half of the random bits, the second the upper.
  __device__ __forceinline__ void keep_four(std::int64_t i, const float4& m,
                                            const float4& v) const {
    if constexpr (std::is_same_v<M, float>) {
      *reinterpret_cast<float4*>(first + i) = m;
      *reinterpret_cast<float4*>(second + i) = v;
    } else {
      unsigned drawn[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) drawn[k] = drawn_bits(terms.step, terms.begin + i + k);
      *reinterpret_cast<uint2*>(first + i) =
          make_uint2(by_chance(m.x, drawn[0]) | by_chance(m.y, drawn[1]) << 16,
                     by_chance(m.z, drawn[2]) | by_chance(m.w, drawn[3]) << 16);
      *reinterpret_cast<uint2*>(second + i) =
          make_uint2(by_chance(v.x, drawn[0] >> 16) | by_chance(v.y, drawn[1] >> 16) << 16,
                     by_chance(v.z, drawn[2] >> 16) | by_chance(v.w, drawn[3] >> 16) << 16);
    }
  }
  __device__ __forceinline__ void one(std::int64_t i) const {
    float m = load_one(first + i);
    float v = load_one(second + i);
    step(scale(), load_one(gradient + i), value[i], m, v);
    if constexpr (std::is_same_v<M, float>) {
      first[i] = m;
      second[i] = v;
    } else {
      const unsigned drawn = drawn_bits(terms.step, terms.begin + i);
      first[i] = static_cast<std::uint16_t>(by_chance(m, drawn));
      second[i] = static_cast<std::uint16_t>(by_chance(v, drawn >> 16));
    }
    if constexpr (!std::is_same_v<T, float>) rounded[i] = from_float<T>(value[i]);
  }
  __device__ __forceinline__ void four(std::int64_t i) const {
    const float s = scale();
    const float4 g = load_four(gradient + i);
    float4 p = *reinterpret_cast<const float4*>(value + i);
    float4 m = load_four(first + i);
    float4 v = load_four(second + i);
    step(s, g.x, p.x, m.x, v.x);
    step(s, g.y, p.y, m.y, v.y);
    step(s, g.z, p.z, m.z, v.z);
    step(s, g.w, p.w, m.w, v.w);
    *reinterpret_cast<float4*>(value + i) = p;
    keep_four(i, m, v);
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
  if (size == 0) return;
  constexpr std::int64_t kOfBlock = 4 * kFours * kThreads;
  const auto blocks = static_cast<unsigned>((size + kOfBlock - 1) / kOfBlock);
  update_all<<<blocks, kThreads, 0, native(stream)>>>(update, size, is_aligned);
}

template <typename M, typename G>
void adamw(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
           const G* gradient, float* value, M* first, M* second, Type rounded_type, void* rounded) {
  const bool is_aligned =
      aligned(gradient) && aligned(value) && aligned(first) && aligned(second) && aligned(rounded);
  with_type(rounded == nullptr ? Type::f32 : rounded_type, [&](auto zero) {
    using T = decltype(zero);
    launch(stream,
           Adam<T, M, G>{terms, factor, gradient, value, first, second, static_cast<T*>(rounded)},
           size, is_aligned);
  });
  check_launch("adamw_update");
}

template <typename M>
void adamw(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
           Type gradient_type, const void* gradient, float* value, M* first, M* second,
           Type rounded_type, void* rounded) {
  const auto from = [&](const auto* typed) {
    adamw(stream, terms, factor, size, typed, value, first, second, rounded_type, rounded);
  };
  if (gradient_type == Type::bf16)
    from(static_cast<const std::uint16_t*>(gradient));
  else if (gradient_type == Type::f32)
    from(static_cast<const float*>(gradient));
  else
    throw Error(ErrorKind::internal, "adamw_update takes no gradients in fp16");
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
                  Type gradient_type, const void* gradient, float* value, float* first,
                  float* second, Type rounded_type, void* rounded) {
  adamw(stream, terms, factor, size, gradient_type, gradient, value, first, second, rounded_type,
        rounded);
}

void adamw_update(Stream stream, const AdamTerms& terms, const float* factor, std::int64_t size,
                  Type gradient_type, const void* gradient, float* value, std::uint16_t* first,
                  std::uint16_t* second, Type rounded_type, void* rounded) {
  adamw(stream, terms, factor, size, gradient_type, gradient, value, first, second, rounded_type,
        rounded);
}

}  // namespace assay::train::cuda
