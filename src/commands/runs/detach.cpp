#include "commands/runs/detach.h"

#include <cstdlib>

#include <fmt/format.h>
#include <poll.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/process.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/agents/slurm/slurm_batch.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kStartLimit = std::chrono::seconds(10);

fs::path log_of(const store::RunDir& run) {
  return run.path() / layout::kControllerLog;
}

std::vector<std::string> controller_command(const store::RunDir& run) {
  return {(program_folder() / "assay").string(), "run", "--resume", run.path().string()};
}

void submit(const store::RunDir& run) {
  const std::string job = launch::submit_batch(run.plan(), controller_command(run), log_of(run));
  write_file_atomic(run.job_file(), dump_pretty({{"scheduler", "slurm"},
                                                 {"job", job},
                                                 {"submitted_wall_ns", wall_now_ns()},
                                                 {"host", host_name()}}));
  tell("submitted as job " + job + "\n");
}

void start_process(const store::RunDir& run) {
  Child controller = spawn({.argv = controller_command(run),
                            .out = Stream::append(log_of(run), 0666),
                            .err = Stream::output(),
                            .group = Group::session,
                            .dies_with_parent = false});
  // It holds the run before this command ends, so that `assay top` finds it at once.
  const std::int64_t deadline = mono_now_ns() + kStartLimit.count();
  while (!store::RunLock::held(run.path())) {
    if (const auto ended = controller.poll()) {
      if (ended->ok()) break;  // it was that short
      throw Error(ErrorKind::launch,
                  "the controller ended at once (" + to_string(*ended) +
                      "): " + printable(trim(read_file_or_empty(log_of(run)))),
                  log_of(run).string());
    }
    if (mono_now_ns() > deadline)
      throw Error(ErrorKind::launch, "the controller did not start within 10 s",
                  log_of(run).string());
    ::poll(nullptr, 0, 10);
  }
  tell(fmt::format("running as process {}\n", controller.release()));
}

}  // namespace

int detach(const store::RunDir& run) {
  const bool batch = run.plan().cluster.traits.has_queue && std::getenv("SLURM_JOB_ID") == nullptr;
  tell("run " + run.path().string() + "\n");
  if (batch)
    submit(run);
  else
    start_process(run);
  const std::string name = run.path().string();
  tell(
      fmt::format("  watch it   assay top {0}\n"
                  "  its log    {1}\n"
                  "  stop it    assay stop {0}\n"
                  "  result     assay report {0}\n",
                  name, log_of(run).string()));
  return 0;
}

std::string batch_job_of(const store::RunDir& run) {
  return text_at(parse_json_or_null(read_regular_file_or_empty(run.job_file())), "job");
}

}  // namespace assay::commands
