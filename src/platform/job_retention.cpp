#include "platform/job_retention.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/time.h"
#include "engine/execution_folder.h"

namespace assay::platform {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRemovedFile = "logs-removed.json";
constexpr Nanoseconds kDay = std::chrono::hours(24);

void remove_folder(const fs::path& folder) {
  std::error_code ec;
  fs::remove_all(folder, ec);
  if (ec)
    throw Error(ErrorKind::environment, "it could not be removed: " + ec.message(),
                folder.string());
}

Error unseen(const std::error_code& ec, const fs::path& where) {
  return {ErrorKind::environment, "it cannot be looked at: " + ec.message(), where.string()};
}

// Those that are no links; none where `folder` is not there. Whatever cannot be looked at is an
// Error: it may be what is to be removed.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  fs::directory_iterator it(folder, ec);
  if (ec == std::errc::no_such_file_or_directory) return out;
  for (const fs::directory_iterator end; !ec && it != end; it.increment(ec)) {
    std::error_code of_entry;
    const fs::file_type type = it->symlink_status(of_entry).type();
    if (type == fs::file_type::none) throw unseen(of_entry, it->path());
    if (type == fs::file_type::directory) out.push_back(it->path());
  }
  if (ec) throw unseen(ec, folder);
  return out;
}

// Files of the run itself say what came out, and stay; so do results for other programs.
void empty_run(const fs::path& run) {
  const std::string mllog(layout::kMllog.substr(0, layout::kMllog.size() - 1));
  for (const fs::path& folder : folders_in(run))
    if (folder.filename() != mllog) remove_folder(folder);
}

}  // namespace

KeptUntil kept_until(const RetentionPolicy& policy, jobs::WallTime ended_ns) {
  KeptUntil out;
  const auto after = [&](std::int64_t days) { return ended_ns + days * kDay.count(); };
  if (policy.logs_days > 0) out.logs_ns = after(policy.logs_days);
  if (policy.jobs_days > 0) out.job_ns = after(policy.jobs_days);
  return out;
}

LogsRemoval logs_removal(const fs::path& folder) {
  const Json json = parse_json_or_null(read_regular_file_or_empty(folder / kRemovedFile));
  if (!json.is_object() || !json.contains("removed") || !json["removed"].is_string()) return {};
  const auto finished = json.find("finished");
  return {json["removed"].get<std::string>(),
          finished == json.end() || !finished->is_boolean() || finished->get<bool>()};
}

void remove_logs(const fs::path& folder, jobs::WallTime now_ns) {
  const std::vector<fs::path> attempts = folders_in(folder);
  std::error_code ec;
  if (fs::status(folder, ec).type() == fs::file_type::not_found) return;
  const auto note = [&](bool finished) {
    write_file_atomic(
        folder / kRemovedFile,
        dump_pretty(Json{{"removed", iso_utc(now_ns, true)}, {"finished", finished}}) + "\n");
  };
  // Before the first file goes: where this ends in the middle, nobody takes the rest for a log.
  note(false);
  for (const fs::path& one : attempts) {
    const engine::ExecutionFolder attempt(one);
    for (const fs::path& run : folders_in(attempt.runs())) empty_run(run);
    remove_folder(attempt.work());
    remove_folder(attempt.tensorboard());
  }
  note(true);
}

}  // namespace assay::platform
