#include "platform/job_retention.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
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

bool logs_are_removed(const fs::path& folder) {
  std::error_code ec;
  return fs::exists(folder / kRemovedFile, ec);
}

void remove_logs(const fs::path& folder, jobs::WallTime now_ns) {
  for (const fs::path& one : folders_in(folder)) {
    const engine::ExecutionFolder attempt(one);
    for (const fs::path& run : folders_in(attempt.runs())) empty_run(run);
    remove_folder(attempt.work());
    remove_folder(attempt.tensorboard());
  }
  std::error_code ec;
  const fs::file_type type = fs::status(folder, ec).type();
  if (type == fs::file_type::not_found) return;
  write_file_atomic(folder / kRemovedFile,
                    dump_pretty(Json{{"removed", iso_utc(now_ns, true)}}) + "\n");
}

}  // namespace assay::platform
