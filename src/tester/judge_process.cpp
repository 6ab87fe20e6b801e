#include "tester/judge_process.h"

#include <cerrno>
#include <new>

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/disk_full.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_error.h"
#include "core/process.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/judge.h"
#include "report/report.h"
#include "store/journal.h"
#include "store/run_dir.h"
#include "tester/manifest.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

constexpr rlim_t kMaxFile = 256U << 20;

// The message of an Error, printed by main() as "assay: error: …", without the tester's own paths.
std::string error_text(const fs::path& log, const fs::path& folder) {
  std::string text = read_file_or_empty(log);
  const std::string path = folder.string() + "/";
  for (auto at = text.find(path); at != std::string::npos; at = text.find(path, at))
    text.erase(at, path.size());
  std::string_view error = text;
  if (const auto at = error.rfind("assay: error: "); at != std::string_view::npos)
    error.remove_prefix(at + 14);
  return ellipsize(printable(trim(error)), 500);
}

void limit(int resource, rlim_t value, rlim_t hard) {
  const rlimit wanted{value, hard};
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) != 0)
    throw system_error(ErrorKind::environment, "cannot limit the judge", {}, errno);
}

// Few threads need little address space and leave the other processors to the server.
void use_two_processors() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int kept = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && ++kept > 2) CPU_CLR(cpu, &allowed);
  ::sched_setaffinity(0, sizeof allowed, &allowed);
}

// Names become parts of paths: none may lead to another test's evidence.
void check_name(const std::string& name, const std::string& where) {
  if (!name.empty() && (name.find('/') != std::string::npos || !path_fault(name).empty()))
    throw Error(ErrorKind::config, "not a valid file name: " + ellipsize(printable(name), 80),
                where);
}

void check_names(const store::RunDir& run) {
  for (const plan::CasePlan& case_plan : run.plan().cases) check_name(case_plan.name, "plan.json");
  for (const Json& event : store::Journal::read(run.journal_file())) {
    check_name(text_at(event, "host"), "journal.jsonl");
    for (const Json& node : list_at(event, "nodes"))
      check_name(text_at(node, "host"), "journal.jsonl");
  }
}

void judge_folder(const fs::path& folder) {
  try {
    const store::RunDir run = store::RunDir::open(folder);
    check_names(run);
    report::write_reports(judge::judge_run(run), run.plan(), run.path());
  } catch (const Error& error) {
    // Unreadable evidence is itself at fault, except when the disk fails.
    if (error.kind() == ErrorKind::environment) throw;
    throw Error(ErrorKind::config, error.message(), error.where(), error.advice());
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::config, plain_error(error));
  } catch (const std::bad_alloc&) {
    ::_exit(kOutOfMemoryExit);
  }
}

}  // namespace

JudgeOutcome run_judge(const JudgeOptions& options, const fs::path& folder, const fs::path& log,
                       const std::stop_token& stop) {
  std::vector<std::string> argv = options.command;
  argv.insert(argv.end(),
              {folder.string(), "--time", std::to_string(options.time.count()), "--memory",
               std::to_string(options.memory), "--parent", std::to_string(::getpid())});
  Child judge;
  try {
    // The child inherits no descriptor: a killed judge would otherwise keep the port.
    judge = spawn({.argv = std::move(argv),
                   .env = std::vector<std::string>{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"},
                   .out = Stream::overwrite(log, 0600),
                   .err = Stream::output()});
  } catch (const Error& error) {
    return {is_disk_full(error) ? JudgeEnd::no_room : JudgeEnd::broken, error.what()};
  }
  // The child's own limits end it first; this one also ends a child that sleeps.
  const auto ended = judge.wait_for(options.time + std::chrono::seconds(5), stop);
  if (!ended)
    return {stop.stop_requested() ? JudgeEnd::stopped : JudgeEnd::exceeded,
            fmt::format("judging took longer than {} s", options.time.count())};
  const ExitStatus& exit = *ended;
  if (!exit.code && !exit.signal) return {JudgeEnd::broken, "the judge was lost"};
  if (exit.ok()) return {JudgeEnd::judged, {}};
  if (exit.code == exit_code(ErrorKind::config)) return {JudgeEnd::unfit, error_text(log, folder)};
  if (exit.signal == SIGXCPU)
    return {JudgeEnd::exceeded,
            fmt::format("judging took more than {} s of processor time", options.time.count())};
  if (exit.code == kOutOfMemoryExit)
    return {JudgeEnd::exceeded, fmt::format("judging needed more than {} of memory",
                                            format_bytes(static_cast<double>(options.memory)))};
  if (exit.code == kDiskFullExit) return {JudgeEnd::no_room, error_text(log, folder)};
  if (exit.code == exit_code(ErrorKind::environment))
    return {JudgeEnd::broken, error_text(log, folder)};
  return {JudgeEnd::exceeded, fmt::format("the judge ended with {}{}", to_string(exit),
                                          exit.code ? ": " + error_text(log, folder) : "")};
}

void judge_evidence(const fs::path& folder, std::chrono::seconds time,
                    [[maybe_unused]] std::uint64_t memory, std::int64_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (parent != 0 && ::getppid() != parent)
    throw Error(ErrorKind::environment, "the server that asked for it is gone");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::mallopt(M_ARENA_MAX, 2);
  use_two_processors();
  limit(RLIMIT_CORE, 0, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_AS, memory, memory);  // sanitizers reserve terabytes
#endif
  // The first limit sends SIGXCPU, which gives the reason; the second sends SIGKILL.
  limit(RLIMIT_CPU, static_cast<rlim_t>(time.count()), static_cast<rlim_t>(time.count()) + 2);
  limit(RLIMIT_FSIZE, kMaxFile, kMaxFile);
  try {
    judge_folder(folder);
  } catch (const std::exception& error) {
    if (!is_disk_full(error)) throw;
    fmt::print(stderr, "assay: error: {}\n", error.what());
    ::_exit(kDiskFullExit);
  }
}

}  // namespace assay::tester
