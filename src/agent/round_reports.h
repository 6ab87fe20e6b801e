#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cpu_set.h"
#include "core/json_fields.h"
#include "core/round_status.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "evidence/file_record.h"
#include "telemetry/machine_use.h"

namespace assay::agent {

// An agent's reports about a running round (agent/messages.h).

/// Stamped when the program has replaced the fork.
struct RankStart {
  static constexpr const char* kType = "rank_start";
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  Instant at;
  std::optional<CpuSet> bound{};  ///< nothing: to no particular CPU
  std::optional<int> memory{};    ///< the NUMA node preferred for its memory

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
  /// The rank has not ended; it only sleeps (RoundRequest::ends_at_rest).
  bool rests = false;
  Instant at;
  /// The CPUs on which a bound rank's threads were seen; nothing: not observed.
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

/// The round, or one of its ranks, could not be started.
struct StartFailed {
  static constexpr const char* kType = "start_failed";
  std::string kind;         ///< environment, launch
  std::optional<int> rank;  ///< nothing: no particular rank
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

/// The activity of a living rank, as far as its output and its process show it.
struct RankLiveness {
  int rank = 0;
  double idle_s = 0;         ///< since its last output of any kind
  double event_idle_s = 0;   ///< since its last PerfLog event or its start
  std::uint64_t events = 0;  ///< PerfLog events so far; 0: it may not use PerfLog
  std::uint64_t steps = 0;
  std::optional<std::int64_t> step{};  ///< the newest number
  bool in_step = false;                ///< it has begun a step and not ended it
  std::string state{};                 ///< its process's, as in /proc: "T"
  std::string waits_in{};              ///< the kernel function it sleeps in; empty: unknown
  /// Mean CPU use, in cores, of the rank and its children while silent; nothing: unknown.
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

/// The agent is ending its ranks because they reached their time limit.
struct LimitReached {
  static constexpr const char* kType = "limit";
  std::vector<RankLiveness> silent{};  ///< as in a heartbeat

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("silent", self.silent);
  }
};

/// The most ranks of a node whose liveness one message reports: the longest silent ones.
inline constexpr std::size_t kMaxRanksTold = 64;

/// Sent every second while a round runs.
struct Heartbeat {
  static constexpr const char* kType = "heartbeat";
  /// The longest silent rank, if it has been silent for over a second.
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
  double idle_s = 0;  ///< of the running rank with the shortest silence
  std::optional<std::int64_t> step_min{};
  std::optional<std::int64_t> step_max{};
  std::optional<double> loss{};  ///< nothing if unknown or not finite
  std::optional<Suspect> suspect{};
  /// Running ranks that have had no output, or no event although they step, for half a minute or
  /// half of the stall limit.
  std::vector<RankLiveness> silent{};
  std::optional<double> busy_cpus{};  ///< busy CPUs of the machine, whatever uses them
  std::optional<double> cpu_util{};
  std::optional<double> mem_used_bytes{};
  std::optional<double> power_w{};
  std::optional<double> device_util{};
  std::string head;  ///< of the node's evidence chain (evidence/chain.h)
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

/// What was added to a file of the round since the last such message, for onlookers: the file
/// itself is the evidence and is sent at the end.
struct Output {
  static constexpr const char* kType = "output";
  std::string id;
  std::string file;                 ///< "rank3.out.log", "telemetry.csv"
  std::string data;                 ///< invalid UTF-8 is replaced on the way
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
  std::string file{};  ///< evidence that could not be written, usually for a full disk; empty: none

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

/// A process that survives SIGKILL for ten seconds.
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
  /// A rank with an incomplete log.
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
  /// Ranks that ended by themselves while other processes held their output, which were then ended:
  /// the output ends in the middle.
  std::vector<int> output_held{};
  /// On a node that was only watched: the most processes with the round's mark at once.
  std::optional<int> marked{};
  /// All files of the node's folder that the judge reads, as written, including the chain itself.
  /// Nothing: the round could not be started.
  std::optional<std::vector<evidence::FileRecord>> files;
  std::string head;                                ///< the chain's last head
  std::optional<telemetry::MachineUse> machine{};  ///< nothing: no rank was to be started
  Instant at;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("agent_cpu_s", self.agent_cpu_s);
    field("agent_rss_bytes", self.agent_rss_bytes);
    field("killed_leftovers", self.killed_leftovers);
    field("dropped", self.dropped);
    field.optional("output_held", self.output_held);
    field.optional("marked", self.marked);
    field.optional("files", self.files);
    field.optional("head", self.head);
    field.optional("machine", self.machine);
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
  }
};

}  // namespace assay::agent
