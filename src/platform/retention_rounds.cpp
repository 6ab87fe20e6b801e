#include "platform/retention_rounds.h"

#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "core/units.h"

namespace assay::platform {

namespace {

// Less than the shortest time that something is kept for by far, and more than clocks are set by.
constexpr Nanoseconds kFarAhead = std::chrono::hours(1);
// A server that did nothing for so long may have a wrong clock, or have been switched off.
constexpr Nanoseconds kLongIdle = std::chrono::hours(7 * 24);

std::string shown(const Removal& removal) {
  return fmt::format("{} and the logs of {}", counted(removal.jobs, "job"),
                     counted(removal.logs, "job"));
}

}  // namespace

RetentionRounds::RetentionRounds(Parts parts) : parts_(std::move(parts)), clock_(parts_.clocks()) {}

jobs::WallTime RetentionRounds::newest_ns() {
  const std::vector<jobs::JobRow> rows = parts_.platform.list({.limit = 1}).rows;
  return rows.empty() ? 0 : std::max(rows.front().submitted_ns, rows.front().ended_ns);
}

void RetentionRounds::say_ahead() {
  const jobs::WallTime now_ns = parts_.clocks().wall_ns;
  const jobs::WallTime newest = newest_ns();
  remove(now_ns, true,
         now_ns - newest > kLongIdle.count()
             ? fmt::format("by the clock of this machine the last job was {} ago",
                           format_duration(Nanoseconds(now_ns - newest)))
             : "");
}

bool RetentionRounds::remove() {
  const Clocks now = parts_.clocks();
  const Nanoseconds by = clock_.set_by(now);
  clock_.take(by);
  const bool ahead = by >= kFarAhead;
  remove(now.wall_ns, ahead,
         ahead ? fmt::format("the clock of this machine was set ahead by {}", format_duration(by))
               : "");
  return !ahead;
}

void RetentionRounds::remove(jobs::WallTime now_ns, bool only_say, const std::string& why_look) {
  try {
    const Removal removal = parts_.platform.remove_old(now_ns, only_say, parts_.ending);
    const std::string next = iso_utc(now_ns + parts_.every.count());
    if (removal.logs + removal.jobs > 0 && !why_look.empty())
      parts_.say(
          fmt::format("warning: retention: {}; {} will be removed at {}: set the clock "
                      "before if it is wrong",
                      why_look, shown(removal), next));
    else if (removal.logs + removal.jobs > 0 && only_say)
      parts_.say(fmt::format("note: retention: {} will be removed at {}", shown(removal), next));
    else if (removal.logs + removal.jobs > 0)
      parts_.say(fmt::format("note: retention: {} were removed", shown(removal)));
    if (removal.failed > 0)
      parts_.say(fmt::format("warning: retention: of {} not everything could be removed: {}",
                             counted(removal.failed, "job"), printable(removal.first_why)));
  } catch (const std::exception& error) {
    parts_.say(fmt::format("warning: nothing old is removed: {}", error.what()));
  }
}

}  // namespace assay::platform
