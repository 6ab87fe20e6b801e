#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// Runs the same forward and backward again and again. On a CUDA device, after a few plain runs, as
/// a CUDA graph: the host then starts a step's thousand kernels with one call, where starting them
/// one by one takes milliseconds, which for a small model is longer than they run. One thread, on a
/// stream that is not the default one (prepare_device() sees to that).
class StepGraph {
 public:
  /// Gives the loss. Reads the inputs, adds to gradients that stay where they are, waits for
  /// nothing on the device, and does not change with anything else but `scale`.
  using Compute = std::function<torch::Tensor(double scale)>;

  /// Runs plainly when `wanted` is false and on other devices than CUDA.
  StepGraph(torch::Device device, bool wanted);
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;
  ~StepGraph();

  /// The loss of compute(scale). `inputs` (some may be undefined) are what it reads; they may be
  /// left as other tensors with the same contents. Throws Error of kind internal when the
  /// computation cannot be captured.
  [[nodiscard]] torch::Tensor run(const std::vector<torch::Tensor*>& inputs, double scale,
                                  const Compute& compute);

  /// Whether the last run was a graph's.
  [[nodiscard]] bool replayed() const noexcept { return replayed_; }
  /// Gives the graphs' memory back and runs plainly from now on; false when there was none.
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
