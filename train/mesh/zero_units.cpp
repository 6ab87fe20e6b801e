#include "train/mesh/zero_units.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace assay::train {
namespace {

constexpr std::int64_t kElements = 32;  // 128 bytes, required by fast kernels
// Reduce-scatters in progress, whose buffers are what ZeRO 2 saves.
constexpr std::size_t kSumsUnderWay = 2;

std::int64_t rounded_up(std::int64_t size, std::int64_t to) {
  return (size + to - 1) / to * to;
}

// "blocks/0/qkv … blocks/0/down": parameters' names have no dots.
std::string name_of(const ZeroUnits::Piece& piece) {
  std::string name = piece.entries.front().cut.name;
  if (piece.entries.size() > 1) name += " … " + piece.entries.back().cut.name;
  std::ranges::replace(name, '.', '/');
  return name;
}

}  // namespace

ZeroUnits::ZeroUnits(LlamaImpl& model, MeshGroups& groups, bool keep) : keep_(keep) {
  torch::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  using Key = std::tuple<std::size_t, bool, bool, bool>;  // unit, a vector, replicated, an expert
  std::map<Key, Piece> by_key;
  for (ParameterCut& cut : cuts_of(model.options(), model.share())) {
    const torch::Tensor parameter = parameters[cut.name];
    const std::size_t unit = model.unit_of(cut.name);
    const bool decayed = parameter.dim() > 1;
    Piece& piece = by_key[{unit, !decayed, cut.replicated(), cut.expert}];
    piece.unit = unit;
    piece.decayed = decayed;
    piece.replicated = cut.replicated();
    piece.counts = cut.counts;
    piece.ranks = cut.expert ? &groups.expert_data() : &groups.data();
    std::int64_t offset = 0;
    if (!piece.entries.empty())
      offset = piece.entries.back().offset +
               rounded_up(piece.entries.back().parameter.numel(), kElements);
    piece.entries.push_back({std::move(cut), parameter, offset});
  }
  for (auto& [key, piece] : by_key) {
    const std::int64_t ranks = piece.ranks->world_size();
    const Piece::Entry& last = piece.entries.back();
    const std::int64_t size = rounded_up(last.offset + last.parameter.numel(), ranks * kElements);
    piece.full = torch::zeros({size}, last.parameter.options().requires_grad(false));
    for (const Piece::Entry& entry : piece.entries) {
      const torch::Tensor view =
          piece.full.narrow(0, entry.offset, entry.parameter.numel()).view(entry.parameter.sizes());
      view.copy_(entry.parameter.detach());
      torch::Tensor parameter = entry.parameter;
      parameter.set_data(view);
    }
    torch::Tensor own =
        piece.full.narrow(0, piece.ranks->rank() * (size / ranks), size / ranks).clone();
    if (piece.decayed) own = own.view({1, -1});
    piece.shard = shards_.register_parameter(name_of(piece), own);
    pieces_.push_back(std::move(piece));
  }
  outdate();
}

template <typename F>
void ZeroUnits::each_of(std::size_t unit, const F& f) {
  for (Piece& piece : pieces_)
    if (piece.unit == unit) f(piece);
}

// Views of the buffer see its new memory.
void ZeroUnits::allocate(Piece& piece) const {
  c10::Storage storage = piece.full.storage();
  if (storage.nbytes() > 0) return;
  const auto bytes = static_cast<std::size_t>(piece.full.numel()) * sizeof(float);
  storage.set_data_ptr_noswap(c10::GetAllocator(piece.full.device().type())->allocate(bytes));
  storage.set_nbytes(bytes);
}

void ZeroUnits::fetch(std::size_t unit) {
  torch::NoGradGuard no_grad;
  each_of(unit, [&](Piece& piece) {
    if (piece.present || piece.gathering.started()) return;
    allocate(piece);
    piece.gathering = piece.ranks->all_gather(piece.full, piece.shard.detach());
    if (!piece.gathering.started()) piece.present = true;  // alone
  });
}

void ZeroUnits::use(std::size_t unit) {
  fetch(unit);
  each_of(unit, [&](Piece& piece) {
    if (piece.present) return;
    piece.ranks->wait(piece.gathering);
    piece.gathering = {};
    piece.present = true;
  });
}

void ZeroUnits::release(std::size_t unit) {
  if (keep_) return;
  each_of(unit, [&](Piece& piece) {
    if (!piece.present) return;
    piece.present = false;
    c10::Storage storage = piece.full.storage();
    storage.set_data_ptr_noswap(c10::DataPtr(nullptr, piece.full.device()));
    storage.set_nbytes(0);
  });
}

void ZeroUnits::outdate() {
  for (Piece& piece : pieces_) {
    if (piece.gathering.started()) piece.ranks->wait(piece.gathering);
    piece.gathering = {};
    piece.present = piece.present || piece.full.storage().nbytes() > 0;
  }
  for (Piece& piece : pieces_) {
    release(piece.unit);
    piece.present = false;
  }
}

void ZeroUnits::begin_gradients(std::size_t unit) {
  torch::NoGradGuard no_grad;
  each_of(unit, [&](Piece& piece) {
    if (piece.gradient.defined()) return;
    piece.gradient = torch::zeros({piece.full.numel()}, piece.shard.options().requires_grad(false));
    for (const Piece::Entry& entry : piece.entries) {
      torch::Tensor parameter = entry.parameter;
      parameter.mutable_grad() =
          piece.gradient.narrow(0, entry.offset, parameter.numel()).view(parameter.sizes());
    }
  });
}

void ZeroUnits::end_gradients(std::size_t unit) {
  torch::NoGradGuard no_grad;
  each_of(unit, [&](Piece& piece) {
    if (!piece.gradient.defined()) return;
    Sum sum{&piece, std::move(piece.gradient), {}, {}};
    piece.gradient = torch::Tensor();
    for (const Piece::Entry& entry : piece.entries) {
      torch::Tensor parameter = entry.parameter;
      parameter.mutable_grad().reset();
    }
    sum.parts = torch::empty_like(sum.sent);
    sum.pending = piece.ranks->exchange_parts(sum.parts, sum.sent);
    sums_.push_back(std::move(sum));
  });
  while (sums_.size() > kSumsUnderWay) finish_one();
}

void ZeroUnits::finish_one() {
  torch::NoGradGuard no_grad;
  Sum sum = std::move(sums_.front());
  sums_.pop_front();
  Communicator& ranks = *sum.piece->ranks;
  ranks.wait(sum.pending);
  torch::Tensor own = sum.piece->shard.grad();
  own.add_(sum.parts.view({ranks.world_size(), -1}).sum(0).view(own.sizes()));
}

void ZeroUnits::finish_gradients() {
  while (!sums_.empty()) finish_one();
}

}  // namespace assay::train
