#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"
#include "jobs/job_request.h"

namespace assay::jobs {

/// A duration that people write: "2h", or a number of seconds.
struct WrittenDuration {
  Nanoseconds value{0};

  bool operator==(const WrittenDuration&) const = default;
};
[[nodiscard]] Json to_json(const WrittenDuration& duration);
void decode_json(const Json& json, WrittenDuration& to, const std::string& where);

/// Who starts the processes of a command, as `launch` of a case.
enum class Launch { per_rank, per_node, head };

constexpr auto enum_names(Launch) {
  using enum Launch;
  return std::to_array<EnumName<Launch>>(
      {{per_rank, "per-rank"}, {per_node, "per-node"}, {head, "head"}});
}

struct Mount {
  std::string source{};
  std::string target{};
  bool read_only = false;

  bool operator==(const Mount&) const = default;
  static void fields(auto& self, auto&& field) {
    field("source", self.source);
    field("target", self.target);
    field.optional("read_only", self.read_only);
  }
};

enum class EndpointKind { ssh, jupyter, tensorboard, vscode, port };

constexpr auto enum_names(EndpointKind) {
  using enum EndpointKind;
  return std::to_array<EnumName<EndpointKind>>({{ssh, "ssh"},
                                                {jupyter, "jupyter"},
                                                {tensorboard, "tensorboard"},
                                                {vscode, "vscode"},
                                                {port, "port"}});
}

struct Endpoint {
  EndpointKind kind = EndpointKind::ssh;
  std::string name{};         ///< of a port; empty for the others
  std::optional<int> port{};  ///< that the job's program listens on, of a port

  bool operator==(const Endpoint&) const = default;
  static void fields(auto& self, auto&& field) {
    field("kind", self.kind);
    field.optional("name", self.name);
    field.optional("port", self.port);
  }
};

/// What a person submits: a suite, or a command that becomes a suite with one case. Everything but
/// that and the name has a default.
struct Submission {
  std::string name{};
  std::string suite{};               ///< the YAML text; or
  std::string command{};             ///< shell text, run as it is: no placeholders
  Launch launch = Launch::per_rank;  ///< of the command
  int nodes = 1;
  int procs = 1;                 ///< processes on each node
  std::optional<int> devices{};  ///< on each node; nothing: one a process
  std::string device_type{};     ///< empty: any
  bool whole_nodes = false;
  std::string image{};  ///< of the command's container; empty: none
  std::string queue = "default";
  std::optional<int> priority{};  ///< nothing: kDefaultPriority
  bool preemptible = false;
  std::optional<WrittenDuration> time{};  ///< nothing: the queue's
  RetryPolicy retries{};
  std::map<std::string, std::string> env{};
  /// Variable → the name of a secret that is kept for its owner, or for its team, on the server.
  std::map<std::string, std::string> secrets{};
  std::vector<Mount> mounts{};
  std::vector<Endpoint> endpoints{};
  std::vector<JobId> after{};
  std::string array{};  ///< "0-9%4"; empty: one job

  bool operator==(const Submission&) const = default;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field.optional("suite", self.suite);
    field.optional("command", self.command);
    field.optional("launch", self.launch);
    field.optional("nodes", self.nodes);
    field.optional("procs", self.procs);
    field.optional("devices", self.devices);
    field.optional("device_type", self.device_type);
    field.optional("whole_nodes", self.whole_nodes);
    field.optional("image", self.image);
    field.optional("queue", self.queue);
    field.optional("priority", self.priority);
    field.optional("preemptible", self.preemptible);
    field.optional("time", self.time);
    field.optional("retries", self.retries);
    field.optional("env", self.env);
    field.optional("secrets", self.secrets);
    field.optional("mounts", self.mounts);
    field.optional("endpoints", self.endpoints);
    field.optional("after", self.after);
    field.optional("array", self.array);
  }
};

inline constexpr int kDefaultPriority = 100;
inline constexpr int kMaxPriority = 1000;
inline constexpr std::size_t kMaxJobName = 100;  ///< code points

/// Something that is wrong with a submission.
struct Problem {
  std::string path{};     ///< of the field: "mounts[1].target", "env.LD LIBRARY"; empty: of all
  std::string message{};  ///< "not an absolute path: 'data'"

  bool operator==(const Problem&) const = default;
  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("message", self.message);
  }
};

/// All that is wrong with it, in the order of the fields; empty: nothing is.
[[nodiscard]] std::vector<Problem> problems_of(const Submission& submission);

struct ReadSubmission {
  Submission submission{};
  std::vector<Problem> problems{};  ///< where there are any, the submission is not to be used
};

/// Reads what a client sent. Unknown fields, wrong types and everything of problems_of() are
/// problems; never throws.
[[nodiscard]] ReadSubmission read_submission(const Json& json);

/// The suite that is run. For a command: one case `main` whose model is the job's name. Call it for
/// a submission without problems.
[[nodiscard]] std::string suite_text(const Submission& submission);

/// Devices on each node.
[[nodiscard]] int devices_per_node(const Submission& submission) noexcept;

}  // namespace assay::jobs
