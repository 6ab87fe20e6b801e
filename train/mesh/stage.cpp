#include "train/mesh/stage.h"

#include "train/mesh/pipeline_schedule.h"

namespace assay::train {

LlamaShare share_of(const LlamaOptions& model, MeshGroups& groups) {
  LlamaShare share;
  share.layers = model.layers / groups.mesh().pipeline;
  share.first_layer = groups.place().pipeline * share.layers;
  share.tensor = groups.tensor();
  share.expert = groups.expert();
  return share;
}

// Receives another stage's data for this part of the batch.
torch::Tensor LlamaStage::receive(Communicator& from, std::int64_t stage,
                                  const torch::Tensor& tokens) {
  torch::Tensor into =
      torch::empty({tokens.size(0), tokens.size(1) / groups_.mesh().tensor, model_.options().width},
                   torch::TensorOptions(model_.type()).device(tokens.device()));
  const double before = from.waited();
  from.receive(into, static_cast<int>(stage));
  waited_ += from.waited() - before;
  return into;
}

torch::Tensor LlamaStage::train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                   const torch::Tensor& documents, double factor,
                                   const std::function<void()>& before_last) {
  const std::int64_t stage = groups_.place().pipeline;
  const std::int64_t rows = tokens.size(0) / parts_;
  const double each = factor / static_cast<double>(parts_);
  const auto part_of = [&](const torch::Tensor& all, std::int64_t part) {
    return all.defined() ? all.narrow(0, part * rows, rows) : all;
  };
  const bool first = groups_.first_stage();
  const bool last = groups_.last_stage();
  std::vector<LlamaPass> passes(static_cast<std::size_t>(parts_));
  std::vector<torch::Tensor> gradients(static_cast<std::size_t>(parts_));
  std::vector<Pending> sent;
  torch::Tensor loss =
      torch::zeros({}, torch::TensorOptions(torch::kFloat).device(tokens.device()));

  model_.begin_batch();
  for (const auto& [kind, part] :
       one_forward_one_backward(groups_.mesh().pipeline, stage, parts_)) {
    LlamaPass& pass = passes[static_cast<std::size_t>(part)];
    torch::Tensor& gradient = gradients[static_cast<std::size_t>(part)];
    const torch::Tensor own = part_of(tokens, part);
    if (kind == PipelineStep::Kind::forward) {
      const torch::Tensor in = first ? torch::Tensor() : receive(groups_.down(), stage - 1, own);
      pass = model_.forward(own, part_of(documents, part), in, each, keep_);
      if (last)
        loss += model_.loss(pass, part_of(labels, part), each, gradient);
      else
        sent.push_back(groups_.down().send(LlamaImpl::given(pass), static_cast<int>(stage + 1)));
      continue;
    }
    if (!last) gradient = receive(groups_.up(), stage + 1, own);
    if (part + 1 == parts_) before_last();
    const torch::Tensor up = model_.backward(pass, std::move(gradient));
    pass = {};
    if (!first) sent.push_back(groups_.up().send(up.contiguous(), static_cast<int>(stage - 1)));
  }
  loss /= static_cast<double>(parts_);
  if (groups_.mesh().pipeline == 1) return loss;
  // Stages that end first wait here for the others, as at the start they wait for their input.
  const double before = groups_.down().waited();
  for (const Pending& pending : sent) groups_.down().wait(pending);
  groups_.down().wait(groups_.down().all_reduce(loss));
  waited_ += groups_.down().waited() - before;
  return loss;
}

TokenLosses LlamaStage::losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                               const torch::Tensor& documents) {
  const std::int64_t stage = groups_.place().pipeline;
  const torch::Tensor in =
      groups_.first_stage() ? torch::Tensor() : receive(groups_.down(), stage - 1, tokens);
  const torch::Tensor out = model_.evaluate(tokens, documents, in);
  if (!groups_.last_stage()) {
    groups_.down().wait(groups_.down().send(out, static_cast<int>(stage + 1)));
    return {};
  }
  const TokenLosses losses = model_.losses_of(out, labels);
  return groups_.place().tensor == 0 ? losses : TokenLosses{};
}

}  // namespace assay::train
