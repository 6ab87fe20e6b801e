#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/run_filter.h"

namespace assay::history {

/// Which runs may go. Nothing given: none.
struct Retention {
  bool chosen = false;                     ///< they were chosen otherwise: all that is not kept
  std::optional<std::size_t> keep_last{};  ///< this many of the newest stay
  std::optional<std::int64_t> older_than_ms{};  ///< only those that began before this moment go
  bool keep_tagged = false;                     ///< those with any tag stay
  std::vector<std::string> keep_tags{};         ///< those with one of these tags stay

  [[nodiscard]] bool given() const { return chosen || keep_last || older_than_ms; }
};

/// The runs that may be removed, oldest first. Runs in progress stay, and so do runs of unknown
/// time if only old ones may be removed. Pure.
[[nodiscard]] std::vector<FoundRun> runs_to_remove(const std::vector<FoundRun>& runs,
                                                   const Retention& retention);

}  // namespace assay::history
