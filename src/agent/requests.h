#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/node_answers.h"
#include "core/cpu_set.h"
#include "core/json_fields.h"
#include "core/round_status.h"
#include "core/time.h"

namespace assay::agent {

// Requests from a controller to an agent (agent/messages.h). Answer is the type of the answer,
// unless the agent sends a Refusal.

/// A process for the agent to start.
struct RankRequest {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<std::string> cleanup{};  ///< run if the rank fails; may be empty

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("rank", self.rank);
    field("local_rank", self.local_rank);
    field("argv", self.argv);
    field("env", self.env);
    field.optional("cleanup", self.cleanup);
  }
};

/// How a round's programs reach its other nodes by `ssh`, and what they find there.
struct RoundSshRequest {
  std::filesystem::path folder{};      ///< created for the round's user alone; empty: no ssh
  std::map<std::string, int> nodes{};  ///< every name that a node of the round goes by → its number
  std::map<std::string, std::string> env;  ///< for programs run here for others, beside the round's
  /// Wraps programs run here for others: `assay-agent --visitors` in a container; empty: they run
  /// on the node itself. `cleanup` removes the container.
  std::vector<std::string> container{};
  std::vector<std::string> cleanup{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("folder", self.folder);
    field.optional("nodes", self.nodes);
    field.optional("env", self.env);
    field.optional("container", self.container);
    field.optional("cleanup", self.cleanup);
  }
};

/// Runs these ranks and records the evidence in `directory`.
struct RoundRequest {
  static constexpr const char* kType = "round";
  std::string id;  ///< unique across runs; every rank carries it as ASSAY_ROUND_ID
  std::filesystem::path directory;
  bool fresh = false;  ///< removes an earlier attempt's content of `directory` first
  /// A file of the run that is visible if `directory` is on a file system shared by the nodes;
  /// empty when it need not be.
  std::filesystem::path shared_file{};
  std::string workdir;                       ///< empty: the agent's
  std::map<std::string, std::string> files;  ///< name in `directory` → content
  std::map<std::string, std::string> env;    ///< shared by all ranks
  /// Empty when another node's rank (mpirun) starts what runs here. The machine, and the processes
  /// with the round's mark, are then watched until a stop.
  std::vector<RankRequest> ranks;
  /// Processes with the round's mark end with it, whoever started them: a rank may have others
  /// start processes (srun).
  bool owns_marked = false;
  Bind bind{};
  Nanoseconds time_limit{};
  Nanoseconds stall_limit{};  ///< 0: off
  Nanoseconds grace{};
  std::uint64_t output_limit = 0;
  Nanoseconds telemetry_interval{};  ///< 0: off
  std::vector<telemetry::DeviceSource> sources;
  std::string case_name;  ///< with `round`, names the round to people
  int round = 0;
  bool lists_processes = true;  ///< to name other users of the machine; one agent per machine
  std::string metrics;  ///< "127.0.0.1:9400": serve the round's metrics there; empty: nowhere
  /// The most output of this node to send, per second; 0 sends none.
  std::uint64_t live_bytes = 0;
  RoundSshRequest ssh{};
  /// When only a `sleep infinity` is left of the ranks, they are reported as ended successfully;
  /// they stay until a stop.
  bool ends_at_rest = false;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("directory", self.directory);
    field.optional("fresh", self.fresh);
    field.optional("shared_file", self.shared_file);
    field.optional("workdir", self.workdir);
    field("files", self.files);
    field("env", self.env);
    field("ranks", self.ranks);
    field.optional("owns_marked", self.owns_marked);
    field.optional("bind", self.bind);
    field("time_limit_ns", self.time_limit);
    field("stall_limit_ns", self.stall_limit);
    field("grace_ns", self.grace);
    field("output_limit", self.output_limit);
    field("telemetry_interval_ns", self.telemetry_interval);
    field("sources", self.sources);
    field.optional("case", self.case_name);
    field.optional("round", self.round);
    field.optional("lists_processes", self.lists_processes);
    field.optional("metrics", self.metrics);
    field.optional("live_bytes", self.live_bytes);
    field.optional("ssh", self.ssh);
    field.optional("ends_at_rest", self.ends_at_rest);
  }
};

/// Ends the ranks: SIGTERM, then SIGKILL after the grace, which a second one can only shorten.
struct StopRequest {
  static constexpr const char* kType = "stop";
  EndedBy cause = EndedBy::stop;
  Nanoseconds grace{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("cause", self.cause);
    field("grace_ns", self.grace);
  }
};

struct DescribeRequest {
  static constexpr const char* kType = "describe";
  using Answer = SystemReport;
  Json device_query{};                      ///< the vendor's `query`; null if it has none
  std::vector<std::string> device_state{};  ///< its command for the devices' state; empty if none

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("device_query", self.device_query);
    field.optional("device_state", self.device_state);
  }
};

/// Asks whether this machine is fit.
struct ProbeRequest {
  static constexpr const char* kType = "probe";
  using Answer = Checks;
  probe::CheckOptions options;
  /// The vendor's samplers, which show whether the devices are idle; nothing: do not ask.
  std::optional<std::vector<telemetry::DeviceSource>> sources;
  /// The vendor's command for the devices' state, or an empty one; nothing: do not ask.
  std::optional<std::vector<std::string>> device_state{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("out_dir", self.options.out_dir);
    field("required_disk_bytes", self.options.required_disk_bytes);
    field("required_memory_bytes", self.options.required_memory_bytes);
    field("procs", self.options.procs);
    field("vendor", self.options.vendor);
    field("device_query", self.options.device_query);
    field("device_pattern", self.options.device_pattern);
    field("container_runtime", self.options.container_runtime);
    field.optional("commands", self.options.commands);
    field("timeout_ns", self.options.timeout);
    field.optional("sources", self.sources);
    field.optional("device_state", self.device_state);
  }
};

struct ClockRequest {
  static constexpr const char* kType = "clock";
  using Answer = ClockReading;
  template <class Self, class F>
  static void fields(Self& /*self*/, F&& /*field*/) {}
};

struct ListDataRequest {
  static constexpr const char* kType = "list_data";
  using Answer = DataListings;
  std::vector<std::string> paths;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("paths", self.paths);
  }
};

/// Keeps the socket open until the next such request or the agent's end.
struct ListenRequest {
  static constexpr const char* kType = "listen";
  using Answer = ListeningOn;
  int port = 0;  ///< 0: any free one

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("port", self.port);
  }
};

struct ConnectRequest {
  static constexpr const char* kType = "connect";
  using Answer = Connections;
  std::vector<Peer> peers;
  Nanoseconds limit{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("peers", self.peers);
    field("limit_ns", self.limit);
  }
};

/// Asks what would be executed; sent before a round, outside the measured time.
struct IdentifyRequest {
  static constexpr const char* kType = "identify";
  using Answer = Executions;
  probe::ExecutionQuery query;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("query", self.query);
  }
};

struct DropCachesRequest {
  static constexpr const char* kType = "drop_caches";
  using Answer = CachesDropped;
  template <class Self, class F>
  static void fields(Self& /*self*/, F&& /*field*/) {}
};

struct FreePortRequest {
  static constexpr const char* kType = "free_port";
  using Answer = FreePort;
  template <class Self, class F>
  static void fields(Self& /*self*/, F&& /*field*/) {}
};

/// Removes what is left of a round that was collected; only below a folder `runs`.
struct ForgetRequest {
  static constexpr const char* kType = "forget";
  std::filesystem::path directory;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("directory", self.directory);
  }
};

/// From now on, the agent ends if it hears nothing for `silence`.
struct Ping {
  static constexpr const char* kType = "ping";
  Nanoseconds silence{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("silence_ns", self.silence);
  }
};

/// Ends the agent.
struct Bye {
  static constexpr const char* kType = "bye";
  template <class Self, class F>
  static void fields(Self& /*self*/, F&& /*field*/) {}
};

}  // namespace assay::agent
