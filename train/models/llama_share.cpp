#include "train/models/llama_share.h"

namespace assay::train {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

// This rank's part of each of the consecutive ranges.
std::vector<Range> parts_of(const std::vector<std::int64_t>& sizes, const LlamaShare& share) {
  std::vector<Range> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const std::int64_t own = size / share.tensor_size();
    parts.emplace_back(begin + share.tensor_rank() * own, own);
    begin += size;
  }
  return parts;
}

class CutList {
 public:
  CutList(const LlamaOptions& model, const LlamaShare& share) : model_(model), share_(share) {}

  // A parameter split by rows or columns, of which several sets follow each other.
  void split(const std::string& name, std::vector<std::int64_t> shape, std::int64_t dimension,
             const std::vector<std::int64_t>& sizes, bool counts = true, bool expert = false) {
    ParameterCut cut{name, std::move(shape), dimension, {}, counts, expert};
    cut.ranges = parts_of(sizes, share_);
    cuts.push_back(std::move(cut));
  }
  // Present on all ranks of `tensor`; the first one's counts.
  void whole(const std::string& name, std::vector<std::int64_t> shape) {
    cuts.push_back({name, std::move(shape), 0, {}, share_.tensor_rank() == 0, false});
  }

  void block(std::int64_t layer) {
    const std::string name = "blocks." + std::to_string(layer) + ".";
    const std::int64_t width = model_.width;
    const std::int64_t keys = model_.kv_heads * model_.head();
    whole(name + "norm1", {width});
    split(name + "qkv", {model_.qkv(), width}, 0, {width, keys, keys});
    if (model_.qk_norm) {
      whole(name + "q_norm", {model_.head()});
      whole(name + "k_norm", {model_.head()});
    }
    split(name + "out", {width, width}, 1, {width});
    whole(name + "norm2", {width});
    if (model_.experts == 0) return mlp(name, false);
    whole(name + "mixture.router", {model_.experts, width});
    for (std::int64_t i = 0; i < model_.experts; ++i)
      if (share_.has_expert(model_, i))
        mlp(name + "mixture." + std::to_string(i) + ".", share_.expert != nullptr);
  }

  std::vector<ParameterCut> cuts;

 private:
  void mlp(const std::string& name, bool expert) {
    const std::int64_t inner = model_.inner;
    split(name + "gate_up", {2 * inner, model_.width}, 0, {inner, inner}, true, expert);
    split(name + "down", {model_.width, inner}, 1, {inner}, true, expert);
  }

  const LlamaOptions& model_;
  const LlamaShare& share_;
};

}  // namespace

bool LlamaShare::has_expert(const LlamaOptions& model, std::int64_t index) const {
  return expert == nullptr || index / (model.experts / expert->size()) == expert->rank();
}

torch::Tensor cut_from(const torch::Tensor& whole, const ParameterCut& cut) {
  if (cut.ranges.empty()) return whole.clone();
  std::vector<torch::Tensor> parts;
  for (const auto& [begin, size] : cut.ranges)
    parts.push_back(whole.narrow(cut.dimension, begin, size));
  return torch::cat(parts, cut.dimension);
}

void put_into(const torch::Tensor& whole, const torch::Tensor& part, const ParameterCut& cut) {
  torch::NoGradGuard no_grad;
  if (cut.ranges.empty()) {
    whole.copy_(part);
    return;
  }
  std::int64_t at = 0;
  for (const auto& [begin, size] : cut.ranges) {
    whole.narrow(cut.dimension, begin, size).copy_(part.narrow(cut.dimension, at, size));
    at += size;
  }
}

std::vector<ParameterCut> cuts_of(const LlamaOptions& model, const LlamaShare& share) {
  CutList list(model, share);
  const std::vector<std::int64_t> words{model.vocabulary, model.width};
  const bool last = share.last(model);
  // With several stages, a tied matrix is in the first and the last.
  if (share.first() || (last && model.tied))
    list.split("embedding", words, 0, {model.vocabulary}, share.first());
  for (std::int64_t layer = share.first_layer; layer < share.end_layer(model); ++layer)
    list.block(layer);
  if (last) list.whole("norm", {model.width});
  if (last && !model.tied) list.split("output", words, 0, {model.vocabulary});
  return std::move(list.cuts);
}

}  // namespace assay::train
