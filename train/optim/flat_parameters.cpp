#include "train/optim/flat_parameters.h"

#include <algorithm>

#include "core/error.h"

namespace assay::train {
namespace {

constexpr std::int64_t kAlignment = 128 / sizeof(float);

std::int64_t aligned(std::int64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// A view of `flat` with the parameter's shape, in the format that it is stored in.
torch::Tensor shaped(const torch::Tensor& flat, const torch::Tensor& parameter,
                     bool channels_last) {
  if (!channels_last || parameter.dim() != 4) return flat.view(parameter.sizes());
  return flat.view({parameter.size(0), parameter.size(2), parameter.size(3), parameter.size(1)})
      .permute({0, 3, 1, 2});
}

}  // namespace

std::int64_t FlatParameters::lay_out(std::vector<Entry>& entries) {
  std::reverse(entries.begin(), entries.end());
  std::stable_partition(entries.begin(), entries.end(), [](const Entry& e) { return e.decayed; });
  std::int64_t offset = 0;
  for (Entry& entry : entries) {
    entry.offset = offset;
    offset += aligned(entry.size);
  }
  return offset;
}

FlatParameters::FlatParameters(torch::nn::Module& module, bool channels_last, std::int64_t parts) {
  for (const auto& item : module.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    if (item.value().scalar_type() != torch::kFloat)
      throw Error(ErrorKind::internal, "parameter " + item.key() + " is not float");
    entries_.push_back(
        {item.key(), item.value(), 0, item.value().numel(), item.value().dim() > 1, false});
    count_ += item.value().numel();
  }
  if (entries_.empty()) throw Error(ErrorKind::internal, "the model has no parameters");
  std::int64_t total = lay_out(entries_);
  total = (total + parts * kAlignment - 1) / (parts * kAlignment) * (parts * kAlignment);

  torch::NoGradGuard no_grad;
  const auto options = entries_.front().parameter.options().requires_grad(false);
  values_ = torch::zeros({total}, options);
  gradients_ = torch::zeros({total}, options);
  for (Entry& entry : entries_) {
    if (entry.decayed) decayed_ = entry.offset + aligned(entry.size);
    const torch::Tensor view = shaped(part(values_, entry), entry.parameter, channels_last);
    view.copy_(entry.parameter.detach());
    entry.parameter.set_data(view);
    entry.parameter.mutable_grad() =
        shaped(part(gradients_, entry), entry.parameter, channels_last);
  }
}

void FlatParameters::expect_overwritten(const std::string& name) {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) throw Error(ErrorKind::internal, "there is no parameter " + name);
  entry->overwritten = true;
}

void FlatParameters::zero_gradients() {
  // What lies together is one call.
  std::int64_t begin = 0;
  const auto zero_to = [&](std::int64_t end) {
    if (end > begin) gradients_.narrow(0, begin, end - begin).zero_();
  };
  for (const Entry& entry : entries_) {
    if (!entry.overwritten) continue;
    zero_to(entry.offset);
    begin = entry.offset + entry.size;
  }
  zero_to(gradients_.numel());
}

void FlatParameters::keep_rounded(torch::ScalarType type) {
  rounded_ = values_.to(type);
}

void FlatParameters::round() {
  torch::NoGradGuard no_grad;
  if (rounded_.defined()) rounded_.copy_(values_);
}

void FlatParameters::check_views() const {
  const auto* const base = static_cast<const float*>(gradients_.data_ptr());
  for (const Entry& entry : entries_) {
    const torch::Tensor& gradient = entry.parameter.grad();
    if (!gradient.defined() || gradient.data_ptr() != base + entry.offset)
      throw Error(ErrorKind::internal, "the gradient of " + entry.name + " has left its buffer");
  }
}

}  // namespace assay::train
