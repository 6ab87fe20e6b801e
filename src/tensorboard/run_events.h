#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/run_watch.h"

namespace assay::tensorboard {

/// The run's curves as event files below `folder`, one folder of TensorBoard's ("run") for each
/// rank and node of a round: CASE/roundN/rankR, CASE/roundN/HOST. Of ranks: loss, learning rate,
/// accuracy, speed and the parts of a step, over the trainer's step numbers; of nodes and devices:
/// utilization, memory, power and temperature, over the seconds of the round. Ranks from
/// live::kDetailedRanks on are left out. One thread.
class RunEvents {
 public:
  RunEvents(std::filesystem::path run, std::filesystem::path folder);
  ~RunEvents();

  /// Takes up what the run has got since, and writes it. Throws Error of kind environment where
  /// that fails; the next look goes on.
  void look();

  /// Event files that there are.
  [[nodiscard]] std::size_t files() const noexcept;

 private:
  struct OfRank;
  struct OfNode;

  std::filesystem::path run_;
  std::filesystem::path folder_;
  live::RunWatch watch_;
  std::vector<std::unique_ptr<OfRank>> ranks_;
  std::vector<std::unique_ptr<OfNode>> nodes_;
};

}  // namespace assay::tensorboard
