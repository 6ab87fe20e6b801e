#include "platform/job_retention.h"

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

// Files of the run itself say what came out, and stay; so do results for other programs.
void empty_run(const fs::path& run) {
  const std::string mllog(layout::kMllog.substr(0, layout::kMllog.size() - 1));
  std::error_code ec;
  for (fs::directory_iterator it(run, ec), end; !ec && it != end; it.increment(ec))
    if (it->is_directory() && !it->is_symlink() && it->path().filename() != mllog)
      remove_folder(it->path());
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
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (!it->is_directory() || it->is_symlink()) continue;
    const engine::ExecutionFolder attempt(it->path());
    empty_run(attempt.run());
    remove_folder(attempt.work());
    remove_folder(attempt.tensorboard());
  }
  if (!fs::exists(folder, ec)) return;
  write_file_atomic(folder / kRemovedFile,
                    dump_pretty(Json{{"removed", iso_utc(now_ns, true)}}) + "\n");
}

}  // namespace assay::platform
