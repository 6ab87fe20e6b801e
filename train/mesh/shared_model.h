#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/mesh/mesh_groups.h"
#include "train/models/llama.h"
#include "train/optim/flat_parameters.h"

namespace assay::train {

/// The parameters of a model of which each rank of a mesh has a share: what the ranks have to agree
/// on in each step, and how their shares make the whole.
class SharedModel {
 public:
  /// `parameters` are those of the model. All must outlive this.
  SharedModel(const LlamaImpl& model, FlatParameters& parameters, MeshGroups& groups);

  /// The ranks with other data whose gradients of a parameter are summed.
  [[nodiscard]] Communicator& ranks_of(const FlatParameters::Entry& entry);
  /// Gives all ranks with other data the same values.
  void broadcast();
  /// After the gradients were summed over the ranks with other data: sums those of what several
  /// ranks of a replica have.
  void sum_gradients();
  /// Of the gradients of the whole model, each counted once; as gradient_norm().
  [[nodiscard]] torch::Tensor gradient_norm();

  /// The parameters of the whole model as FlatParameters of one rank have them: names, offsets and
  /// sizes; no tensors.
  [[nodiscard]] const std::vector<FlatParameters::Entry>& entries() const noexcept {
    return entries_;
  }
  /// A buffer of the whole model, on the host, from the ranks' buffers in the order of their
  /// parameters. All ranks call this.
  [[nodiscard]] torch::Tensor gather(const torch::Tensor& own);
  /// This rank's share of a buffer of the whole model.
  void scatter(const torch::Tensor& whole, const torch::Tensor& own) const;

 private:
  struct Own {
    const FlatParameters::Entry* entry;
    ParameterCut cut;
    bool counts;  // here and on no other rank that has a share of the same model
  };

  FlatParameters& parameters_;
  MeshGroups& groups_;
  bool tied_;
  std::vector<ParameterCut> whole_;  // in the order of entries_
  std::vector<FlatParameters::Entry> entries_;
  std::int64_t size_ = 0;
  std::vector<Own> own_;
};

}  // namespace assay::train
