#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/parallel/communicator.h"
#include "train/parallel/step_trace.h"

namespace assay::train {

/// Sums the gradients of all ranks while backward is still running. The gradient buffer is divided
/// into buckets in the order in which backward completes them; a bucket's all-reduce starts as soon
/// as it is complete (hooks on the gradient accumulators count). Buckets start in the same order on
/// all ranks, independent of the order of completion.
class GradientReducer {
 public:
  /// The ranks over which a parameter's gradients are summed.
  using RanksOf = std::function<Communicator&(const FlatParameters::Entry&)>;

  /// All must outlive this; `trace` may be nullptr. Does nothing for a single rank. Without
  /// `ranks_of`, all parameters use the communicator's ranks.
  GradientReducer(FlatParameters& parameters, Communicator& communicator,
                  std::int64_t bucket_bytes = 8 << 20, StepTrace* trace = nullptr,
                  const RanksOf& ranks_of = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Call before a backward. If `reduce` is false (all but the last backward of an accumulation),
  /// the gradients stay local.
  void begin(bool reduce);
  /// Call after the backward: starts the remaining reductions (parameters without a gradient) and
  /// waits. The gradients are then sums over all ranks.
  void finish();

  [[nodiscard]] std::size_t buckets() const noexcept { return buckets_.size(); }
  /// Buckets of the last reduction that started before the end of its backward.
  [[nodiscard]] std::size_t overlapped() const noexcept { return overlapped_; }

 private:
  struct Bucket {
    std::int64_t begin = 0;  // in elements of the buffer
    std::int64_t size = 0;
    std::size_t parameters = 0;
    Communicator* ranks = nullptr;
    std::size_t waiting = 0;  // parameters whose gradient is incomplete
    torch::Tensor view;
    Pending pending;
  };
  void arrived(std::size_t bucket);
  void start_complete(bool all);

  Communicator& communicator_;
  StepTrace* trace_;
  std::vector<Bucket> buckets_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // keep the hooks alive
  std::vector<std::uintptr_t> hooks_;
  bool active_ = false;
  std::size_t next_ = 0;  // the first bucket not yet started
  std::size_t overlapped_ = 0;
};

}  // namespace assay::train
