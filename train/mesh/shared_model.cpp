#include "train/mesh/shared_model.h"

#include <algorithm>

namespace assay::train {

Communicator& SharedModel::ranks_of(const FlatParameters::Entry& entry) {
  const auto own = std::ranges::find_if(
      whole_.own(), [&](const WholeModel::Own& each) { return each.cut.name == entry.name; });
  return own->cut.expert ? groups_.expert_data() : groups_.data();
}

void SharedModel::broadcast() {
  // If experts differ, the rest is made equal by its seed.
  (groups_.mesh().expert > 1 ? groups_.expert_data() : groups_.data())
      .broadcast(parameters_.values());
}

void SharedModel::sum_gradients() {
  torch::NoGradGuard no_grad;
  const torch::Tensor& gradients = parameters_.gradients();
  if (Exchange* const tensor = groups_.tensor()) {
    // Norms form one range at the end; of the matrices, only routers are on all ranks.
    const std::int64_t norms = parameters_.size() - parameters_.decayed();
    if (norms > 0) tensor->sum(gradients.narrow(0, parameters_.decayed(), norms));
    for (const WholeModel::Own& own : whole_.own())
      if (own.cut.replicated() && own.entry->decayed)
        tensor->sum(FlatParameters::part(gradients, *own.entry));
  }
  // A tied matrix is in both the first and the last stage.
  if (!tied_ || groups_.ends().alone()) return;
  for (const WholeModel::Own& own : whole_.own())
    if (own.cut.name == "embedding")
      groups_.ends().wait(groups_.ends().all_reduce(FlatParameters::part(gradients, *own.entry)));
}

torch::Tensor SharedModel::gradient_norm() {
  torch::NoGradGuard no_grad;
  const torch::Tensor& gradients = parameters_.gradients();
  torch::Tensor sum =
      torch::zeros({}, torch::TensorOptions(torch::kDouble).device(gradients.device()));
  for (const WholeModel::Own& own : whole_.own())
    if (own.counts)
      sum += FlatParameters::part(gradients, *own.entry).norm().to(torch::kDouble).square();
  groups_.whole().wait(groups_.whole().all_reduce(sum));
  // Devices multiply with a float.
  return sum.sqrt().to(sum.is_cuda() ? torch::kFloat : torch::kDouble);
}

}  // namespace assay::train
