#pragma once

#include <cstdint>
#include <string>

#include "train/base/torch.h"
#include "train/parallel/communicator.h"
#include "workload/place.h"

namespace assay::train {

/// The ranks of one node that are one worker: they train every trial together, data parallel. The
/// first leads, which means that it speaks with the coordinator; the others do what it says. One
/// rank alone is a group, too, and then nothing is sent. All of them make the same calls in the
/// same order. One thread.
class TrialGroup {
 public:
  /// `devices` ranks each. Throws Error of kind usage when the ranks cannot be shared out so, else
  /// as Communicator does. A rank that is lost ends the process, with its name.
  TrialGroup(const workload::Place& place, int devices, torch::Device device);

  [[nodiscard]] const workload::Place& place() const noexcept { return place_; }  ///< in the group
  [[nodiscard]] int size() const noexcept { return place_.world_size; }
  [[nodiscard]] bool alone() const noexcept { return place_.alone(); }
  [[nodiscard]] bool leads() const noexcept { return place_.rank == 0; }
  [[nodiscard]] int worker() const noexcept { return worker_; }  ///< its number among the groups
  [[nodiscard]] Communicator& communicator() noexcept { return communicator_; }

  /// The leader's text, on all.
  [[nodiscard]] std::string share(std::string text);
  /// Whether it is so on any of them.
  [[nodiscard]] bool any(bool here);

 private:
  workload::Place place_;
  int worker_;
  torch::Device device_;
  Communicator communicator_;
};

}  // namespace assay::train
