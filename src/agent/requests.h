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

// What a controller asks an agent for (agent/messages.h). Answer is what a request is answered
// with, unless it is a Refusal.

/// One process that the agent starts.
struct RankRequest {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<std::string> cleanup{};  ///< run when the rank did not end well; may be empty

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("rank", self.rank);
    field("local_rank", self.local_rank);
    field("argv", self.argv);
    field("env", self.env);
    field.optional("cleanup", self.cleanup);
  }
};

/// How programs of a round reach its other nodes by `ssh`, and what they find there.
struct RoundSshRequest {
  std::filesystem::path folder{};      ///< is made, for the round's user alone; empty: no ssh
  std::map<std::string, int> nodes{};  ///< what a node of the round may be called → its number
  std::map<std::string, std::string> env;  ///< of what runs here for others, besides the round's
  /// What runs here for others runs within this command, which is `assay-agent --visitors` in a
  /// container; empty: on the node. And what removes the container.
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

/// Run these ranks and record the evidence in `directory`.
struct RoundRequest {
  static constexpr const char* kType = "round";
  std::string id;  ///< unique over all runs; every rank carries it as ASSAY_ROUND_ID
  std::filesystem::path directory;
  bool fresh = false;  ///< what an earlier attempt left in `directory` is removed first
  /// A file of the run that is there where `directory` is on a file system that the nodes share;
  /// empty: it need not be on one.
  std::filesystem::path shared_file{};
  std::string workdir;                       ///< empty: the agent's
  std::map<std::string, std::string> files;  ///< name in `directory` → content
  std::map<std::string, std::string> env;    ///< common to all ranks
  /// None: what runs here is started by another node's rank (mpirun). The machine is watched, with
  /// what carries the round's mark, until a stop.
  std::vector<RankRequest> ranks;
  /// What carries the round's mark ends with it, whoever started it: a rank may have others start
  /// processes (srun).
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
  bool lists_processes = true;  ///< to name what else uses the machine; one agent a machine does
  std::string metrics;  ///< "127.0.0.1:9400": offer the round's metrics there; empty: nowhere
  /// Of the node's output, to be sent every second at most; 0: none is sent.
  std::uint64_t live_bytes = 0;
  RoundSshRequest ssh{};
  /// The ranks have ended, and well, when nothing is left of them but a `sleep infinity`: they are
  /// reported so, and stay until a stop.
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

/// End the ranks: SIGTERM, SIGKILL after the grace. A second one can only shorten the grace.
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
  Json device_query{};                      ///< the vendor's `query`; null: it has none
  std::vector<std::string> device_state{};  ///< its command for the devices' state; empty: none

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("device_query", self.device_query);
    field.optional("device_state", self.device_state);
  }
};

/// Is this machine fit?
struct ProbeRequest {
  static constexpr const char* kType = "probe";
  using Answer = Checks;
  probe::CheckOptions options;
  /// The vendor's samplers, to see whether the devices are idle; nothing: not asked.
  std::optional<std::vector<telemetry::DeviceSource>> sources;
  /// The vendor's command for the devices' state, or an empty one; nothing: not asked.
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

/// The socket stays until the next such request or the agent's end.
struct ListenRequest {
  static constexpr const char* kType = "listen";
  using Answer = ListeningOn;
  int port = 0;  ///< 0: a free one

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

/// What would be executed? Asked before a round, outside of what is measured.
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

/// Remove what a round that was collected left; only what is below a folder `runs` is removed.
struct ForgetRequest {
  static constexpr const char* kType = "forget";
  std::filesystem::path directory;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("directory", self.directory);
  }
};

/// From now on the agent ends when it hears nothing for `silence`.
struct Ping {
  static constexpr const char* kType = "ping";
  Nanoseconds silence{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("silence_ns", self.silence);
  }
};

/// The agent ends.
struct Bye {
  static constexpr const char* kType = "bye";
  template <class Self, class F>
  static void fields(Self& /*self*/, F&& /*field*/) {}
};

}  // namespace assay::agent
