#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/files.h"
#include "engine/engine.h"
#include "engine/execution_folder.h"
#include "engine/placed_suite.h"

namespace assay::engine {

/// A controller's process: it may be anybody's child. Empty: there is none that can be watched.
class ControllerProcess {
 public:
  ControllerProcess() = default;
  /// Empty where there is no such process.
  explicit ControllerProcess(pid_t pid);

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// 0: there is none. Only while it is known to live is it no other's.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Readable when it has ended.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  [[nodiscard]] bool ended() const noexcept;
  void signal(int number) const noexcept;
  /// Collects it where it is a child of this process, and has ended.
  void reap() const noexcept;

 private:
  pid_t pid_ = 0;
  UniqueFd fd_;
};

/// Writes the execution's folder: its suite, what its owner sent, and its task.
void write_execution(const Order& order, const PlacedSuite& suite, const ControllerTask& task,
                     const ExecutionFolder& folder);

/// What a controller and all that it starts is to see of this process's environment, as
/// "NAME=value".
[[nodiscard]] std::vector<std::string> controller_environment(const ExecutionFolder& folder,
                                                              const PlacedSuite& suite);

/// Starts the controller of a folder that write_execution() has written, and hands it the values of
/// its secrets, which are on no disk then. Throws Error.
[[nodiscard]] ControllerProcess start_controller(const ExecutionFolder& folder,
                                                 const std::filesystem::path& bindir,
                                                 const PlacedSuite& suite,
                                                 const std::map<std::string, std::string>& secrets);

/// In the controller: the values of what its task names. Throws Error of kind environment where
/// they are not there.
[[nodiscard]] std::map<std::string, std::string> receive_secrets(const ExecutionFolder& folder,
                                                                 const ControllerTask& task,
                                                                 bool in_slurm);

/// Binds this process, and what it starts, to the first, second, … (0, 1, …) of the processors that
/// it may use. Best effort; nothing happens where it may not use so many.
void bind_to_processors(const std::vector<int>& wanted);

/// What the controller would do, as its `--plan` says. Throws Error.
[[nodiscard]] Planned ask_for_plan(const PlacedSuite& suite, const std::filesystem::path& bindir);

}  // namespace assay::engine
