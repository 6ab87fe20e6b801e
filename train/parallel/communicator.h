#pragma once

#include <memory>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "core/enum_names.h"
#include "train/base/torch.h"
#include "train/parallel/membership.h"
#include "workload/place.h"

namespace assay::train {

/// A collective operation in progress.
class Pending {
 public:
  Pending() = default;
  /// `what` is for messages; `kept` is kept alive until the operation ends.
  Pending(c10::intrusive_ptr<c10d::Work> work, const char* what,
          std::vector<torch::Tensor> kept = {})
      : work_(std::move(work)), what_(what), kept_(std::move(kept)) {}
  [[nodiscard]] const c10::intrusive_ptr<c10d::Work>& work() const noexcept { return work_; }
  [[nodiscard]] const char* what() const noexcept { return what_; }
  [[nodiscard]] bool started() const noexcept { return static_cast<bool>(work_); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  const char* what_ = "";
  std::vector<torch::Tensor> kept_;
};

/// The backend of collective operations. Gloo goes through host memory, even on CUDA devices:
/// slower than NCCL, but ranks may share a device.
enum class Collectives { automatic, gloo, nccl };

constexpr auto enum_names(Collectives /*collectives*/) {
  using enum Collectives;
  return std::to_array<EnumName<Collectives>>(
      {{automatic, "auto"}, {gloo, "gloo"}, {nccl, "nccl"}});
}

/// Collective operations among all ranks: Gloo on the CPU, NCCL on CUDA devices, unless the options
/// say otherwise. A single process needs neither, and all operations do nothing. All ranks must
/// call the same operations in the same order. Every failure is an Error of kind round_failed that
/// names the rank at fault.
class Communicator {
 public:
  struct Options {
    MembershipOptions membership;
    Collectives collectives = Collectives::automatic;
    /// The time limit for one operation.
    std::chrono::milliseconds timeout = std::chrono::minutes(10);
  };

  Communicator(const workload::Place& place, torch::Device device, const Options& options,
               Membership::OnLost on_lost);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const noexcept { return place_.rank; }
  [[nodiscard]] int world_size() const noexcept { return place_.world_size; }
  [[nodiscard]] bool alone() const noexcept { return place_.alone(); }
  [[nodiscard]] Collectives collectives() const noexcept { return collectives_; }

  /// Sums `tensor` over all ranks in place; do not touch it before wait().
  [[nodiscard]] Pending all_reduce(const torch::Tensor& tensor);
  /// On CUDA the current stream waits rather than the caller.
  void wait(const Pending& pending);
  /// Copies rank 0's tensor to all ranks.
  void broadcast(const torch::Tensor& tensor);
  /// Completes `tensor` (contiguous, its size divisible by the number of ranks) on all ranks; each
  /// rank provides the part with its number.
  void all_gather(const torch::Tensor& tensor);
  /// The same from each rank's `part` into `all` (size() times as large); do not touch either
  /// before wait().
  [[nodiscard]] Pending all_gather(const torch::Tensor& all, const torch::Tensor& part);
  /// Sums `all` over the ranks; `part` becomes the part with this rank's number. Waits.
  void reduce_scatter(const torch::Tensor& part, const torch::Tensor& all);
  /// Sends the first sent[0] rows of `rows` to rank 0, the next sent[1] to rank 1, …; `into`
  /// receives their rows, received[i] from rank i. Waits.
  void all_to_all(const torch::Tensor& into, const torch::Tensor& rows,
                  std::vector<std::int64_t> sent, std::vector<std::int64_t> received);
  /// Sends part i of `parts`, which has one per rank, to rank i; `into` receives the others' parts.
  /// This is the first half of a reduce-scatter, whose other half is their sum. Do not touch either
  /// before wait().
  [[nodiscard]] Pending exchange_parts(const torch::Tensor& into, const torch::Tensor& parts);
  /// Takes the element-wise maximum over the ranks in place; waits.
  void largest(const torch::Tensor& tensor);
  /// Sends to another rank, which receives this rank's tensors in the order of sending.
  [[nodiscard]] Pending send(const torch::Tensor& tensor, int rank);
  void receive(const torch::Tensor& tensor, int rank);
  /// Exact sums of counts over all ranks; waits.
  [[nodiscard]] std::vector<std::int64_t> sum(std::vector<std::int64_t> counts);
  [[nodiscard]] std::vector<double> sum(const std::vector<double>& values);
  /// The ranks' texts in rank order; waits.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text);
  void barrier();
  /// Throws Error of kind environment on all ranks if any has a `value` other than rank 0's.
  void agree(const std::string& what, std::int64_t value);

  /// A communicator for these ranks (ascending, including this one); `name` must be the same for
  /// them and differ from other groups'. Called by all of them. Must not outlive this.
  [[nodiscard]] std::unique_ptr<Communicator> among(const std::vector<int>& ranks,
                                                    const std::string& name) const;

  /// Seconds that callers have waited so far for operations of this and of those made with among().
  /// On CUDA devices, excludes waits of streams.
  [[nodiscard]] double waited() const noexcept { return *waited_; }

  /// Tells the other ranks why this one is ending.
  void report_failure(const std::string& message) noexcept;

 private:
  class Backend;
  Communicator(const Communicator& all, const std::vector<int>& ranks, const std::string& name);

  workload::Place place_;
  torch::Device device_;
  Collectives collectives_;
  std::chrono::milliseconds timeout_{};
  template <typename F>
  auto guarded(const char* what, const F& operation);

  std::shared_ptr<Membership> membership_;  // must be destroyed after backend_
  std::shared_ptr<double> waited_ = std::make_shared<double>(0);
  std::unique_ptr<Backend> backend_;
};

}  // namespace assay::train
