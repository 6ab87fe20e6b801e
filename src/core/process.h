#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "core/error.h"
#include "core/files.h"
#include "core/time.h"

namespace assay {

/// How a process ended. Neither is set when other code in this process collected the child.
struct ExitStatus {
  std::optional<int> code;    ///< exit code, when it exited
  std::optional<int> signal;  ///< signal number, when it was killed

  [[nodiscard]] bool ok() const noexcept { return code == 0; }
  /// Decodes waitpid's status word.
  [[nodiscard]] static ExitStatus from_wait(int status) noexcept;
};

/// "exit 3", "SIGSEGV", "exit 0".
[[nodiscard]] std::string to_string(const ExitStatus& status);

/// "SIGTERM" for 15.
[[nodiscard]] std::string signal_name(int signal);

/// Where a standard stream of a child leads.
struct Stream {
  enum class Kind { null, inherit, pipe, file, descriptor, output };
  Kind kind = Kind::null;
  std::filesystem::path path{};  ///< for a file
  int flags = 0;                 ///< for a file: flags of open(2)
  unsigned mode = 0;             ///< for a file: permissions when it is created
  int fd = -1;                   ///< for a descriptor, which stays the caller's

  static Stream null() { return {}; }
  static Stream inherit() { return {.kind = Kind::inherit}; }
  /// This side's end becomes a member of Child.
  static Stream pipe() { return {.kind = Kind::pipe}; }
  static Stream overwrite(std::filesystem::path path, unsigned mode);
  static Stream append(std::filesystem::path path, unsigned mode);
  static Stream descriptor(int fd) { return {.kind = Kind::descriptor, .fd = fd}; }
  /// For `err`: the same place as `out`.
  static Stream output() { return {.kind = Kind::output}; }
};

/// Which processes a signal to the child reaches.
enum class Group {
  own,      ///< a group of its own: the child and what it starts
  session,  ///< a group and a session of its own: a terminal's Ctrl-C does not reach it either
  shared,   ///< the child alone; it stays in this process's group
};

/// Every child has default signal dispositions, an empty signal mask, the open-file limit with
/// which this process was started, and no descriptors but its three streams.
struct SpawnOptions {
  std::vector<std::string> argv{};                ///< argv[0] is looked up in `env`'s PATH
  std::optional<std::vector<std::string>> env{};  ///< "NAME=value"; nothing: inherited
  std::string folder{};                           ///< empty: unchanged
  Stream in{};
  Stream out{};
  Stream err{};
  int pipe_bytes = 0;  ///< for `out`; 0: the kernel's default. Best effort.
  Group group = Group::own;
  /// `in` is a terminal, which becomes the controlling one of the child's session (needs
  /// Group::session), so that its Ctrl-C reaches the child.
  bool terminal = false;
  /// The kernel kills the child when the thread that called spawn() ends, so that thread must live
  /// as long as the child.
  bool dies_with_parent = true;
  /// A script without "#!" is run by /bin/sh, as a shell would.
  bool plain_scripts = false;
  std::vector<std::pair<int, rlimit>> limits{};  ///< resources are RLIMIT_…
  /// Descriptor of a cgroup's cgroup.procs file, which the child enters before its program begins;
  /// -1: none. Best effort.
  int cgroup = -1;
  // Kind and place of thrown errors.
  ErrorKind error_kind = ErrorKind::environment;
  std::string error_where{};
};

/// Why a program was not started: "cannot execute 'x': No such file or directory".
class SpawnError : public Error {
 public:
  SpawnError(const Error& error, bool not_found) : Error(error), not_found_(not_found) {}
  /// The program does not exist or is not executable.
  [[nodiscard]] bool not_found() const noexcept { return not_found_; }

 private:
  bool not_found_;
};

/// A process that this one started. The destructor kills a process that still runs, with its group,
/// and waits at most a second for its end.
class Child {
 public:
  Child() = default;
  Child(Child&& other) noexcept { *this = std::move(other); }
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  // This side's ends of the pipes.
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;

  /// Stays valid after the process has ended; -1 when none was started.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Whether the child has not been collected yet.
  [[nodiscard]] bool running() const noexcept { return running_; }

  /// Signals the child, or its group when it leads one. Harmless after the child's end: its pid is
  /// not reused until it is collected.
  void signal(int number) const noexcept;
  /// Collects the child if it has ended, without waiting. With `kill_rest`, also kills the rest of
  /// its group.
  [[nodiscard]] std::optional<ExitStatus> poll(bool kill_rest = false) noexcept;
  /// Waits for the child's end, however long it takes, and collects it.
  ExitStatus wait() noexcept;
  /// Collects the child; returns nothing if `limit` passes or `stop` is requested before its end.
  [[nodiscard]] std::optional<ExitStatus> wait_for(Nanoseconds limit,
                                                   const std::stop_token& stop = {}) noexcept;
  /// Lets the child go on without this object.
  pid_t release() noexcept;

 private:
  friend Child spawn(const SpawnOptions& options);
  void end() noexcept;

  pid_t pid_ = -1;
  bool running_ = false;
  bool leads_group_ = false;
};

/// Starts a program. Returns once it has replaced the child, so that a Child is a running program.
/// Throws SpawnError for the program and its folder, Error for pipes and files.
[[nodiscard]] Child spawn(const SpawnOptions& options);

/// Replaces this process by a program: argv[0] is looked up in the PATH of `env` ("NAME=value";
/// nothing: this process's). Returns only by throwing SpawnError.
[[noreturn]] void replace_process(const std::vector<std::string>& argv,
                                  const std::optional<std::vector<std::string>>& env = {});

/// This process's environment, with `overrides` ("NAME=value") replacing entries of the same name.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& overrides);

/// Raises the soft limit of open files to the hard limit for this process, not for its children.
void raise_open_file_limit();

/// The absolute path of a program, found as execvp does, or nothing.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

}  // namespace assay
