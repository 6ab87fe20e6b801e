#include "train/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "train/optim/update_kernels.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/cuda/tensors.h"
#include "train/cuda/update.h"
#endif

namespace assay::train {
namespace {

// Whether one kernel does the whole update; does not wait for a device.
bool has_kernel(torch::Device device) {
#if defined(ASSAY_TRAIN_KERNELS)
  return device.is_cpu() || device.is_cuda();
#else
  return device.is_cpu();
#endif
}

float* from(const torch::Tensor& flat, std::int64_t offset) {
  return flat.data_ptr<float>() + offset;
}

#if defined(ASSAY_TRAIN_KERNELS)
// The factor stays on the device.
const float* device_factor(const torch::Tensor& factor) {
  return factor.defined() ? factor.data_ptr<float>() : nullptr;
}
#endif

std::uint16_t* bits_from(const torch::Tensor& flat, std::int64_t offset) {
  return reinterpret_cast<std::uint16_t*>(flat.data_ptr<at::BFloat16>()) + offset;
}

float host_factor(const torch::Tensor& factor) {
  return factor.defined() ? static_cast<float>(factor.item<double>()) : 1.0F;
}

void update(SgdTerms terms, const torch::Tensor& factor, std::int64_t size,
            const FlatParameters& parameters, const torch::Tensor& velocity, std::int64_t begin,
            std::int64_t part) {
  const torch::Tensor& gradients = parameters.gradients();
  const torch::Tensor& values = parameters.values();
  const std::int64_t own = begin - part;  // within the state
#if defined(ASSAY_TRAIN_KERNELS)
  if (values.is_cuda())
    return cuda::sgd_update(cuda::current_stream(), terms, device_factor(factor), size,
                            from(gradients, begin), from(values, begin), from(velocity, own));
#endif
  terms.scale = host_factor(factor);
  sgd_update(terms, size, from(gradients, begin), from(values, begin), from(velocity, own));
}

// `gradients` begin at `gradients_begin`.
void update(AdamTerms terms, const torch::Tensor& factor, std::int64_t size,
            const FlatParameters& parameters, const torch::Tensor& gradients,
            std::int64_t gradients_begin, const torch::Tensor& first, const torch::Tensor& second,
            std::int64_t begin, std::int64_t part) {
  const torch::Tensor& values = parameters.values();
  const std::int64_t own = begin - part;
  const bool small = first.scalar_type() == torch::kBFloat16;
#if defined(ASSAY_TRAIN_KERNELS)
  if (values.is_cuda()) {
    const torch::Tensor& rounded = parameters.rounded();
    const auto type = rounded.defined() ? cuda::type_of(rounded) : cuda::Type::f32;
    void* const to = rounded.defined()
                         ? static_cast<char*>(rounded.data_ptr()) + begin * rounded.element_size()
                         : nullptr;
    const auto on_device = [&](auto* m, auto* v) {
      cuda::adamw_update(cuda::current_stream(), terms, device_factor(factor), size,
                         cuda::type_of(gradients),
                         static_cast<const char*>(gradients.data_ptr()) +
                             (begin - gradients_begin) * gradients.element_size(),
                         from(values, begin), m, v, type, to);
    };
    if (small)
      on_device(bits_from(first, own), bits_from(second, own));
    else
      on_device(from(first, own), from(second, own));
    return;
  }
#endif
  terms.scale = host_factor(factor);
  if (small)
    adamw_update(terms, size, from(gradients, begin - gradients_begin), from(values, begin),
                 bits_from(first, own), bits_from(second, own));
  else
    adamw_update(terms, size, from(gradients, begin - gradients_begin), from(values, begin),
                 from(first, own), from(second, own));
}

// |numerator| / |denominator| as a tensor, 1 where either is 0.
torch::Tensor ratio(const torch::Tensor& numerator, const torch::Tensor& denominator) {
  return torch::where((numerator > 0).logical_and(denominator > 0), numerator / denominator,
                      torch::ones_like(numerator));
}

}  // namespace

const std::vector<std::string>& optimizer_methods() {
  static const std::vector<std::string> methods{"sgd", "lars", "adamw", "lamb"};
  return methods;
}

Optimizer::Optimizer(FlatParameters& parameters, const OptimizerOptions& options)
    : Optimizer(parameters, options, {0, parameters.size()}) {}

Optimizer::Optimizer(FlatParameters& parameters, const OptimizerOptions& options, FlatRange part)
    : parameters_(parameters), options_(options), part_(part) {
  const std::int64_t end = part.begin + part.size;
  const std::int64_t split = std::clamp(parameters.decayed(), part.begin, end);
  if (split > part.begin) ranges_.push_back({part.begin, split - part.begin, options.weight_decay});
  if (end > split) ranges_.push_back({split, end - split, 0.0});
  if (options.small_state && options.method != "adamw")
    throw Error(ErrorKind::config, "only adamw keeps its state in bf16, not " + options.method,
                "optimizer_state", "use 'optimizer: adamw' or 'optimizer_state: fp32'");
  if (options.small_state && !has_kernel(parameters.values().device()))
    throw Error(ErrorKind::config, "moments in bf16 need a kernel of our own", "optimizer_state",
                "build assay-train with the CUDA compiler, or use fp32");
  const auto add = [&](const char* name) {
    state_.emplace_back(name, torch::zeros({part.size}, parameters.values().options().dtype(
                                                            options.small_state ? torch::kBFloat16
                                                                                : torch::kFloat)));
  };
  if (options.method == "sgd" || options.method == "lars") {
    add("velocity");
  } else if (options.method == "adamw" || options.method == "lamb") {
    add("first");
    add("second");
  } else {
    throw Error(ErrorKind::config, "unknown optimizer '" + options.method + "'" +
                                       did_you_mean(options.method, optimizer_methods()));
  }
  if (part.size != parameters.size() && (options.method == "lars" || options.method == "lamb"))
    throw Error(ErrorKind::config,
                "the state of " + options.method +
                    " cannot be shared out over ranks: it needs the "
                    "norms of whole tensors",
                "zero", "use 'optimizer: adamw' or 'zero: 0'");
}

void Optimizer::step(double rate, const torch::Tensor& factor) {
  torch::NoGradGuard no_grad;
  ++steps_;
  if (options_.method == "adamw") return adamw(rate, factor);  // also rounds
  if (options_.method == "sgd") {
    sgd(rate, factor);
  } else {
    scale_gradients(factor);
    if (options_.method == "lars")
      lars(rate);
    else
      lamb(rate);
  }
  parameters_.round();
}

void Optimizer::scale_gradients(const torch::Tensor& factor) {
  if (factor.defined()) parameters_.gradients().mul_(factor);
}

void Optimizer::sgd(double rate, const torch::Tensor& factor) {
  const torch::Tensor& velocity = state_[0].second;
  const bool fused = !options_.plain && has_kernel(parameters_.values().device());
  if (!fused) scale_gradients(factor);
  for (const Range& range : ranges_) {
    if (fused) {
      const SgdTerms terms{static_cast<float>(rate), 1, static_cast<float>(range.decay),
                           static_cast<float>(options_.momentum), options_.nesterov};
      update(terms, factor, range.size, parameters_, velocity, range.begin, part_.begin);
      continue;
    }
    torch::Tensor value = parameters_.values().narrow(0, range.begin, range.size);
    torch::Tensor gradient = parameters_.gradients().narrow(0, range.begin, range.size);
    torch::Tensor speed = velocity.narrow(0, range.begin - part_.begin, range.size);
    if (range.decay != 0) gradient.add_(value, range.decay);
    speed.mul_(options_.momentum).add_(gradient);
    if (options_.nesterov)
      value.add_(gradient.add_(speed, options_.momentum), -rate);
    else
      value.add_(speed, -rate);
  }
}

void Optimizer::lars(double rate) {
  const torch::Tensor& velocity = state_[0].second;
  torch::Tensor gradients = parameters_.gradients();
  for (const FlatParameters::Entry& entry : parameters_.entries()) {
    if (!entry.decayed) continue;
    const torch::Tensor value = FlatParameters::part(parameters_.values(), entry);
    torch::Tensor gradient = FlatParameters::part(gradients, entry);
    const torch::Tensor norm = value.norm();
    const torch::Tensor local =
        ratio(norm * options_.trust,
              torch::where(norm > 0, gradient.norm() + norm * options_.weight_decay, norm));
    gradient.add_(value, options_.weight_decay).mul_(local);
  }
  velocity.mul_(options_.momentum).add_(gradients);
  parameters_.values().add_(velocity, -rate);
}

void Optimizer::adamw(double rate, const torch::Tensor& factor) {
  const torch::Tensor& first = state_[0].second;
  const torch::Tensor& second = state_[1].second;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  const bool fused =
      (!options_.plain && has_kernel(parameters_.values().device())) || options_.small_state;
  for (const Range& range : ranges_)
    for (const FlatParameters::GradientRange& kept : parameters_.gradient_ranges()) {
      const std::int64_t begin = std::max(range.begin, kept.begin);
      const std::int64_t size =
          std::min(range.begin + range.size, kept.begin + kept.gradients.numel()) - begin;
      if (size <= 0) continue;
      // The CPU's kernel reads only floats.
      if (fused && (kept.gradients.is_cuda() || kept.gradients.scalar_type() == torch::kFloat)) {
        const AdamTerms terms{
            static_cast<float>(rate),           1,
            static_cast<float>(range.decay),    static_cast<float>(options_.beta1),
            static_cast<float>(options_.beta2), static_cast<float>(options_.epsilon),
            static_cast<float>(correction1),    static_cast<float>(correction2),
            static_cast<std::uint32_t>(steps_), begin};
        update(terms, factor, size, parameters_, kept.gradients, kept.begin, first, second, begin,
               part_.begin);
        continue;
      }
      torch::Tensor gradient = kept.gradients.narrow(0, begin - kept.begin, size).to(torch::kFloat);
      if (factor.defined()) gradient = gradient * factor;
      torch::Tensor value = parameters_.values().narrow(0, begin, size);
      torch::Tensor m = first.narrow(0, begin - part_.begin, size);
      torch::Tensor v = second.narrow(0, begin - part_.begin, size);
      value.mul_(1 - rate * range.decay);
      m.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
      v.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
      const torch::Tensor root = v.sqrt().div_(std::sqrt(correction2)).add_(options_.epsilon);
      value.addcdiv_(m, root, -rate / correction1);
    }
  // A CUDA device's kernel has already done so.
  if (!fused || !parameters_.values().is_cuda()) parameters_.round();
}

void Optimizer::lamb(double rate) {
  const torch::Tensor& gradients = parameters_.gradients();
  torch::Tensor m = state_[0].second;
  torch::Tensor v = state_[1].second;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  m.mul_(options_.beta1).add_(gradients, 1 - options_.beta1);
  v.mul_(options_.beta2).addcmul_(gradients, gradients, 1 - options_.beta2);
  torch::Tensor update = m.div(correction1).div_(v.div(correction2).sqrt_().add_(options_.epsilon));
  if (parameters_.decayed() > 0)
    update.narrow(0, 0, parameters_.decayed())
        .add_(parameters_.values().narrow(0, 0, parameters_.decayed()), options_.weight_decay);
  for (const FlatParameters::Entry& entry : parameters_.entries()) {
    if (!entry.decayed) continue;
    torch::Tensor part = FlatParameters::part(update, entry);
    part.mul_(ratio(FlatParameters::part(parameters_.values(), entry).norm(), part.norm()));
  }
  parameters_.values().add_(update, -rate);
}

}  // namespace assay::train
