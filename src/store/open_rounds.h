#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/journal_records.h"

namespace assay::store {

/// A round that has begun and has no end in the journal.
struct OpenRound {
  struct Rank {
    int rank = 0;
    std::string host{};
    int pid = 0;
  };
  RoundName name{};
  std::string id{};                  ///< ASSAY_ROUND_ID of its processes
  std::vector<std::string> hosts{};  ///< by node; empty: a hook on the machine of the controller
  /// Those that have started and not ended, by their number. One that only sleeps any more is kept
  /// so that it can be entered.
  std::vector<Rank> ranks{};
  bool hook = false;  ///< of the controller
  bool now = true;    ///< the run has not ended or begun anew since

  /// Nothing: it does not run (any more).
  [[nodiscard]] std::optional<Rank> find(int rank) const;
};

/// In the order in which they began; jobs of a cloud, which have no processes here, are none of
/// them. Pure.
[[nodiscard]] std::vector<OpenRound> open_rounds(const std::vector<Json>& journal);

/// What runs at the moment: the last one of this run, hooks apart. Pure.
[[nodiscard]] std::optional<OpenRound> running_round(const std::vector<Json>& journal);

}  // namespace assay::store
