#pragma once

#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// The parameters of a model of which each rank has a part: what the ranks have to do together in
/// each step, and how their parts make the whole. All ranks call the same operations.
class ModelShare {
 public:
  ModelShare() = default;
  ModelShare(const ModelShare&) = delete;
  ModelShare& operator=(const ModelShare&) = delete;
  virtual ~ModelShare() = default;

  /// Whether gradients are summed over the ranks with other data during backward already.
  [[nodiscard]] virtual bool sums_itself() const { return false; }
  /// The ranks with other data whose gradients of a parameter are summed.
  [[nodiscard]] virtual Communicator& ranks_of(const FlatParameters::Entry& entry) = 0;
  /// Gives all ranks with other data the same values.
  virtual void broadcast() = 0;
  /// After the gradients were summed over the ranks with other data: sums those of what several
  /// ranks of a replica have.
  virtual void sum_gradients() = 0;
  /// Of the gradients of the whole model, each counted once; as gradient_norm().
  [[nodiscard]] virtual torch::Tensor gradient_norm() = 0;
  /// The parameters have new values.
  virtual void updated() {}

  /// The parameters of the whole model as FlatParameters of one rank have them: names, offsets and
  /// sizes; no tensors.
  [[nodiscard]] virtual const std::vector<FlatParameters::Entry>& entries() const noexcept = 0;
  /// A buffer of the whole model, on the host, from the ranks' buffers in the order of their
  /// parameters.
  [[nodiscard]] virtual torch::Tensor gather(const torch::Tensor& own) = 0;
  /// This rank's part of a buffer of the whole model.
  virtual void scatter(const torch::Tensor& whole, const torch::Tensor& own) = 0;
};

}  // namespace assay::train
