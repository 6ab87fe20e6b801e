#include "core/subprocess.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

extern char** environ;

namespace assay {

ExitStatus ExitStatus::from_wait(int status) noexcept {
  if (WIFSIGNALED(status)) return {std::nullopt, WTERMSIG(status)};
  return {WEXITSTATUS(status), std::nullopt};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string to_string(const ExitStatus& status) {
  if (status.signal) return signal_name(*status.signal);
  if (status.code) return fmt::format("exit {}", *status.code);
  return "unknown";
}

namespace {

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!extra.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : extra) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// RAII for posix_spawn's two attribute objects.
struct SpawnSetup {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// Reads what is there; false at end of file or error.
bool drain(int fd, std::string& out, std::size_t limit) {
  std::array<char, 16384> buffer;
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  const std::size_t room = limit > out.size() ? limit - out.size() : 0;
  out.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
  return true;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options) {
  CommandResult result;
  if (argv.empty()) {
    result.not_found = true;
    return result;
  }
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  SpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&setup.actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, err.write.get(), STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> words = argv;
  std::vector<std::string> environment = merged_environment(options.env);
  pid_t pid = 0;
  const int rc = posix_spawnp(&pid, words[0].c_str(), &setup.actions, &setup.attributes,
                              pointers(words).data(), pointers(environment).data());
  out.write.reset();
  err.write.reset();
  if (rc == ENOENT || rc == EACCES || rc == ENOTDIR || rc == ENOEXEC) {
    result.not_found = true;
    return result;
  }
  if (rc != 0) throw system_error(ErrorKind::environment, "cannot start " + argv[0], {}, rc);

  const std::int64_t deadline = mono_now_ns() + options.timeout.count();
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    const std::int64_t left_ms = (deadline - mono_now_ns()) / 1'000'000;
    if (left_ms <= 0) {
      result.timed_out = true;
      break;
    }
    std::array<pollfd, 2> fds{
        {{out_open ? out.read.get() : -1, POLLIN, 0}, {err_open ? err.read.get() : -1, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left_ms, 60'000))) <
            0 &&
        errno != EINTR)
      break;
    if (fds[0].revents != 0) out_open = drain(out.read.get(), result.out, options.max_output);
    if (fds[1].revents != 0) err_open = drain(err.read.get(), result.err, options.max_output);
  }

  int status = 0;
  // Pipes closed, but the process may live on: still bounded by the same deadline.
  while (!result.timed_out) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) break;
    if (mono_now_ns() >= deadline) result.timed_out = true;
    ::poll(nullptr, 0, 1);
  }
  ::kill(-pid, SIGKILL);
  if (result.timed_out) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  result.status = ExitStatus::from_wait(status);
  return result;
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), X_OK) != 0) return std::nullopt;
    return std::filesystem::absolute(name).string();
  }
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::filesystem::path candidate =
        std::filesystem::path(folder.empty() ? "." : folder) / name;
    std::error_code ec;
    if (std::filesystem::is_regular_file(candidate, ec) && ::access(candidate.c_str(), X_OK) == 0)
      return std::filesystem::absolute(candidate).string();
  }
  return std::nullopt;
}

}  // namespace assay
