#pragma once

#include <cstdint>
#include <string>

#include "train/base/torch.h"
#include "train/parallel/communicator.h"
#include "workload/place.h"

namespace assay::train {

/// The ranks of a node that form one worker and train every trial together, data parallel. The
/// first one leads: it talks to the coordinator, and the others follow it. A single rank is also a
/// group and sends nothing. All ranks must make the same calls in the same order. Single-threaded.
class TrialGroup {
 public:
  /// Each group has `devices` ranks. Throws Error of kind usage if the ranks cannot be divided that
  /// way, else like Communicator. A lost rank ends the process and is named.
  TrialGroup(const workload::Place& place, int devices, torch::Device device);

  [[nodiscard]] const workload::Place& place() const noexcept { return place_; }  ///< in the group
  [[nodiscard]] int size() const noexcept { return place_.world_size; }
  [[nodiscard]] bool alone() const noexcept { return place_.alone(); }
  [[nodiscard]] bool leads() const noexcept { return place_.rank == 0; }
  [[nodiscard]] int worker() const noexcept { return worker_; }  ///< this group's number
  [[nodiscard]] Communicator& communicator() noexcept { return communicator_; }

  /// Returns the leader's text on all ranks.
  [[nodiscard]] std::string share(std::string text);
  /// Whether it is true on any rank.
  [[nodiscard]] bool any(bool here);

 private:
  workload::Place place_;
  int worker_;
  torch::Device device_;
  Communicator communicator_;
};

}  // namespace assay::train
