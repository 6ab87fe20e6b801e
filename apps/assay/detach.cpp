#include "detach.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/run_layout.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/slurm/slurm_batch.h"
#include "paths.h"
#include "terminal.h"

namespace assay::app {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kStartLimit = std::chrono::seconds(10);

fs::path log_of(const store::RunDir& run) {
  return run.path() / layout::kControllerLog;
}

std::vector<std::string> controller_command(const store::RunDir& run) {
  return {(bin_dir() / "assay").string(), "run", "--resume", run.path().string()};
}

void submit(const store::RunDir& run) {
  const std::string job = launch::submit_batch(run.plan(), controller_command(run), log_of(run));
  write_file_atomic(run.job_file(), dump_pretty({{"scheduler", "slurm"},
                                                 {"job", job},
                                                 {"submitted_wall_ns", wall_now_ns()},
                                                 {"host", host_name()}}));
  say("submitted as job " + job + "\n");
}

[[noreturn]] void become_controller(const std::vector<std::string>& command, int log) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv.front(), argv.data());
  ::_exit(127);
}

void start_process(const store::RunDir& run) {
  const std::vector<std::string> command = controller_command(run);
  const UniqueFd log(::open(log_of(run).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!log) throw system_error(ErrorKind::environment, "cannot write", log_of(run).string(), errno);
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error(ErrorKind::environment, "cannot start a process", {}, errno);
  if (pid == 0) become_controller(command, log.get());
  // It holds the run before this command ends: `assay top` finds it at once.
  const std::int64_t deadline = mono_now_ns() + kStartLimit.count();
  while (!store::RunLock::held(run.path())) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      if (ExitStatus::from_wait(status).ok()) break;  // it was that short
      throw Error(ErrorKind::launch,
                  "the controller ended at once (" + to_string(ExitStatus::from_wait(status)) +
                      "): " + printable(trim(read_file_or_empty(log_of(run)))),
                  log_of(run).string());
    }
    if (mono_now_ns() > deadline)
      throw Error(ErrorKind::launch, "the controller did not start within 10 s",
                  log_of(run).string());
    ::poll(nullptr, 0, 10);
  }
  say(fmt::format("running as process {}\n", pid));
}

}  // namespace

int detach(const store::RunDir& run) {
  const bool batch =
      run.plan().cluster.launcher == "slurm" && std::getenv("SLURM_JOB_ID") == nullptr;
  say("run " + run.path().string() + "\n");
  if (batch)
    submit(run);
  else
    start_process(run);
  const std::string name = run.path().string();
  say(
      fmt::format("  watch it   assay top {0}\n"
                  "  its words  {1}\n"
                  "  stop it    assay stop {0}\n"
                  "  result     assay report {0}\n",
                  name, log_of(run).string()));
  return 0;
}

std::string batch_job_of(const store::RunDir& run) {
  const Json job = parse_json_or_null(read_file_or_empty(run.job_file()));
  return job.is_object() && job.contains("job") && job["job"].is_string()
             ? job["job"].get<std::string>()
             : "";
}

}  // namespace assay::app
