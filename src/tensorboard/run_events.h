#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/run_watch.h"

namespace assay::tensorboard {

/// The run's curves as event files below `folder`, with one TensorBoard folder ("run") per rank and
/// node of a round: CASE/roundN/rankR, CASE/roundN/HOST. For ranks: loss, learning rate, accuracy,
/// speed and the parts of a step, over the trainer's step numbers; for nodes and devices:
/// utilization, memory, power and temperature, over the seconds of the round. Excludes ranks from
/// live::kDetailedRanks on. Single-threaded.
class RunEvents {
 public:
  RunEvents(std::filesystem::path run, std::filesystem::path folder);
  ~RunEvents();

  /// Writes what the run has added since the last call. Throws Error of kind environment on
  /// failure; the next call continues.
  void look();

  /// The number of event files.
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
