#include "train/mesh/zero_model.h"

#include <algorithm>

#include "core/error.h"

namespace assay::train {
namespace {

std::vector<FlatParameters::Entry> local_entries(const LlamaImpl& model) {
  std::vector<FlatParameters::Entry> entries;
  for (const auto& item : model.named_parameters())
    entries.push_back({item.key(), item.value(), 0, item.value().numel(), item.value().dim() > 1});
  return entries;
}

}  // namespace

ZeroModel::ZeroModel(const LlamaImpl& model, ZeroUnits& units, FlatParameters& shards,
                     MeshGroups& groups)
    : units_(units),
      shards_(shards),
      groups_(groups),
      tied_(model.options().tied),
      local_(local_entries(model)),
      local_size_(FlatParameters::lay_out(local_)),
      whole_(model, local_, groups) {}

Communicator& ZeroModel::ranks_of(const FlatParameters::Entry& /*entry*/) {
  return groups_.data();
}

const FlatParameters::Entry& ZeroModel::entry_of(const ZeroUnits::Piece& piece) const {
  const auto found = std::ranges::find_if(
      shards_.entries(), [&](const auto& entry) { return entry.parameter.is_same(piece.shard); });
  if (found == shards_.entries().end())
    throw Error(ErrorKind::internal, "a part of the parameters is not among those to be updated");
  return *found;
}

void ZeroModel::sum_gradients() {
  torch::NoGradGuard no_grad;
  units_.finish_gradients();
  for (const ZeroUnits::Piece& piece : units_.pieces()) {
    const torch::Tensor gradient = FlatParameters::part(shards_.gradients(), entry_of(piece));
    if (piece.replicated && groups_.tensor() != nullptr) groups_.tensor()->sum(gradient);
    const bool in_both_ends = tied_ && piece.entries.front().cut.name == "embedding";
    if (in_both_ends && !groups_.ends().alone())
      groups_.ends().wait(groups_.ends().all_reduce(gradient));
  }
}

torch::Tensor ZeroModel::gradient_norm() {
  torch::NoGradGuard no_grad;
  torch::Tensor sum =
      torch::zeros({}, torch::TensorOptions(torch::kDouble).device(shards_.gradients().device()));
  for (const ZeroUnits::Piece& piece : units_.pieces())
    if (piece.counts)
      sum += FlatParameters::part(shards_.gradients(), entry_of(piece))
                 .norm()
                 .to(torch::kDouble)
                 .square();
  groups_.all().wait(groups_.all().all_reduce(sum));
  return sum.sqrt().to(sum.is_cuda() ? torch::kFloat : torch::kDouble);
}

torch::Tensor ZeroModel::gather(const torch::Tensor& own) {
  torch::NoGradGuard no_grad;
  torch::Tensor local = torch::zeros({local_size_}, own.options());
  for (const ZeroUnits::Piece& piece : units_.pieces()) {
    torch::Tensor all = torch::empty({piece.full.numel()}, own.options());
    piece.ranks->wait(
        piece.ranks->all_gather(all, FlatParameters::part(own, entry_of(piece)).contiguous()));
    for (const ZeroUnits::Piece::Entry& part : piece.entries) {
      const auto to = std::ranges::find(local_, part.cut.name, &FlatParameters::Entry::name);
      FlatParameters::part(local, *to).copy_(all.narrow(0, part.offset, to->size));
    }
  }
  return whole_.gather(local);
}

void ZeroModel::scatter(const torch::Tensor& whole, const torch::Tensor& own) {
  torch::NoGradGuard no_grad;
  torch::Tensor local = torch::zeros({local_size_}, own.options());
  whole_.scatter(whole, local);
  for (const ZeroUnits::Piece& piece : units_.pieces()) {
    torch::Tensor all = torch::zeros({piece.full.numel()}, own.options());
    for (const ZeroUnits::Piece::Entry& part : piece.entries) {
      const auto from = std::ranges::find(local_, part.cut.name, &FlatParameters::Entry::name);
      all.narrow(0, part.offset, from->size).copy_(FlatParameters::part(local, *from));
    }
    const FlatParameters::Entry& entry = entry_of(piece);
    FlatParameters::part(own, entry)
        .copy_(all.narrow(0, piece.ranks->rank() * entry.size, entry.size));
  }
}

}  // namespace assay::train
