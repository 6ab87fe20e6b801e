#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "jobs/job_request.h"
#include "slurm/allocation.h"

namespace assay::engine {

/// Of every process of an execution on the machine of its controller: the folder of the execution.
inline constexpr const char* kExecutionVariable = "ASSAY_EXECUTION";

/// What the controller of an execution is to do: task.json.
struct ControllerTask {
  jobs::JobId job = 0;
  int attempt = 0;
  std::vector<std::string> set{};                     ///< as --set of `assay run`
  std::map<std::string, std::vector<int>> devices{};  ///< by node: which of its devices
  /// Where the content of work/ is to be on every node before the ranks start; empty: nowhere,
  /// because it is there already, or there is none.
  std::string remote_work{};
  /// Of this machine: which of those that the server may use are the execution's, all others are
  /// not for it. Empty: it is not bound to any.
  std::vector<int> processors{};
  /// Variable → name of the secrets that its ranks are given. The values come to the controller on
  /// its standard input, or where Slurm starts it by ExecutionFolder::write_secrets().
  std::map<std::string, std::string> secrets{};

  static void fields(auto& self, auto&& field) {
    field("job", self.job);
    field("attempt", self.attempt);
    field("set", self.set);
    field("devices", self.devices);
    field.optional("remote_work", self.remote_work);
    field.optional("processors", self.processors);
    field.optional("secrets", self.secrets);
  }
};

/// Secrets as they come to a controller: values by variable.
[[nodiscard]] std::string secrets_text(const std::map<std::string, std::string>& values);
/// Nothing where it is not such a text.
[[nodiscard]] std::optional<std::map<std::string, std::string>> parse_secrets(
    const std::string& text);

/// begun.json: whether the execution takes place. Made once, by its controller or by whoever wants
/// that it never begins: there can be no other one afterwards.
struct Beginning {
  bool never = false;
  pid_t pid = 0;  ///< of the controller
  std::int64_t wall_ns = 0;
  std::string slurm_job{};  ///< that the controller is in; empty: none

  static void fields(auto& self, auto&& field) {
    field("never", self.never);
    field("pid", self.pid);
    field("wall_ns", self.wall_ns);
    field.optional("slurm_job", self.slurm_job);
  }
};

/// end.json: what the controller says at its end. Without it, it was killed.
struct ControllerEnd {
  int exit_code = 0;
  std::string kind{};        ///< of the error that ended it; empty: none did
  std::string error{};       ///< in words
  std::int64_t wall_ns = 0;  ///< by the controller's clock; 0: of a version that did not say

  static void fields(auto& self, auto&& field) {
    field("exit_code", self.exit_code);
    field.optional("wall_ns", self.wall_ns);
    field.optional("kind", self.kind);
    field.optional("error", self.error);
  }
};

/// The folder of one execution. Server and controller meet in it, and nowhere else, so that each
/// can be gone at any moment. Everything throws Error of kind environment.
class ExecutionFolder {
 public:
  explicit ExecutionFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path suite() const { return path_ / "suite.yaml"; }
  [[nodiscard]] std::filesystem::path log() const { return path_ / "controller.log"; }
  /// That the ranks are started in.
  [[nodiscard]] std::filesystem::path work() const { return path_ / "work"; }
  /// That the run is made in.
  [[nodiscard]] std::filesystem::path runs() const { return path_ / "run"; }
  /// That its curves are written to for TensorBoard while it runs.
  [[nodiscard]] std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  /// The run directory; empty: there is none yet.
  [[nodiscard]] std::filesystem::path run() const;

  void write_task(const ControllerTask& task) const;
  /// Nothing where there is none, or it cannot be read.
  [[nodiscard]] std::optional<ControllerTask> task() const;

  /// Values by variable, in a file of mode 0600, for a controller that nobody can hand them to.
  void write_secrets(const std::map<std::string, std::string>& values) const;
  /// And takes them away. Nothing where there are none, or they cannot be read.
  [[nodiscard]] std::optional<std::map<std::string, std::string>> take_secrets() const;
  /// Where nobody will take them.
  void remove_secrets() const noexcept;

  /// What it has of Slurm; written before its beginning.
  void write_allocation(const slurm::Allocation& allocation) const;
  /// Nothing where there is none, or it cannot be read.
  [[nodiscard]] std::optional<slurm::Allocation> allocation() const;

  /// Decides whether the execution takes place; false: that was decided before.
  [[nodiscard]] bool decide(const Beginning& beginning) const;
  /// Nothing where it is not decided, or not by a file that can be understood. Throws where this
  /// machine cannot look: it has no descriptor to spare, or the file system is away.
  [[nodiscard]] std::optional<Beginning> beginning() const;

  /// That its controller is told to end, written before it is: a server that comes later must not
  /// tell it again, because twice means at once.
  void note_stop() const;
  [[nodiscard]] bool stop_noted() const;

  void write_end(const ControllerEnd& end) const;
  /// As beginning().
  [[nodiscard]] std::optional<ControllerEnd> end() const;

  /// Whether its controller lives. Throws where this machine cannot look.
  [[nodiscard]] bool held() const;

 private:
  std::filesystem::path path_;
};

/// Held by the controller; the kernel lets go of it with the process, however that ends.
class ExecutionLock {
 public:
  /// Throws Error of kind environment when another controller holds it.
  explicit ExecutionLock(const ExecutionFolder& folder);

 private:
  UniqueFd fd_;
};

/// An error as the controller leaves it.
[[nodiscard]] ControllerEnd end_of(const Error& error);

}  // namespace assay::engine
