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
  std::optional<std::size_t> keep_last{};  ///< the newest so many stay
  std::optional<std::int64_t> older_than_ms{};  ///< only those that began before this moment go
  bool keep_tagged = false;                     ///< those with any tag stay
  std::vector<std::string> keep_tags{};         ///< those with one of these tags stay

  [[nodiscard]] bool given() const { return chosen || keep_last || older_than_ms; }
};

/// The runs that may go, oldest first. Those that go on stay, and so does what has no time when
/// only old ones may go: it cannot be told to be old. Pure.
[[nodiscard]] std::vector<FoundRun> runs_to_remove(const std::vector<FoundRun>& runs,
                                                   const Retention& retention);

}  // namespace assay::history
