#include "core/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

namespace assay {

namespace fs = std::filesystem;

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

Stream Stream::overwrite(fs::path path, unsigned mode) {
  return {Kind::file, std::move(path), O_WRONLY | O_CREAT | O_TRUNC, mode};
}

Stream Stream::append(fs::path path, unsigned mode) {
  return {Kind::file, std::move(path), O_WRONLY | O_CREAT | O_APPEND, mode};
}

namespace {

constexpr Nanoseconds kEndLimit = std::chrono::seconds(1);
constexpr int kStreams = 3;
constexpr std::string_view kDefaultPath = "/usr/bin:/bin";

std::optional<rlimit>& original_limit() {
  static std::optional<rlimit> limit;
  return limit;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// The files that execvp would try, in order.
std::vector<std::string> candidates(const std::string& program, char* const* env) {
  if (program.find('/') != std::string::npos) return {program};
  std::string_view path = kDefaultPath;
  while (*env != nullptr && !std::string_view(*env).starts_with("PATH=")) ++env;
  if (*env != nullptr) path = std::string_view(*env).substr(5);
  std::vector<std::string> out;
  for (const std::string_view folder : split(path, ':'))
    out.push_back((fs::path(folder.empty() ? "." : folder) / program).string());
  return out;
}

enum class Stage : int { group, streams, folder, program };

struct Failure {
  Stage stage;
  int error;
};

// Everything the child needs, made before it exists because it may not allocate.
struct Setup {
  const SpawnOptions& options;
  std::array<int, kStreams> streams;  // -1: left as it is
  std::vector<char*> argv;
  std::vector<char*> script;  // for execute()
  char* const* env;
  std::vector<std::string> files;
  pid_t parent;
  int failure_fd;
};

// Executes the first of `files` that can be; one without "#!" through `script` (argv for /bin/sh,
// [1] is the script), unless that is empty. Returns with errno if none can. Only system calls.
void execute(const std::vector<std::string>& files, char* const* argv, char* const* env,
             std::vector<char*>& script) noexcept {
  int error = ENOENT;
  for (const std::string& file : files) {
    ::execve(file.c_str(), argv, env);
    if (errno == ENOEXEC && !script.empty()) {
      script[1] = const_cast<char*>(file.c_str());
      ::execve("/bin/sh", script.data(), env);
    }
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  errno = error;
}

// Runs between vfork and exec, in the parent's memory: makes only system calls.
[[noreturn]] void become(Setup& setup) noexcept {
  const auto fail = [&](Stage stage) {
    const Failure failure{stage, errno};
    [[maybe_unused]] const ssize_t n = ::write(setup.failure_fd, &failure, sizeof failure);
    ::_exit(127);
  };
  const SpawnOptions& options = setup.options;
  if (options.group == Group::own && ::setpgid(0, 0) != 0) fail(Stage::group);
  if (options.group == Group::session && ::setsid() < 0) fail(Stage::group);
  if (options.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != setup.parent) ::_exit(127);  // the parent died before prctl took effect
  }
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  if (original_limit()) ::setrlimit(RLIMIT_NOFILE, &*original_limit());
  for (const auto& [resource, limit] : options.limits) {
    const auto kind = static_cast<__rlimit_resource_t>(resource);
    rlimit present{};
    ::getrlimit(kind, &present);
    const rlimit wanted{std::min(limit.rlim_cur, present.rlim_max),
                        std::min(limit.rlim_max, present.rlim_max)};
    if (::setrlimit(kind, &wanted) != 0) fail(Stage::group);
  }
  if (options.cgroup >= 0) {
    [[maybe_unused]] const ssize_t n = ::write(options.cgroup, "0", 1);
  }
  // Moves the streams out of each other's way: one may already have another's number.
  std::array<int, kStreams> streams{-1, -1, -1};
  for (std::size_t i = 0; i < kStreams; ++i) {
    if (setup.streams[i] < 0) continue;
    streams[i] = ::fcntl(setup.streams[i], F_DUPFD_CLOEXEC, kStreams);
    if (streams[i] < 0) fail(Stage::streams);
  }
  for (std::size_t i = 0; i < kStreams; ++i)
    if (streams[i] >= 0 && ::dup2(streams[i], static_cast<int>(i)) < 0) fail(Stage::streams);
  if (options.terminal && ::ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) fail(Stage::streams);
  // Marks what libraries left open across exec, such as sockets. Older kernels lack the call.
  if (::syscall(SYS_close_range, kStreams, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    for (int fd = kStreams; fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) fail(Stage::folder);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  execute(setup.files, setup.argv.data(), setup.env, setup.script);
  fail(Stage::program);
  ::_exit(127);
}

// A function of its own, so that the child's registers hold none of the parent's variables.
[[gnu::noinline]] pid_t start(Setup& setup) noexcept {
  const pid_t pid = ::vfork();
  if (pid == 0) become(setup);
  return pid;
}

bool is_not_found(int error) noexcept {
  return error == ENOENT || error == EACCES || error == ENOTDIR || error == ENOEXEC;
}

std::string cannot_execute(const std::string& program) {
  return "cannot execute '" + program + "'";
}

Error failure_of(const Failure& failure, const SpawnOptions& options) {
  const std::string what = failure.stage == Stage::folder
                               ? "cannot enter the folder '" + options.folder + "'"
                           : failure.stage == Stage::program ? cannot_execute(options.argv.front())
                           : failure.stage == Stage::streams ? "cannot set up its output"
                                                             : "cannot set up a process";
  return system_error(options.error_kind, what, options.error_where, failure.error);
}

// The child's end of a stream; `mine` receives this side's end of a pipe.
UniqueFd open_stream(const Stream& stream, bool input, UniqueFd& mine) {
  if (stream.kind == Stream::Kind::pipe) {
    Pipe pipe = make_pipe();
    mine = input ? std::move(pipe.write) : std::move(pipe.read);
    return input ? std::move(pipe.read) : std::move(pipe.write);
  }
  const bool file = stream.kind == Stream::Kind::file;
  if (!file && stream.kind != Stream::Kind::null) return {};
  const fs::path path = file ? stream.path : "/dev/null";
  UniqueFd fd(::open(path.c_str(), (file ? stream.flags : O_RDWR) | O_CLOEXEC, stream.mode));
  if (!fd) throw system_error(ErrorKind::environment, "cannot write", path.string(), errno);
  return fd;
}

}  // namespace

Child spawn(const SpawnOptions& options) {
  Child child;
  const std::array<const Stream*, kStreams> streams{&options.in, &options.out, &options.err};
  const std::array<UniqueFd*, kStreams> mine{&child.in, &child.out, &child.err};
  std::array<UniqueFd, kStreams> theirs;
  Pipe failed = make_pipe();
  Setup setup{options, {-1, -1, -1}, pointers(options.argv), {}, environ, {}, ::getpid(), -1};
  for (std::size_t i = 0; i < kStreams; ++i) {
    theirs[i] = open_stream(*streams[i], i == 0, *mine[i]);
    setup.streams[i] = streams[i]->kind == Stream::Kind::descriptor ? streams[i]->fd
                       : streams[i]->kind == Stream::Kind::output   ? setup.streams[1]
                                                                    : theirs[i].get();
  }
  if (options.pipe_bytes > 0 && child.out)
    ::fcntl(child.out.get(), F_SETPIPE_SZ, options.pipe_bytes);
  std::vector<char*> env;
  if (options.env) {
    env = pointers(*options.env);
    setup.env = env.data();
  }
  if (options.argv.empty())
    throw SpawnError(Error(options.error_kind, "no program", options.error_where), true);
  setup.files = candidates(options.argv.front(), setup.env);
  if (options.plain_scripts) {
    setup.script = {const_cast<char*>("sh"), nullptr};
    setup.script.insert(setup.script.end(), setup.argv.begin() + 1, setup.argv.end());
  }
  setup.failure_fd = failed.write.get();

  // No handler of this process may run in the child, which shares its memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = start(setup);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    throw system_error(options.error_kind, "cannot start a process", options.error_where,
                       fork_error);
  child.pid_ = pid;
  child.running_ = true;
  child.leads_group_ = options.group != Group::shared;
  failed.write.reset();
  Failure failure{};
  ssize_t n = 0;
  do {
    n = ::read(failed.read.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof failure) return child;
  throw SpawnError(failure_of(failure, options),
                   failure.stage == Stage::program && is_not_found(failure.error));
}

void replace_process(const std::vector<std::string>& argv,
                     const std::optional<std::vector<std::string>>& env) {
  if (argv.empty()) throw SpawnError(Error(ErrorKind::environment, "no program"), true);
  std::vector<char*> variables;
  if (env) variables = pointers(*env);
  char* const* const environment = env ? variables.data() : environ;
  std::vector<char*> no_script;
  execute(candidates(argv.front(), environment), pointers(argv).data(), environment, no_script);
  const int error = errno;
  throw SpawnError(system_error(ErrorKind::environment, cannot_execute(argv.front()), "", error),
                   is_not_found(error));
}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  in = std::move(other.in);
  out = std::move(other.out);
  err = std::move(other.err);
  pid_ = std::exchange(other.pid_, -1);
  running_ = std::exchange(other.running_, false);
  leads_group_ = other.leads_group_;
  return *this;
}

void Child::signal(int number) const noexcept {
  if (running_) ::kill(leads_group_ ? -pid_ : pid_, number);
}

std::optional<ExitStatus> Child::poll(bool kill_rest) noexcept {
  if (!running_) return ExitStatus{};
  ExitStatus status;
  siginfo_t info{};
  // Looks first: once the child is collected, another group may have its number.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    if (info.si_pid == 0) return std::nullopt;
    if (kill_rest && leads_group_) signal(SIGKILL);
    int word = 0;
    if (::waitpid(pid_, &word, WNOHANG) == pid_) status = ExitStatus::from_wait(word);
  }
  running_ = false;
  return status;
}

ExitStatus Child::wait() noexcept {
  siginfo_t info{};
  while (running_ && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  return poll().value_or(ExitStatus{});
}

std::optional<ExitStatus> Child::wait_for(Nanoseconds limit, const std::stop_token& stop) noexcept {
  const std::int64_t deadline = mono_now_ns() + limit.count();
  for (int pause_ms = 1;; pause_ms = std::min(20, pause_ms * 2)) {
    if (auto status = poll()) return status;
    if (stop.stop_requested() || mono_now_ns() >= deadline) return std::nullopt;
    ::poll(nullptr, 0, pause_ms);
  }
}

pid_t Child::release() noexcept {
  running_ = false;
  return pid_;
}

void Child::end() noexcept {
  if (!running_) return;
  signal(SIGKILL);
  (void)wait_for(kEndLimit);
  running_ = false;
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

std::optional<std::string> find_program(const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const std::string& file : candidates(name, environ)) {
    std::error_code ec;
    if ((fs::is_regular_file(file, ec) || file == name) && ::access(file.c_str(), X_OK) == 0)
      return fs::absolute(file).string();
  }
  return std::nullopt;
}

}  // namespace assay
