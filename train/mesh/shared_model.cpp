#include "train/mesh/shared_model.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace assay::train {
namespace {

torch::Tensor shaped_part(const torch::Tensor& flat, const FlatParameters::Entry& entry) {
  return FlatParameters::part(flat, entry).view(entry.parameter.sizes());
}

}  // namespace

SharedModel::SharedModel(const LlamaImpl& model, FlatParameters& parameters, MeshGroups& groups)
    : parameters_(parameters), groups_(groups), tied_(model.options().tied) {
  for (const ParameterCut& cut : cuts_of(model.options(), {})) {
    std::int64_t size = 1;
    for (const std::int64_t each : cut.shape) size *= each;
    entries_.push_back({cut.name, {}, 0, size, cut.shape.size() > 1});
  }
  size_ = FlatParameters::lay_out(entries_);
  std::map<std::string, ParameterCut> by_name;
  for (ParameterCut& cut : cuts_of(model.options(), {})) by_name[cut.name] = std::move(cut);
  for (const FlatParameters::Entry& entry : entries_) whole_.push_back(by_name.at(entry.name));

  const bool first_experts = groups.place().expert(groups.mesh()) == 0;
  for (ParameterCut& cut : cuts_of(model.options(), model.share())) {
    const auto entry =
        std::ranges::find(parameters.entries(), cut.name, &FlatParameters::Entry::name);
    if (entry == parameters.entries().end())
      throw Error(ErrorKind::internal, "the model has no parameter " + cut.name);
    const bool counts = cut.counts && (cut.expert || first_experts);
    own_.push_back({&*entry, std::move(cut), counts});
  }
}

Communicator& SharedModel::ranks_of(const FlatParameters::Entry& entry) {
  const auto own = std::ranges::find(own_, entry.name, [](const Own& o) { return o.cut.name; });
  return own->cut.expert ? groups_.expert_data() : groups_.data();
}

void SharedModel::broadcast() {
  // Where experts differ, the rest is the same by its seed.
  (groups_.mesh().expert > 1 ? groups_.expert_data() : groups_.data())
      .broadcast(parameters_.values());
}

void SharedModel::sum_gradients() {
  torch::NoGradGuard no_grad;
  const torch::Tensor& gradients = parameters_.gradients();
  if (Exchange* const tensor = groups_.tensor()) {
    // Norms are one range at the end; of the matrices only routers are on all ranks.
    const std::int64_t norms = parameters_.size() - parameters_.decayed();
    if (norms > 0) tensor->sum(gradients.narrow(0, parameters_.decayed(), norms));
    for (const Own& own : own_)
      if (own.cut.replicated() && own.entry->decayed)
        tensor->sum(FlatParameters::part(gradients, *own.entry));
  }
  // A tied matrix is in the first and in the last stage.
  if (!tied_ || groups_.ends().alone()) return;
  for (const Own& own : own_)
    if (own.cut.name == "embedding")
      groups_.ends().wait(groups_.ends().all_reduce(FlatParameters::part(gradients, *own.entry)));
}

torch::Tensor SharedModel::gradient_norm() {
  torch::NoGradGuard no_grad;
  torch::Tensor sum = torch::zeros(
      {}, torch::TensorOptions(torch::kDouble).device(parameters_.gradients().device()));
  for (const Own& own : own_)
    if (own.counts)
      sum += FlatParameters::part(parameters_.gradients(), *own.entry)
                 .norm()
                 .to(torch::kDouble)
                 .square();
  groups_.whole().wait(groups_.whole().all_reduce(sum));
  // Devices multiply with a float.
  return sum.sqrt().to(sum.is_cuda() ? torch::kFloat : torch::kDouble);
}

torch::Tensor SharedModel::gather(const torch::Tensor& own) {
  torch::NoGradGuard no_grad;
  torch::Tensor whole = torch::zeros({size_}, own.options().device(torch::kCPU));
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const torch::Tensor tensor = torch::zeros(whole_[i].shape, own.options());
    for (const Own& mine : own_)
      if (mine.counts && mine.cut.name == entries_[i].name)
        put_into(tensor, shaped_part(own, *mine.entry), mine.cut);
    groups_.whole().wait(groups_.whole().all_reduce(tensor));
    FlatParameters::part(whole, entries_[i]).copy_(tensor.view(-1));
  }
  return whole;
}

void SharedModel::scatter(const torch::Tensor& whole, const torch::Tensor& own) const {
  torch::NoGradGuard no_grad;
  for (const Own& mine : own_) {
    const auto entry =
        std::ranges::find(entries_, mine.cut.name, &FlatParameters::Entry::name);
    const torch::Tensor tensor = FlatParameters::part(whole, *entry).view(mine.cut.shape);
    shaped_part(own, *mine.entry).copy_(cut_from(tensor, mine.cut));
  }
}

}  // namespace assay::train
