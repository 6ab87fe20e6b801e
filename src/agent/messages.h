#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/connectivity.h"
#include "core/cpu_set.h"
#include "core/json_fields.h"
#include "core/round_status.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "evidence/file_record.h"
#include "probe/check.h"
#include "probe/execution.h"
#include "probe/listing.h"
#include "telemetry/device_source.h"
#include "telemetry/machine_use.h"

namespace assay::agent {

// The messages between controller and agent, one struct each; docs/dev/agent-protocol.md
// describes them. kType is the message's "type"; Answer is what a request is answered with, unless
// it is a Refusal.

// Reports: agent → controller.

/// The first report: the agent's identity. What it could not find out is empty.
struct Hello {
  static constexpr const char* kType = "hello";
  int protocol = 0;
  std::string version;
  int pid = 0;
  std::string host;
  std::string home;
  std::string bindir;   ///< the folder of its program
  std::string address;  ///< under which other nodes reach it
  std::string boot_id;
  std::string job;  ///< the scheduler's

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("protocol", self.protocol);
    field("version", self.version);
    field("pid", self.pid);
    field.optional("host", self.host);
    field.optional("home", self.home);
    field.optional("bindir", self.bindir);
    field.optional("address", self.address);
    field.optional("boot_id", self.boot_id);
    field.optional("job", self.job);
  }
};

/// Stamped when the program had replaced the fork.
struct RankStart {
  static constexpr const char* kType = "rank_start";
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  Instant at;
  std::optional<CpuSet> bound{};  ///< nothing: to no CPU in particular
  std::optional<int> memory{};    ///< the NUMA node that its memory is taken from first

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("rank", self.rank);
    field("local_rank", self.local_rank);
    field("pid", self.pid);
    field.optional("bound", self.bound);
    field.optional("memory", self.memory);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

struct RankExit {
  static constexpr const char* kType = "rank_exit";
  int rank = 0;
  int local_rank = 0;
  ExitStatus exit;
  EndedBy ended_by = EndedBy::itself;
  std::uint64_t log_bytes = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t steps = 0;
  /// It has not ended, but only sleeps (RoundRequest::ends_at_rest).
  bool rests = false;
  Instant at;
  /// Of a bound rank: the CPUs on which its threads were seen. Nothing: not looked at.
  std::optional<CpuSet> ran_on{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("rank", self.rank);
    field("local_rank", self.local_rank);
    field.optional("rests", self.rests);
    field.optional("ran_on", self.ran_on);
    field.optional("signal", self.exit.signal);
    field.optional("code", self.exit.code);
    field("ended_by", self.ended_by);
    field("log_bytes", self.log_bytes);
    field("dropped_bytes", self.dropped_bytes);
    field("steps", self.steps);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

/// The round, or a rank of it, could not be started.
struct StartFailed {
  static constexpr const char* kType = "start_failed";
  std::string kind;         ///< environment, launch
  std::optional<int> rank;  ///< nothing: no rank in particular
  std::string reason;
  std::string where;
  std::string advice;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("kind", self.kind);
    field.optional("rank", self.rank);
    field("reason", self.reason);
    field.optional("where", self.where);
    field.optional("advice", self.advice);
  }
};

/// What a living rank does, as far as its output and its process tell.
struct RankLiveness {
  int rank = 0;
  double idle_s = 0;         ///< since its last output of any kind
  double event_idle_s = 0;   ///< since its last PerfLog event, or its start
  std::uint64_t events = 0;  ///< of PerfLog, so far; 0: it may not speak it
  std::uint64_t steps = 0;
  std::optional<std::int64_t> step{};  ///< the newest number
  bool in_step = false;                ///< it began a step that it has not ended
  std::string state{};                 ///< of its process, as in /proc: "T"
  std::string waits_in{};              ///< the kernel's function that it sleeps in; empty: unknown
  /// Mean share of a core that it and its children used while it was silent; nothing: not known.
  std::optional<double> cpu{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("rank", self.rank);
    field("idle_s", self.idle_s);
    field("event_idle_s", self.event_idle_s);
    field("events", self.events);
    field("steps", self.steps);
    field.optional("step", self.step);
    field.optional("in_step", self.in_step);
    field("state", self.state);
    field.optional("waits_in", self.waits_in);
    field.optional("cpu", self.cpu);
  }
};

/// The agent ends its ranks because they have reached their time limit.
struct LimitReached {
  static constexpr const char* kType = "limit";
  std::vector<RankLiveness> silent{};  ///< as in a heartbeat

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("silent", self.silent);
  }
};

/// Ranks of one node that a message tells the liveness of, at most: the longest silent ones.
inline constexpr std::size_t kMaxRanksTold = 64;

/// Every second while a round runs.
struct Heartbeat {
  static constexpr const char* kType = "heartbeat";
  /// The rank that has been silent for longest, when that is over a second.
  struct Suspect {
    int rank = 0;
    double idle_s = 0;
    std::string state;

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("rank", self.rank);
      field("idle_s", self.idle_s);
      field("state", self.state);
    }
  };

  std::string id;
  int running = 0;
  int ranks = 0;
  double idle_s = 0;  ///< of the running rank that was silent for the shortest time
  std::optional<std::int64_t> step_min{};
  std::optional<std::int64_t> step_max{};
  std::optional<double> loss{};  ///< nothing also when it is not finite
  std::optional<Suspect> suspect{};
  /// Running ranks that have been without output, or without an event though they step, for half a
  /// minute or half of the stall limit.
  std::vector<RankLiveness> silent{};
  std::optional<double> busy_cpus{};  ///< of the machine's, by everything on it
  std::optional<double> cpu_util{};
  std::optional<double> mem_used_bytes{};
  std::optional<double> power_w{};
  std::optional<double> device_util{};
  std::string head;  ///< of the node's chain (evidence/chain.h)
  Instant at;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("running", self.running);
    field("ranks", self.ranks);
    field("idle_s", self.idle_s);
    field.optional("step_min", self.step_min);
    field.optional("step_max", self.step_max);
    field.optional("loss", self.loss);
    field.optional("suspect", self.suspect);
    field.optional("silent", self.silent);
    field.optional("busy_cpus", self.busy_cpus);
    field.optional("cpu_util", self.cpu_util);
    field.optional("mem_used_bytes", self.mem_used_bytes);
    field.optional("power_w", self.power_w);
    field.optional("device_util", self.device_util);
    field.optional("head", self.head);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

/// What a file of the round got since the last such message, for onlookers: the file itself is the
/// evidence, and comes at the end.
struct Output {
  static constexpr const char* kType = "output";
  std::string id;
  std::string file;                 ///< "rank3.out.log", "telemetry.csv"
  std::string data;                 ///< bytes that are no UTF-8 are replaced on the way
  std::uint64_t skipped_bytes = 0;  ///< before `data`: more came than may be sent

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("file", self.file);
    field("data", self.data);
    field.optional("skipped_bytes", self.skipped_bytes);
  }
};

/// Something that should have been recorded was not.
struct Gap {
  static constexpr const char* kType = "gap";
  std::string source;
  double seconds = 0;
  std::string reason;
  Instant at;
  std::string file{};  ///< evidence that could not be written, a full disk mostly; empty: none

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("source", self.source);
    field("seconds", self.seconds);
    field("reason", self.reason);
    field.optional("file", self.file);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

/// A process that is still there ten seconds after SIGKILL.
struct Unkillable {
  static constexpr const char* kType = "unkillable";
  int pid = 0;
  std::string state;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("pid", self.pid);
    field("state", self.state);
  }
};

/// Nothing of the round is left on the node.
struct RoundEnd {
  static constexpr const char* kType = "round_end";
  /// A rank whose log is not whole.
  struct Dropped {
    int rank = 0;
    std::uint64_t dropped_bytes = 0;

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("rank", self.rank);
      field("dropped_bytes", self.dropped_bytes);
    }
  };

  std::string id;
  double agent_cpu_s = 0;
  std::uint64_t agent_rss_bytes = 0;
  int killed_leftovers = 0;
  std::vector<Dropped> dropped;
  /// Of a node that was only watched: how many processes with the round's mark it was seen to run
  /// at once.
  std::optional<int> marked{};
  /// All files of the node's folder that the judge reads, as they were written; the chain's own
  /// among them. Nothing: the round could not be started.
  std::optional<std::vector<evidence::FileRecord>> files;
  std::string head;                                ///< the chain's last
  std::optional<telemetry::MachineUse> machine{};  ///< nothing: no rank was to be started
  Instant at;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("agent_cpu_s", self.agent_cpu_s);
    field("agent_rss_bytes", self.agent_rss_bytes);
    field("killed_leftovers", self.killed_leftovers);
    field("dropped", self.dropped);
    field.optional("marked", self.marked);
    field.optional("files", self.files);
    field.optional("head", self.head);
    field.optional("machine", self.machine);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

struct SystemReport {
  static constexpr const char* kType = "system";
  Json system;  ///< as in system.json

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("system", self.system);
  }
};

struct Checks {
  static constexpr const char* kType = "checks";
  std::vector<probe::Check> checks;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("checks", self.checks);
  }
};

struct ClockReading {
  static constexpr const char* kType = "clock";
  std::int64_t wall_ns = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("wall_ns", self.wall_ns);
  }
};

struct DataListings {
  static constexpr const char* kType = "data";
  std::vector<probe::Listing> listings;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("listings", self.listings);
  }
};

struct ListeningOn {
  static constexpr const char* kType = "listening";
  int port = 0;
  std::string problem;  ///< empty: it listens

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("port", self.port);
    field("problem", self.problem);
  }
};

struct Connections {
  static constexpr const char* kType = "connected";
  std::vector<Reached> results;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("results", self.results);
  }
};

/// What the ranks of the node would execute.
struct Executions {
  static constexpr const char* kType = "execution";
  probe::Execution execution;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("execution", self.execution);
  }
};

struct CachesDropped {
  static constexpr const char* kType = "caches";
  bool done = false;
  std::string how;  ///< or why not

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("done", self.done);
    field("how", self.how);
  }
};

/// A port without a listener right now.
struct FreePort {
  static constexpr const char* kType = "port";
  int port = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("port", self.port);
  }
};

/// A request that the agent does not know, cannot read or cannot do.
struct Refusal {
  static constexpr const char* kType = "error";
  std::string reason;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("reason", self.reason);
  }
};

/// A piece of the conversation between a program of the round that said `ssh HOST` and what runs
/// for it on another node (agent/round_ssh.h). The controller passes it on to the agent of `peer`,
/// with the sender's number in its place: it is a report and a request.
struct Relay {
  static constexpr const char* kType = "relay";
  std::string id;             ///< of the round
  int peer = 0;               ///< the node at the other end
  std::uint64_t channel = 0;  ///< of those that the caller's node opened
  bool back = false;          ///< from the program to its caller
  std::string kind{};         ///< the letter of an entry::FrameKind
  std::string data{};         ///< in hex: what is said may be any bytes

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("peer", self.peer);
    field("channel", self.channel);
    field.optional("back", self.back);
    field("kind", self.kind);
    field.optional("data", self.data);
  }
};

using Report =
    std::variant<Hello, RankStart, RankExit, StartFailed, LimitReached, Heartbeat, Output, Gap,
                 Unkillable, RoundEnd, SystemReport, Checks, ClockReading, DataListings,
                 ListeningOn, Connections, Executions, CachesDropped, FreePort, Relay, Refusal>;

// Requests: controller → agent.

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

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("folder", self.folder);
    field.optional("nodes", self.nodes);
    field.optional("env", self.env);
  }
};

/// Run these ranks and record the evidence in `directory`.
struct RoundRequest {
  static constexpr const char* kType = "round";
  std::string id;  ///< unique over all runs; every rank carries it as ASSAY_ROUND_ID
  std::filesystem::path directory;
  bool fresh = false;   ///< what an earlier attempt left in `directory` is removed first
  std::string workdir;  ///< empty: the agent's
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

using Request = std::variant<RoundRequest, StopRequest, DescribeRequest, ProbeRequest, ClockRequest,
                             ListDataRequest, ListenRequest, ConnectRequest, IdentifyRequest,
                             DropCachesRequest, FreePortRequest, ForgetRequest, Relay, Ping, Bye>;

/// Where the `ssh` of a round's node lies. Several nodes may be on one machine.
[[nodiscard]] std::filesystem::path round_ssh_folder(const std::string& round_id, int node);
/// Removes what a lost agent of the round left of it on this machine.
void remove_round_ssh_folders(const std::string& round_id);

[[nodiscard]] Json to_json(const Report& report);
[[nodiscard]] Json to_json(const Request& request);
/// Throws Error of kind internal for an unknown type, a missing field or one of the wrong type.
[[nodiscard]] Report report_from_json(const Json& json);
[[nodiscard]] Request request_from_json(const Json& json);

}  // namespace assay::agent
