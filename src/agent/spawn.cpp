#include "agent/spawn.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"

namespace assay::agent {

namespace {

std::optional<rlimit>& original_limit() {
  static std::optional<rlimit> limit;
  return limit;
}

enum class Stage : int { workdir, exec, output };

struct Failure {
  Stage stage;
  int error;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const SpawnRequest& request, char** argv, char** env, pid_t parent,
                         int failure_fd) {
  const auto fail = [&](Stage stage) {
    const Failure failure{stage, errno};
    [[maybe_unused]] const ssize_t n = ::write(failure_fd, &failure, sizeof failure);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the agent died before prctl took hold
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  if (original_limit()) ::setrlimit(RLIMIT_NOFILE, &*original_limit());
  const int null_fd = ::open("/dev/null", O_RDONLY);
  if (null_fd < 0 || ::dup2(null_fd, STDIN_FILENO) < 0) fail(Stage::output);
  if (::dup2(request.output_fd, STDOUT_FILENO) < 0 || ::dup2(request.output_fd, STDERR_FILENO) < 0)
    fail(Stage::output);
  if (null_fd > STDERR_FILENO) ::close(null_fd);
  // Sockets of a library that does not mark them. Older kernels refuse, and nothing is worse then.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!request.workdir.empty() && ::chdir(request.workdir.c_str()) != 0) fail(Stage::workdir);
  environ = env;  // execvp looks the program up in the rank's own PATH
  ::execvp(argv[0], argv);
  fail(Stage::exec);
  ::_exit(127);
}

std::string describe(const Failure& failure, const SpawnRequest& request) {
  const std::string reason = std::strerror(failure.error);
  switch (failure.stage) {
    case Stage::workdir:
      return "cannot enter the folder '" + request.workdir + "': " + reason;
    case Stage::output:
      return "cannot set up its output: " + reason;
    case Stage::exec:
      break;
  }
  return "cannot execute '" + request.argv[0] + "': " + reason;
}

}  // namespace

SpawnResult spawn(const SpawnRequest& request) {
  Pipe failure_pipe = make_pipe();
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> env = pointers(request.env);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return {-1, std::string("cannot fork: ") + std::strerror(errno)};
  if (pid == 0) become(request, argv.data(), env.data(), parent, failure_pipe.write.get());
  ::setpgid(pid, pid);  // also here: whoever comes first, the group exists when we return
  failure_pipe.write.reset();
  Failure failure{};
  ssize_t n = 0;
  do {
    n = ::read(failure_pipe.read.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof failure) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, describe(failure, request)};
  }
  return {pid, {}};
}

std::vector<std::string> environment_with(const std::vector<std::string>& overrides) {
  std::set<std::string_view> replaced;
  for (const std::string& entry : overrides)
    replaced.insert(std::string_view(entry).substr(0, entry.find('=')));
  std::vector<std::string> out = overrides;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!replaced.contains(text.substr(0, text.find('=')))) out.emplace_back(text);
  }
  return out;
}

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  original_limit() = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace assay::agent
