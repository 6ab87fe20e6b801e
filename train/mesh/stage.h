#pragma once

#include <functional>
#include <optional>

#include "train/mesh/mesh_groups.h"
#include "train/models/llama.h"

namespace assay::train {

/// This rank's share of a model in a mesh.
[[nodiscard]] LlamaShare share_of(const LlamaOptions& model, MeshGroups& groups);

/// Trains a rank's share of a model with the other ranks of its replica: batches pass through the
/// stages in parts.
class LlamaStage {
 public:
  /// All must outlive this.
  LlamaStage(LlamaImpl& model, MeshGroups& groups, std::int64_t parts, Keep keep)
      : model_(model), groups_(groups), parts_(parts), keep_(keep) {}

  /// LlamaImpl::train_on() for the whole model; all ranks get the loss. Calls `before_last` before
  /// the backward that completes this rank's gradients.
  [[nodiscard]] torch::Tensor train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                       const torch::Tensor& documents, double factor,
                                       const std::function<void()>& before_last);
  /// LlamaImpl::losses() for the whole model on one of its ranks; undefined on the others.
  [[nodiscard]] TokenLosses losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                                   const torch::Tensor& documents);

  /// Seconds that this rank has waited for other stages so far; nothing if there are none.
  [[nodiscard]] std::optional<double> waited_for_stages() const noexcept {
    return groups_.mesh().pipeline > 1 ? std::optional(waited_) : std::nullopt;
  }

 private:
  [[nodiscard]] torch::Tensor receive(Communicator& from, std::int64_t stage,
                                      const torch::Tensor& tokens);

  LlamaImpl& model_;
  MeshGroups& groups_;
  std::int64_t parts_;
  Keep keep_;
  double waited_ = 0;
};

}  // namespace assay::train
