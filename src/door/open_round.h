#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::door {

/// What runs of a job at the moment, by its run's journal.
struct OpenRound {
  struct Rank {
    int rank = 0;
    std::string host{};
    int pid = 0;
  };
  std::string id{};           ///< ASSAY_ROUND_ID
  std::vector<Rank> ranks{};  ///< those that have started and not ended, by their number

  /// Nothing: it does not run (any more).
  [[nodiscard]] std::optional<Rank> find(int rank) const;
};

/// The last round that has begun and not ended; nothing where there is none. Hooks do not count.
/// Pure.
[[nodiscard]] std::optional<OpenRound> open_round(const std::vector<Json>& journal);

}  // namespace assay::door
