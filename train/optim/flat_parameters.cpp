#include "train/optim/flat_parameters.h"

#include <algorithm>

#include "core/error.h"

namespace assay::train {
namespace {

constexpr std::int64_t kAlignment = 128 / sizeof(float);

std::int64_t aligned(std::int64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// A view of `flat` with the parameter's shape and storage format.
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

FlatParameters::FlatParameters(torch::nn::Module& module, bool channels_last, std::int64_t parts)
    : channels_last_(channels_last) {
  for (const auto& item : module.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    if (item.value().scalar_type() != torch::kFloat)
      throw Error(ErrorKind::internal, "parameter " + item.key() + " is not float");
    entries_.push_back(
        {item.key(), item.value(), 0, item.value().numel(), item.value().dim() > 1, false, false});
    count_ += item.value().numel();
  }
  if (entries_.empty()) throw Error(ErrorKind::internal, "the model has no parameters");
  std::int64_t total = lay_out(entries_);
  total = (total + parts * kAlignment - 1) / (parts * kAlignment) * (parts * kAlignment);

  torch::NoGradGuard no_grad;
  const auto options = entries_.front().parameter.options().requires_grad(false);
  values_ = torch::zeros({total}, options);
  ranges_ = {{0, torch::zeros({total}, options)}};
  for (Entry& entry : entries_) {
    if (entry.decayed) decayed_ = entry.offset + aligned(entry.size);
    const torch::Tensor view = shaped(part(values_, entry), entry.parameter, channels_last);
    view.copy_(entry.parameter.detach());
    entry.parameter.set_data(view);
    entry.parameter.mutable_grad() = shaped(gradient(entry), entry.parameter, channels_last);
  }
}

const torch::Tensor& FlatParameters::gradients() const {
  if (ranges_.size() != 1) throw Error(ErrorKind::internal, "the gradients are in two buffers");
  return ranges_.front().gradients;
}

torch::Tensor FlatParameters::gradient(const Entry& entry) const {
  const GradientRange& range =
      entry.offset < ranges_.back().begin ? ranges_.front() : ranges_.back();
  return range.gradients.narrow(0, entry.offset - range.begin, entry.size);
}

void FlatParameters::expect_overwritten(const std::string& name, bool then_added_to) {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) throw Error(ErrorKind::internal, "there is no parameter " + name);
  entry->overwritten = true;
  entry->added_to = then_added_to;
}

void FlatParameters::zero_gradients() {
  // Contiguous gradients are one call. Rounded gradients are all overwritten.
  const GradientRange& range = ranges_.back();
  std::int64_t begin = range.begin;
  const auto zero_to = [&](std::int64_t end) {
    if (end > begin) range.gradients.narrow(0, begin - range.begin, end - begin).zero_();
  };
  for (const Entry& entry : entries_) {
    if (!entry.overwritten || entry.offset < range.begin) continue;
    zero_to(entry.offset);
    begin = entry.offset + entry.size;
  }
  zero_to(size());
}

void FlatParameters::round_gradients(torch::ScalarType type) {
  const auto rest = std::ranges::find_if(
      entries_, [](const Entry& entry) { return !entry.overwritten || entry.added_to; });
  const std::int64_t begin = rest == entries_.end() ? size() : rest->offset;
  if (begin == 0) return;
  const auto options = values_.options();
  ranges_ = {};  // frees their memory first
  for (const Entry& entry : entries_) entry.parameter.mutable_grad() = torch::Tensor();
  ranges_.push_back({0, torch::zeros({begin}, options.dtype(type))});
  ranges_.push_back({begin, torch::zeros({size() - begin}, options)});
  for (const Entry& entry : entries_)
    entry.parameter.mutable_grad() = shaped(gradient(entry), entry.parameter, channels_last_);
}

void FlatParameters::keep_rounded(torch::ScalarType type) {
  rounded_ = values_.to(type);
}

void FlatParameters::round() {
  torch::NoGradGuard no_grad;
  if (rounded_.defined()) rounded_.copy_(values_);
}

void FlatParameters::check_views() const {
  for (const Entry& entry : entries_) {
    const torch::Tensor& own = entry.parameter.grad();
    if (!own.defined() || own.data_ptr() != gradient(entry).data_ptr())
      throw Error(ErrorKind::internal, "the gradient of " + entry.name + " has left its buffer");
  }
}

}  // namespace assay::train
