#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/run_filter.h"

namespace assay::history {

/// Which runs may be removed; by default none.
struct Retention {
  bool chosen = false;                          ///< selected otherwise: all that are not kept
  std::optional<std::size_t> keep_last{};       ///< keeps this many of the newest
  std::optional<std::int64_t> older_than_ms{};  ///< removes only runs that began before this moment
  bool keep_tagged = false;                     ///< keeps runs with any tag
  std::vector<std::string> keep_tags{};         ///< keeps runs with one of these tags

  [[nodiscard]] bool given() const { return chosen || keep_last || older_than_ms; }
};

/// The runs that may be removed, oldest first. Runs in progress stay; so do runs without a time if
/// only old ones may go, since their age is unknown. Pure.
[[nodiscard]] std::vector<FoundRun> runs_to_remove(const std::vector<FoundRun>& runs,
                                                   const Retention& retention);

}  // namespace assay::history
