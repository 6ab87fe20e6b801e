#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "telemetry/process_times.h"

namespace assay::telemetry {

/// Adds up the processes' CPU time from occasional listings. A process that ended between two of
/// them shows in the time of the parent that waited for it; the parts of that time from before the
/// first listing, or already counted, are removed. Pure.
class ProgramLedger {
 public:
  struct Entry {
    ProcessTimes last;
    double used_s = 0;           ///< since the first listing, including unseen children
    std::optional<uid_t> uid{};  ///< filled in by the caller
    bool present = true;         ///< in the newest listing
  };

  /// `processes` must be all that are to be counted. Counting begins with the first listing.
  void observe(std::span<const ProcessTimes> processes);

  /// By pid. If a pid was reused, its newest process is here and the earlier one in ended.
  [[nodiscard]] std::map<pid_t, Entry>& entries() noexcept { return entries_; }
  [[nodiscard]] const std::map<pid_t, Entry>& entries() const noexcept { return entries_; }
  /// The largest of the ended ones.
  [[nodiscard]] const std::vector<Entry>& ended() const noexcept { return ended_; }

 private:
  void end(Entry entry);

  std::map<pid_t, Entry> entries_;
  std::vector<Entry> ended_;  // a bounded number of those that used something
  bool begun_ = false;
};

}  // namespace assay::telemetry
