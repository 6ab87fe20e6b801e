#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "automl/trial_status.h"
#include "core/json.h"

namespace assay::automl {

/// What a worker did for a while; seconds since the experiment began.
struct WorkerSpan {
  enum class Kind : std::uint8_t {
    train,  ///< a trial, from its hand-out to its end
    lost,   ///< the same, but nothing came of it: the worker was lost
    wait,   ///< between two trials
    idle,   ///< before its first trial and after its last one
  };
  Kind kind = Kind::idle;
  double from_s = 0;
  double to_s = 0;
  std::int64_t trial = -1;              ///< of train and lost
  std::optional<TrialStatus> status{};  ///< of the attempt; nothing when no end was recorded
};

/// One rank; several workers of the same rank, one after the other, are one line with gaps.
struct WorkerLine {
  int rank = 0;
  std::string host;                ///< of the last one
  std::vector<WorkerSpan> spans;   ///< in order, without overlap
  std::vector<double> departures;  ///< when it was lost before the end
  [[nodiscard]] double seconds(WorkerSpan::Kind kind) const noexcept;
};

/// The lines by rank. A trial that is handed out while its worker still sends the results of the
/// one before begins, here, when that ends. Pure; fields of a wrong type are ignored.
[[nodiscard]] std::vector<WorkerLine> timeline_of(const std::vector<Json>& events);

}  // namespace assay::automl
