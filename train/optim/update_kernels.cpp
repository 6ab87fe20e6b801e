#include "train/optim/update_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <ATen/Parallel.h>

#include "core/clones.h"

namespace assay::train {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

ASSAY_CLONES void sgd_range(const SgdTerms& t, std::int64_t size, const float* __restrict gradient,
                            float* __restrict value, float* __restrict velocity) {
  const float nesterov = t.nesterov ? 1.0F : 0.0F;
  for (std::int64_t i = 0; i < size; ++i) {
    const float g = gradient[i] * t.scale + t.decay * value[i];
    const float v = t.momentum * velocity[i] + g;
    velocity[i] = v;
    // nesterov: g + momentum · v; otherwise v.
    const float step = nesterov != 0.0F ? g + t.momentum * v : v;
    value[i] -= t.rate * step;
  }
}

ASSAY_CLONES void adamw_range(const AdamTerms& t, std::int64_t size,
                              const float* __restrict gradient, float* __restrict value,
                              float* __restrict first, float* __restrict second) {
  const float keep = 1 - t.rate * t.decay;
  const float step = t.rate / t.correction1;
  const float root = 1 / std::sqrt(t.correction2);
  for (std::int64_t i = 0; i < size; ++i) {
    const float g = gradient[i] * t.scale;
    const float m = t.beta1 * first[i] + (1 - t.beta1) * g;
    const float v = t.beta2 * second[i] + (1 - t.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    value[i] = value[i] * keep - step * m / (std::sqrt(v) * root + t.epsilon);
  }
}

float widened(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// `begin` counts the elements of the whole update.
ASSAY_CLONES void adamw_range(const AdamTerms& t, std::int64_t begin, std::int64_t size,
                              const float* __restrict gradient, float* __restrict value,
                              std::uint16_t* __restrict first, std::uint16_t* __restrict second) {
  const float keep = 1 - t.rate * t.decay;
  const float step = t.rate / t.correction1;
  const float root = 1 / std::sqrt(t.correction2);
  for (std::int64_t i = 0; i < size; ++i) {
    const float g = gradient[i] * t.scale;
    const float m = t.beta1 * widened(first[i]) + (1 - t.beta1) * g;
    const float v = t.beta2 * widened(second[i]) + (1 - t.beta2) * g * g;
    const std::uint32_t drawn = drawn_bits(t.step, t.begin + begin + i);
    first[i] = rounded_by_chance(std::bit_cast<std::uint32_t>(m), drawn);
    second[i] = rounded_by_chance(std::bit_cast<std::uint32_t>(v), drawn >> 16);
    value[i] = value[i] * keep - step * m / (std::sqrt(v) * root + t.epsilon);
  }
}

ASSAY_CLONES double square_range(std::int64_t size, const float* __restrict values) {
  double sums[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (std::int64_t lane = 0; lane < 16; ++lane)
      sums[lane] += static_cast<double>(values[i + lane]) * static_cast<double>(values[i + lane]);
  double sum = 0;
  for (; i < size; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

void sgd_update(const SgdTerms& terms, std::int64_t size, const float* gradient, float* value,
                float* velocity) {
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    sgd_range(terms, end - begin, gradient + begin, value + begin, velocity + begin);
  });
}

void adamw_update(const AdamTerms& terms, std::int64_t size, const float* gradient, float* value,
                  float* first, float* second) {
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    adamw_range(terms, end - begin, gradient + begin, value + begin, first + begin, second + begin);
  });
}

void adamw_update(const AdamTerms& terms, std::int64_t size, const float* gradient, float* value,
                  std::uint16_t* first, std::uint16_t* second) {
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    adamw_range(terms, begin, end - begin, gradient + begin, value + begin, first + begin,
                second + begin);
  });
}

double sum_of_squares(std::int64_t size, const float* values) {
  // Fixed blocks make the rounding independent of the number of threads.
  const std::int64_t blocks = (size + kGrain - 1) / kGrain;
  if (blocks <= 1) return square_range(size, values);
  std::vector<double> sums(static_cast<std::size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block)
      sums[static_cast<std::size_t>(block)] =
          square_range(std::min(kGrain, size - block * kGrain), values + block * kGrain);
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace assay::train
