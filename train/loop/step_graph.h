#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// Repeats the same forward and backward. On a CUDA device it does so, after a few plain runs, as a
/// CUDA graph: the host then starts a step's thousand kernels with a single call, whereas starting
/// them individually takes milliseconds, for a small model longer than they run. Single-threaded,
/// on a non-default stream (which prepare_device() ensures).
class StepGraph {
 public:
  /// Returns the loss. Reads the inputs, adds to gradients that stay in place, waits for nothing on
  /// the device, and depends on nothing else except `scale`.
  using Compute = std::function<torch::Tensor(double scale)>;

  /// Runs plainly if `wanted` is false, and on devices other than CUDA.
  StepGraph(torch::Device device, bool wanted);
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;
  ~StepGraph();

  /// The loss from compute(scale), which reads `inputs` (some may be undefined); these may be
  /// replaced by other tensors with the same content. Throws Error of kind internal if the
  /// computation cannot be captured.
  [[nodiscard]] torch::Tensor run(const std::vector<torch::Tensor*>& inputs, double scale,
                                  const Compute& compute);

  /// Whether the last run was a graph's.
  [[nodiscard]] bool replayed() const noexcept { return replayed_; }
  /// Releases the graphs' memory and runs plainly from now on; returns false if there was none.
  bool release();

 private:
  struct Recording;
  using Signature = std::vector<std::int64_t>;
  struct Entry {
    int plain_runs = 0;
    std::unique_ptr<Recording> recording;
  };

  [[nodiscard]] std::unique_ptr<Recording> record(const std::vector<torch::Tensor*>& inputs,
                                                  double scale, const Compute& compute);

  torch::Device device_;
  bool wanted_;
  bool replayed_ = false;
  double scale_ = 0;
  std::map<Signature, Entry> entries_;  // by the inputs' shapes
};

}  // namespace assay::train
