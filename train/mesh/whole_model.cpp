#include "train/mesh/whole_model.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace assay::train {
namespace {

torch::Tensor shaped_part(const torch::Tensor& flat, const FlatParameters::Entry& entry) {
  return FlatParameters::part(flat, entry).view(entry.parameter.sizes());
}

}  // namespace

WholeModel::WholeModel(const LlamaImpl& model, const std::vector<FlatParameters::Entry>& local,
                       MeshGroups& groups)
    : groups_(groups) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const ParameterCut& cut : cuts_of(model.options(), {})) {
    std::int64_t size = 1;
    for (const std::int64_t each : cut.shape) size *= each;
    entries_.push_back({cut.name, {}, 0, size, cut.shape.size() > 1});
    shapes[cut.name] = cut.shape;
  }
  // A module's own parameters come before those of its parts.
  std::stable_partition(entries_.begin(), entries_.end(), [](const FlatParameters::Entry& entry) {
    return !entry.name.starts_with("blocks.");
  });
  size_ = FlatParameters::lay_out(entries_);
  for (const FlatParameters::Entry& entry : entries_) shapes_.push_back(shapes.at(entry.name));

  const bool first_experts = groups.place().expert(groups.mesh()) == 0;
  for (ParameterCut& cut : cuts_of(model.options(), model.share())) {
    const auto entry = std::ranges::find(local, cut.name, &FlatParameters::Entry::name);
    if (entry == local.end())
      throw Error(ErrorKind::internal, "the model has no parameter " + cut.name);
    const bool counts = cut.counts && (cut.expert || first_experts);
    own_.push_back({&*entry, std::move(cut), counts});
  }
}

torch::Tensor WholeModel::gather(const torch::Tensor& local) {
  torch::NoGradGuard no_grad;
  torch::Tensor whole = torch::zeros({size_}, local.options().device(torch::kCPU));
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const torch::Tensor tensor = torch::zeros(shapes_[i], local.options());
    for (const Own& own : own_)
      if (own.counts && own.cut.name == entries_[i].name)
        put_into(tensor, shaped_part(local, *own.entry), own.cut);
    groups_.whole().wait(groups_.whole().all_reduce(tensor));
    FlatParameters::part(whole, entries_[i]).copy_(tensor.view(-1));
  }
  return whole;
}

void WholeModel::scatter(const torch::Tensor& whole, const torch::Tensor& local) const {
  torch::NoGradGuard no_grad;
  for (const Own& own : own_) {
    const auto entry = std::ranges::find(entries_, own.cut.name, &FlatParameters::Entry::name);
    const torch::Tensor tensor = FlatParameters::part(whole, *entry).view(own.cut.shape);
    shaped_part(local, *own.entry).copy_(cut_from(tensor, own.cut));
  }
}

}  // namespace assay::train
