#include "serve/judge_process.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "judge/judge.h"
#include "report/report.h"
#include "serve/manifest.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::serve {

namespace fs = std::filesystem;

namespace {

constexpr rlim_t kLargestFile = 256U << 20;

struct JudgeSpawn {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  JudgeSpawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  JudgeSpawn(const JudgeSpawn&) = delete;
  JudgeSpawn& operator=(const JudgeSpawn&) = delete;
  ~JudgeSpawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// The message of an Error, which main() writes as "assay: error: …", without the tester's own
// paths.
std::string last_words(const fs::path& log, const fs::path& folder) {
  std::string text = read_file_or_empty(log);
  const std::string path = folder.string() + "/";
  for (auto at = text.find(path); at != std::string::npos; at = text.find(path, at))
    text.erase(at, path.size());
  std::string_view words = text;
  if (const auto at = words.rfind("assay: error: "); at != std::string_view::npos)
    words.remove_prefix(at + 14);
  return ellipsize(printable(trim(words)), 500);
}

void limit(int resource, rlim_t value, rlim_t hard) {
  const rlimit wanted{value, hard};
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) != 0)
    throw system_error(ErrorKind::environment, "cannot limit the judge", {}, errno);
}

// Few threads need little address space, and leave the other processors to the server.
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
    throw Error(ErrorKind::config, "a name that is no file name: " + ellipsize(printable(name), 80),
                where);
}

void check_names(const store::RunDir& run) {
  for (const plan::CasePlan& one : run.plan().cases) check_name(one.name, "plan.json");
  for (const Json& event : store::Journal::read(run.journal_file())) {
    if (!event.is_object()) continue;
    if (const auto host = event.find("host"); host != event.end() && host->is_string())
      check_name(host->get<std::string>(), "journal.jsonl");
    const auto nodes = event.find("nodes");
    if (nodes == event.end() || !nodes->is_array()) continue;
    for (const Json& node : *nodes)
      if (node.is_object() && node.contains("host") && node["host"].is_string())
        check_name(node["host"].get<std::string>(), "journal.jsonl");
  }
}

}  // namespace

JudgeOutcome run_judge(const JudgeOptions& options, const fs::path& folder, const fs::path& log,
                       const std::stop_token& stop) {
  std::vector<std::string> words = options.command;
  words.insert(words.end(),
               {folder.string(), "--time", std::to_string(options.time.count()), "--memory",
                std::to_string(options.memory), "--parent", std::to_string(::getpid())});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<std::string, 2> variables{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  std::array<char*, 3> environment{variables[0].data(), variables[1].data(), nullptr};

  JudgeSpawn setup;
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&setup.actions, STDOUT_FILENO, STDERR_FILENO);
  // Asio's sockets would stay open in it, and the port taken when this process is killed.
  posix_spawn_file_actions_addclosefrom_np(&setup.actions, STDERR_FILENO + 1);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setsigdefault(&setup.attributes, &all);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int rc = posix_spawn(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(),
                             environment.data());
  if (rc != 0)
    return {JudgeEnd::broken,
            system_error(ErrorKind::environment, "cannot start the judge", argv[0], rc).what()};

  // Limits of the child itself end it first; this one also ends a child that sleeps.
  const std::int64_t deadline =
      mono_now_ns() + Nanoseconds(options.time + std::chrono::seconds(5)).count();
  int status = 0;
  for (int pause_ms = 1;; pause_ms = std::min(50, pause_ms * 2)) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return {JudgeEnd::broken, "the judge was lost"};
    const bool late = mono_now_ns() > deadline;
    if (late || stop.stop_requested()) {
      ::kill(-pid, SIGKILL);
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      return {late ? JudgeEnd::exceeded : JudgeEnd::stopped,
              fmt::format("judging took longer than {} s", options.time.count())};
    }
    ::poll(nullptr, 0, pause_ms);
  }
  const ExitStatus exit = ExitStatus::from_wait(status);
  if (exit.ok()) return {JudgeEnd::judged, {}};
  if (exit.code == exit_code(ErrorKind::config)) return {JudgeEnd::unfit, last_words(log, folder)};
  if (exit.signal == SIGXCPU)
    return {JudgeEnd::exceeded,
            fmt::format("judging took more than {} s of processor time", options.time.count())};
  if (exit.code == exit_code(ErrorKind::environment) &&
      last_words(log, folder).find("out of memory") == std::string::npos)
    return {JudgeEnd::broken, last_words(log, folder)};
  return {JudgeEnd::exceeded, fmt::format("the judge ended with {}{}", to_string(exit),
                                          exit.code ? ": " + last_words(log, folder) : "")};
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
  // SIGXCPU at the first, which says why; SIGKILL at the second.
  limit(RLIMIT_CPU, static_cast<rlim_t>(time.count()), static_cast<rlim_t>(time.count()) + 2);
  limit(RLIMIT_FSIZE, kLargestFile, kLargestFile);
  try {
    const store::RunDir run = store::RunDir::open(folder);
    check_names(run);
    report::write_reports(judge::judge_run(run), run.plan(), run.path());
  } catch (const Error& error) {
    // Whatever cannot be read of evidence is its own fault; only the disk's faults are not.
    if (error.kind() == ErrorKind::environment) throw;
    throw Error(ErrorKind::config, error.message(), error.where(), error.advice());
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::config, printable(error.what()));
  }
}

}  // namespace assay::serve
