#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "live/metric_readers.h"
#include "live/run_watch.h"
#include "perflog/event.h"

namespace assay::exports {

/// A run's current files: its rounds, logs and telemetry. Throws Error of kind usage if the folder
/// is not a run or contains nothing from a rank or node.
class RunFiles {
 public:
  explicit RunFiles(const std::filesystem::path& run);

  [[nodiscard]] const live::RunWatch& watch() const noexcept { return watch_; }
  /// Only ranks' logs, by case, round and rank.
  [[nodiscard]] std::vector<live::LogFile> ranks() const;
  [[nodiscard]] const live::WatchedRound& round_of(std::size_t index) const {
    return watch_.rounds()[index];
  }
  [[nodiscard]] bool is_round(std::size_t index, const std::string& case_name, int round) const {
    return round_of(index).case_name == case_name && round_of(index).round == round;
  }

 private:
  live::RunWatch watch_;
};

/// 64 hex digits, always the same for a round, and different for every other.
[[nodiscard]] std::string round_id(const std::string& run_id, const std::string& case_name,
                                   int round);

/// A rank's curve where all ranks of a round are together: "train/loss" of rank 0,
/// "rank3/train/loss" of the others; of a trial that it trained, "rank3/trial7/train/loss".
[[nodiscard]] std::string curve_of_rank(int rank, live::MetricName name,
                                        live::Scope scope = live::Scope::rank, int item = -1);

/// A rank's event, with its time in Unix seconds on the controller's clock.
using OnEvent = std::function<void(const perflog::Event& event, double t)>;

/// Reads every event with a time in a rank's log and its rotated parts, in order. Durations are on
/// the rank's monotonic clock.
void read_rank_log(const live::LogFile& log, double clock_offset, const OnEvent& on_event);

}  // namespace assay::exports
