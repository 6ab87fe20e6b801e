#include "site/copied_folder.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::site {

namespace {

constexpr const char* kResume = "assay serve --resume-queue";

std::string original_of(const platform::FolderOrigin& origin) {
  return origin.of.empty() ? "another folder" : printable(origin.of);
}

platform::Platform::CopyWords words_for(const platform::FolderOrigin& origin) {
  return {
      .ran = origin.backup ? "was running when the backup was made"
                           : "was running when the folder was copied",
      .waits = fmt::format("held, because the server works with a copy of {}; its owner lets it "
                           "go on by resuming it, an administrator everything with '{}'",
                           original_of(origin), kResume)};
}

void let_go(const platform::Held& held, platform::Platform& platform,
            platform::Schedules& schedules) {
  for (const jobs::JobId id : held.jobs) {
    const auto found = platform.find(id);
    // It may have been resumed, killed or removed since then.
    if (found && found->job.life.state == jobs::State::paused)
      (void)platform.ask(id, jobs::EventKind::resume_asked, "");
  }
  schedules.release(held.schedules, wall_now_ns());
}

std::string amount_of(const platform::Held& held) {
  return fmt::format("{} and {}", counted(held.jobs.size(), "job"),
                     counted(held.schedules.size(), "schedule"));
}

// Jobs that have been released or removed are no longer held.
platform::Held still_held(const platform::Held& held, platform::Platform& platform,
                          platform::Schedules& schedules) {
  platform::Held out;
  for (const jobs::JobId id : held.jobs)
    if (const auto found = platform.find(id); found && found->job.life.state == jobs::State::paused)
      out.jobs.push_back(id);
  for (const platform::Schedule& one : schedules.of({}))
    for (const platform::Held::OfSchedule& other : held.schedules)
      if (one.paused && one.owner == other.owner && one.name == other.name)
        out.schedules.push_back(other);
  return out;
}

}  // namespace

void settle_folder(const std::filesystem::path& data, const platform::FolderOrigin& origin,
                   bool resume, platform::Platform& platform, platform::Schedules& schedules,
                   const std::function<void(const std::string&)>& say) {
  resume = resume || origin.resume;
  platform::Held held = still_held(origin.held, platform, schedules);
  if (origin.copied) {
    const auto words = words_for(origin);
    const auto copied = platform.begin_as_copy(words, origin.at_ns, !resume);
    held.jobs.insert(held.jobs.end(), copied.paused.begin(), copied.paused.end());
    if (!resume)
      for (auto& one : schedules.hold(words.waits)) held.schedules.push_back(std::move(one));
    say(fmt::format("warning: this folder is a copy of {}", original_of(origin)));
    if (copied.lost > 0)
      say(
          fmt::format("warning: {} {}: in the copy that attempt is over, and what runs for the "
                      "original is left alone",
                      counted(copied.lost, "job"), words.ran));
  }
  if (resume) {
    let_go(held, platform, schedules);
    held = {};
  }
  if (!held.empty())
    say(
        fmt::format("warning: {} are held, because they may run in the original too; '{}' lets "
                    "them go on, 'assay resume JOB' one of them, which its owner may do, too",
                    amount_of(held), kResume));
  // Written only if necessary, because a server must start on a full disk, too.
  if (origin.copied || !origin.used || held != origin.held) platform::own_folder(data, held);
}

}  // namespace assay::site
