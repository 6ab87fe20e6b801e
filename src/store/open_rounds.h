#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/journal_records.h"

namespace assay::store {

/// A round that has begun but not ended in the journal.
struct OpenRound {
  struct Rank {
    int rank = 0;
    std::string host{};
    int pid = 0;
  };
  RoundName name{};
  std::string id{};                  ///< ASSAY_ROUND_ID of its processes
  std::vector<std::string> hosts{};  ///< by node; empty: a hook on the controller's machine
  /// Ranks that started and have not ended, by number. One that only sleeps is kept, so that it can
  /// be entered.
  std::vector<Rank> ranks{};
  bool hook = false;  ///< on the controller
  bool now = true;    ///< the run has not ended or restarted since

  /// Returns nothing if the rank is not running.
  [[nodiscard]] std::optional<Rank> find(int rank) const;
};

/// In the order in which they began, without cloud jobs, which have no processes here. Pure.
[[nodiscard]] std::vector<OpenRound> open_rounds(const std::vector<Json>& journal);

/// What is running now: the run's last open round that is not a hook. Pure.
[[nodiscard]] std::optional<OpenRound> running_round(const std::vector<Json>& journal);

}  // namespace assay::store
