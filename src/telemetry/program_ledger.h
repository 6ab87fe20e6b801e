#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "telemetry/process_times.h"

namespace assay::telemetry {

/// Adds up the CPU time of processes from listings that are taken now and then. A process that
/// ended between two of them is seen in the time of its parent, which waited for it; what that
/// time holds of before the first listing, or was counted already, is taken out. Pure.
class ProgramLedger {
 public:
  struct Entry {
    ProcessTimes last;
    double used_s = 0;           ///< since the first listing, with children that were not seen
    std::optional<uid_t> uid{};  ///< for the caller to fill
    bool present = true;         ///< in the newest listing
  };

  /// `processes`: those to be counted, all of them. The first listing is where counting begins.
  void observe(std::span<const ProcessTimes> processes);

  /// By pid; a pid that was given away again has its newest process here, the earlier one in ended.
  [[nodiscard]] std::map<pid_t, Entry>& entries() noexcept { return entries_; }
  [[nodiscard]] const std::map<pid_t, Entry>& entries() const noexcept { return entries_; }
  /// The largest of those that ended.
  [[nodiscard]] const std::vector<Entry>& ended() const noexcept { return ended_; }

 private:
  void end(Entry entry);

  std::map<pid_t, Entry> entries_;
  std::vector<Entry> ended_;  // those that used something, of a bounded number
  bool begun_ = false;
};

}  // namespace assay::telemetry
