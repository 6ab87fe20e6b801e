#include "engine/sweep_execution.h"

#include <array>
#include <exception>

#include <fcntl.h>
#include <poll.h>

#include "core/files.h"
#include "core/process_tree.h"
#include "core/subprocess.h"

namespace assay::engine {

namespace {

constexpr Nanoseconds kSweepLimit = std::chrono::minutes(2);
constexpr int kSweeps = 100;

/// Whether somebody is left who ends the execution's ranks by himself.
bool an_agent_lives(const std::string& mark) {
  for (const pid_t pid : processes_with(kExecutionVariable, mark))
    if (read_file_or_empty("/proc/" + std::to_string(pid) + "/comm").starts_with("assay"))
      return true;
  return false;
}

// Without descriptors all of /proc looks empty.
bool can_look() {
  const std::array<UniqueFd, 2> both{UniqueFd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                                     UniqueFd(::open("/proc/self/environ", O_RDONLY | O_CLOEXEC))};
  return both[0] && both[1];
}

bool sweep(const ExecutionFolder& folder, const std::filesystem::path& bindir, Nanoseconds patience,
           const std::stop_token& stop) {
  const std::string mark = folder.path().string();
  const std::int64_t deadline = mono_now_ns() + patience.count();
  while (an_agent_lives(mark) && mono_now_ns() < deadline) {
    if (stop.stop_requested()) return false;
    ::poll(nullptr, 0, 50);
  }
  (void)sweep_processes(kExecutionVariable, mark, kSweeps);
  // A controller that ended by itself has done so itself.
  if (!folder.end() && !folder.run().empty()) {
    CommandOptions options;
    options.timeout = kSweepLimit;
    (void)run_command({(bindir / "assay").string(), "job-controller", mark, "--sweep"}, options);
  }
  return can_look() && !stop.stop_requested() && processes_with(kExecutionVariable, mark).empty() &&
         can_look();
}

}  // namespace

bool sweep_execution(const ExecutionFolder& folder, const std::filesystem::path& bindir,
                     Nanoseconds patience, const std::stop_token& stop) {
  try {
    return sweep(folder, bindir, patience, stop);
  } catch (const std::exception&) {
    return false;  // no descriptor, process or memory to spare: somebody may be left
  }
}

}  // namespace assay::engine
