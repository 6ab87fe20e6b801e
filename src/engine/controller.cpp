#include "engine/controller.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "engine/plan_answer.h"

namespace assay::engine {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kPlanLimit = std::chrono::seconds(60);
constexpr std::size_t kPlanBytes = 8U << 20;

// What a program needs to run at all, and what Assay itself looks for. The rest of what the server
// was started with is not for those whose jobs it runs; a submission says what it wants more.
constexpr auto kInherited = std::to_array<std::string_view>({"PATH",
                                                             "HOME",
                                                             "USER",
                                                             "LOGNAME",
                                                             "SHELL",
                                                             "LANG",
                                                             "LANGUAGE",
                                                             "TZ",
                                                             "TMPDIR",
                                                             "LD_LIBRARY_PATH",
                                                             "XDG_RUNTIME_DIR",
                                                             "XDG_CACHE_HOME",
                                                             "XDG_CONFIG_HOME",
                                                             "ASSAY_CONF",
                                                             "ASSAY_AS_USER",
                                                             "ASSAY_KEYS",
                                                             "ASSAY_SITE_KEYS",
                                                             "ASSAY_NVML_LIBRARY",
                                                             "ASAN_OPTIONS",
                                                             "LSAN_OPTIONS",
                                                             "TSAN_OPTIONS",
                                                             "UBSAN_OPTIONS"});
// Where the ranks are on other machines only the controller has them, for ssh.
constexpr auto kInheritedForSsh = std::to_array<std::string_view>({"SSH_AUTH_SOCK", "KRB5CCNAME"});

void make_writable(const fs::path& folder) {
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_symlink())
      fs::permissions(entry.path(),
                      entry.is_directory() ? fs::perms::owner_all : fs::perms::owner_write,
                      fs::perm_options::add);
}

/// A job may change what it works in: it gets a copy.
void copy_code(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, ec);
  if (ec)
    throw Error(ErrorKind::environment, "cannot copy the job's code: " + ec.message(),
                from.string());
  try {
    make_writable(to);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::environment, "cannot prepare the job's code: " + error.code().message(),
                to.string());
  }
}

/// A file that no folder has; empty: there is nothing to hand over.
UniqueFd in_memory(const std::map<std::string, std::string>& secrets) {
  if (secrets.empty()) return {};
  UniqueFd fd(::memfd_create("assay-secrets", MFD_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot hand over the secrets", "", errno);
  write_all(fd.get(), secrets_text(secrets), "the secrets of the job");
  (void)::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

/// What start_controller() hands over. Nothing of it is left in this process but what it gives.
std::string read_handed_over() {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  (void)::ftruncate(STDIN_FILENO, 0);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) (void)::dup2(null.get(), STDIN_FILENO);
  return text;
}

const std::string& first_of(const std::pair<const std::string, std::string>& one) {
  return one.first;
}

}  // namespace

ControllerProcess::ControllerProcess(pid_t pid)
    : pid_(pid), fd_(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1) {}

bool ControllerProcess::ended() const noexcept {
  pollfd one{fd_.get(), POLLIN, 0};
  return fd_ && ::poll(&one, 1, 0) > 0;
}

void ControllerProcess::signal(int number) const noexcept {
  if (fd_) ::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0);
}

void ControllerProcess::reap() const noexcept {
  // By its descriptor: it may have been collected before, and its number another child's by now.
  constexpr auto kByDescriptor = static_cast<idtype_t>(3);  // P_PIDFD, which older headers lack
  siginfo_t about{};
  if (fd_ &&
      (::waitid(kByDescriptor, static_cast<id_t>(fd_.get()), &about, WEXITED | WNOHANG) == 0 ||
       errno != EINVAL))
    return;
  if (pid_ > 0) (void)::waitpid(pid_, nullptr, WNOHANG);
}

void write_execution(const Order& order, const PlacedSuite& suite, const ControllerTask& task,
                     const ExecutionFolder& folder) {
  make_directories(folder.path());
  if (!order.code.empty() && !fs::exists(folder.work())) copy_code(order.code, folder.work());
  make_directories(folder.work());
  // After a loss of power nothing runs: what matters then is begun.json alone.
  write_file_atomic(folder.suite(), suite.text, /*sync=*/false);
  folder.write_task(task);
}

std::vector<std::string> controller_environment(const ExecutionFolder& folder,
                                                const PlacedSuite& suite) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(kInherited, name) == kInherited.end() && !name.starts_with("LC_") &&
        !(suite.remote && std::ranges::find(kInheritedForSsh, name) != kInheritedForSsh.end()))
      continue;
    if (name.size() < text.size()) variables.emplace(name, text.substr(name.size() + 1));
  }
  variables[kExecutionVariable] = folder.path().string();
  for (const auto& [name, value] : suite.env) variables[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

ControllerProcess start_controller(const ExecutionFolder& folder, const fs::path& bindir,
                                   const PlacedSuite& suite,
                                   const std::map<std::string, std::string>& secrets) {
  const UniqueFd given = in_memory(secrets);
  Child child =
      spawn({.argv = {(bindir / "assay").string(), "job-controller", folder.path().string()},
             .env = controller_environment(folder, suite),
             .folder = folder.work().string(),
             .in = given ? Stream::descriptor(given.get()) : Stream::null(),
             .out = Stream::append(folder.log(), 0600),
             .err = Stream::output(),
             .group = Group::session,
             .dies_with_parent = false});
  ControllerProcess process(child.pid());
  child.release();
  return process;
}

std::map<std::string, std::string> receive_secrets(const ExecutionFolder& folder,
                                                   const ControllerTask& task, bool in_slurm) {
  if (task.secrets.empty()) return {};
  auto values = in_slurm ? folder.take_secrets() : parse_secrets(read_handed_over());
  if (!values || !std::ranges::equal(*values, task.secrets, {}, first_of, first_of))
    throw Error(ErrorKind::environment, "the values of the job's secrets have not come");
  return std::move(*values);
}

void bind_to_processors(const std::vector<int>& wanted) {
  cpu_set_t usable;
  if (wanted.empty() || ::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &usable)) numbers.push_back(i);
  cpu_set_t own;
  CPU_ZERO(&own);
  for (const int index : wanted) {
    // A node may be said to have more than there are: they are shared then.
    if (index < 0 || static_cast<std::size_t>(index) >= numbers.size()) return;
    CPU_SET(numbers[static_cast<std::size_t>(index)], &own);
  }
  (void)::sched_setaffinity(0, sizeof own, &own);
}

Planned ask_for_plan(const PlacedSuite& suite, const fs::path& bindir) {
  const ScratchFolder scratch("assay-plan");
  const ExecutionFolder folder(scratch.path());
  write_file_atomic(folder.suite(), suite.text, /*sync=*/false);
  folder.write_task({.set = suite.set, .secrets = suite.secrets});
  CommandOptions options;
  options.timeout = kPlanLimit;
  options.max_output = kPlanBytes;
  options.env = suite.env;
  const CommandResult result = run_command(
      {(bindir / "assay").string(), "job-controller", folder.path().string(), "--plan"}, options);
  const auto answer = result.ok() ? parse_plan_answer(result.out) : std::nullopt;
  if (!answer)
    throw Error(ErrorKind::environment, result.timed_out
                                            ? "planning took too long"
                                            : "the job could not be planned: " +
                                                  ellipsize(printable(trim(result.err)), 500));
  if (const auto& fault = answer->fault)
    throw Error(ErrorKind::config, fault->message, fault->where, fault->advice);
  return *answer->planned;
}

}  // namespace assay::engine
