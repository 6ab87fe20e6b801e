#pragma once

#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// The parameters of a model of which each rank has a part: the ranks' joint work in each step, and
/// how their parts make up the whole. All ranks call the same operations.
class ModelShare {
 public:
  ModelShare() = default;
  ModelShare(const ModelShare&) = delete;
  ModelShare& operator=(const ModelShare&) = delete;
  virtual ~ModelShare() = default;

  /// Whether gradients are already summed over the ranks with other data during backward.
  [[nodiscard]] virtual bool sums_itself() const { return false; }
  /// The ranks with other data over which a parameter's gradients are summed.
  [[nodiscard]] virtual Communicator& ranks_of(const FlatParameters::Entry& entry) = 0;
  /// Makes the values equal on all ranks with other data.
  virtual void broadcast() = 0;
  /// After the gradients were summed over the ranks with other data, sums those of parameters that
  /// several ranks of a replica have.
  virtual void sum_gradients() = 0;
  /// The norm over the whole model's gradients, each counted once; like gradient_norm().
  [[nodiscard]] virtual torch::Tensor gradient_norm() = 0;
  /// Called when the parameters have new values.
  virtual void updated() {}

  /// The whole model's parameters as in FlatParameters of a single rank: names, offsets and sizes,
  /// but no tensors.
  [[nodiscard]] virtual const std::vector<FlatParameters::Entry>& entries() const noexcept = 0;
  /// Assembles a buffer of the whole model, on the host, from the ranks' buffers in parameter
  /// order.
  [[nodiscard]] virtual torch::Tensor gather(const torch::Tensor& own) = 0;
  /// Extracts this rank's part from a buffer of the whole model.
  virtual void scatter(const torch::Tensor& whole, const torch::Tensor& own) = 0;
};

}  // namespace assay::train
