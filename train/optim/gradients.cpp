#include "train/optim/gradients.h"

#include <algorithm>
#include <cmath>

#include "train/optim/update_kernels.h"

namespace assay::train {
namespace {

constexpr double kMaxScale = 16777216;  // 2^24
constexpr double kMinScale = 1.0 / 16384;

}  // namespace

torch::Tensor gradient_norm(const FlatParameters& parameters) {
  torch::NoGradGuard no_grad;
  const auto& ranges = parameters.gradient_ranges();
  if (ranges.size() == 1 && ranges.front().gradients.is_cpu()) {
    const torch::Tensor& gradients = ranges.front().gradients;
    return torch::scalar_tensor(
        std::sqrt(sum_of_squares(gradients.numel(), gradients.data_ptr<float>())), torch::kDouble);
  }
  torch::Tensor sum;
  for (const FlatParameters::GradientRange& range : ranges) {
    // In float, whatever type they are kept in.
    const torch::Tensor norm =
        at::linalg_vector_norm(range.gradients, 2, at::OptionalIntArrayRef(), false, torch::kFloat);
    if (ranges.size() == 1) return norm;
    sum = sum.defined() ? sum + norm.square() : norm.square();
  }
  return sum.sqrt();
}

torch::Tensor clip_factor(const torch::Tensor& norm, double limit, double scale) {
  torch::NoGradGuard no_grad;
  if (limit <= 0) return torch::full({}, scale, norm.options());
  // A minimal norm avoids dividing 0 by 0.
  return (limit / (norm * scale).clamp_min(1e-30)).clamp_max(1.0) * scale;
}

bool LossScaler::update(double norm) {
  if (!std::isfinite(norm)) {
    scale_ = std::max(kMinScale, scale_ / 2);
    good_ = 0;
    ++skipped_;
    return false;
  }
  if (++good_ >= interval_) {
    scale_ = std::min(kMaxScale, scale_ * 2);
    good_ = 0;
  }
  return true;
}

void LossScaler::restore(double scale, std::int64_t good, std::int64_t skipped) {
  scale_ = scale;
  good_ = good;
  skipped_ = skipped;
}

MovingAverage::MovingAverage(const FlatParameters& parameters, double decay)
    : values_(parameters.values()), average_(parameters.values().clone()), decay_(decay) {}

void MovingAverage::update() {
  torch::NoGradGuard no_grad;
  average_.lerp_(values_, 1 - decay_);
}

void MovingAverage::swap() {
  torch::NoGradGuard no_grad;
  const torch::Tensor kept = values_.clone();
  values_.copy_(average_);
  average_.copy_(kept);
}

}  // namespace assay::train
