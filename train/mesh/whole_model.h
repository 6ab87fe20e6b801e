#pragma once

#include <vector>

#include "train/mesh/mesh_groups.h"
#include "train/models/llama.h"
#include "train/optim/flat_parameters.h"

namespace assay::train {

/// Assembles the whole model from the shares of a mesh's ranks.
class WholeModel {
 public:
  /// A parameter of which this rank has a part.
  struct Own {
    const FlatParameters::Entry* entry;
    ParameterCut cut;
    bool counts;  ///< here, and not on other ranks with a share of the same model
  };

  /// `local` are the model's parameters on this rank, with their positions in a buffer. All must
  /// outlive this.
  WholeModel(const LlamaImpl& model, const std::vector<FlatParameters::Entry>& local,
             MeshGroups& groups);

  [[nodiscard]] const std::vector<Own>& own() const noexcept { return own_; }
  /// See ModelShare.
  [[nodiscard]] const std::vector<FlatParameters::Entry>& entries() const noexcept {
    return entries_;
  }
  [[nodiscard]] torch::Tensor gather(const torch::Tensor& local);
  void scatter(const torch::Tensor& whole, const torch::Tensor& local) const;

 private:
  MeshGroups& groups_;
  std::vector<FlatParameters::Entry> entries_;
  std::vector<std::vector<std::int64_t>> shapes_;  // in the order of entries_
  std::int64_t size_ = 0;
  std::vector<Own> own_;
};

}  // namespace assay::train
