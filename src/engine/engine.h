#pragma once

#include <compare>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_request.h"
#include "jobs/job_state.h"
#include "jobs/submission.h"

namespace assay::engine {

/// One execution of a job.
struct Execution {
  jobs::JobId job = 0;
  int attempt = 0;

  auto operator<=>(const Execution&) const = default;
};

/// What is to be executed, and where.
struct Order {
  Execution execution{};
  int restarts = 0;                ///< ASSAY_RESTART_COUNT
  std::filesystem::path folder{};  ///< of the attempt; the engine makes it, and the run in it
  std::filesystem::path code{};    ///< what its owner sent, read-only; empty: nothing
  std::string owner{};
  std::string team{};
  std::optional<int> array_index{};
  jobs::Submission submission{};
  /// Variable → value of the submission's secrets: for the ranks alone, and nowhere written down
  /// but where engine.md says so. Of an order to start only.
  std::map<std::string, std::string> secrets{};
  jobs::Placement placement{};  ///< empty: an engine that has a queue finds one
  jobs::Queue queue{};          ///< that it was submitted to
};

/// What an order would run.
struct Planned {
  std::string text{};    ///< as `assay run --dry-run` shows it; empty: the engine cannot tell
  int nodes = 0;         ///< of its largest case; 0: not known
  int procs = 0;         ///< on a node, of the case with most of them; 0: not known
  Nanoseconds grace{0};  ///< of the case that gives the longest; 0: not known

  static void fields(auto& self, auto&& field) {
    field("text", self.text);
    field("nodes", self.nodes);
    field("procs", self.procs);
    field.optional("grace_ns", self.grace);
  }
};

/// A command of this machine that runs `assay-agent ARGS` on a node of an execution. Its stdin and
/// stdout are those of the agent, byte by byte: no terminal, nothing before or between them.
struct Way {
  std::vector<std::string> argv{};  ///< empty: there is no way in
  bool here = false;  ///< the agent is on this machine, with the very descriptors of the command
};

/// What an engine can do, as data.
struct Traits {
  std::string name{};      ///< "embedded", "slurm"
  bool has_queue = false;  ///< decides itself who runs when: jobs are handed to it at once
  bool drains = false;     ///< takes nodes out of use itself, and says why they are
};

/// How the scheduler of an engine that drains sees a node.
struct NodeStanding {
  std::string state{};  ///< in its own word: "mixed", "down"
  bool drained = false;
  std::string reason{};  ///< why it is not used; empty: none is given
  std::string by{};      ///< who gave the reason
};

/// A job of the engine's scheduler that was not submitted here.
struct OtherJob {
  std::string id{};
  std::string name{};
  std::string user{};
  std::string queue{};
  std::string state{};    ///< in the scheduler's own word
  std::string waiting{};  ///< what it waits for; empty: it does not
  int nodes = 0;
  std::string node_list{};
  jobs::WallTime submitted_ns = 0;  ///< 0: not known
  jobs::WallTime started_ns = 0;    ///< 0: it has not, or that is not known
};

/// Where jobs run. An execution is a run of `assay run` that lives on when the server does not.
///
/// What happens is reported as events of the job's state machine, from any thread, never from
/// within a call of the engine:
///   start()  → started, then exited; or engine_error; or not_placed where the placement has no
///              room for it now, also after started where a node did not answer and nothing of
///              the job began. node_lost where a node goes away meanwhile.
///   recall() → for each execution found, exited or not_found. After not_found this attempt never
///              begins, whatever start() was under way when the server ended.
/// An engine that has a queue says where an execution runs with started and found. One that waits
/// in that queue is started later, also after recall(). What its scheduler does to an execution it
/// says before the end: preempted, time_limit, node_lost, and kill_asked for somebody who ended it
/// there.
/// An execution is started at most once, and reported as ended only when nothing of it runs.
class Engine {
 public:
  using Reporter = std::function<void(const Execution&, const jobs::Event&)>;

  virtual ~Engine() = default;

  [[nodiscard]] virtual Traits traits() const = 0;
  /// Called once, before anything else.
  virtual void report_to(Reporter reporter) = 0;
  /// The machines, and whether they can be used now. Bounded, does not wait for them.
  [[nodiscard]] virtual std::vector<jobs::ClusterNode> nodes() = 0;
  virtual void start(const Order& order) = 0;
  /// The signal, and force after the grace; at once where that is 0. May be called again.
  virtual void stop(const Execution& execution, Nanoseconds grace) = 0;
  /// What start() would run. Takes a moment, starts nothing. Throws Error of kind config where the
  /// suite is wrong.
  [[nodiscard]] virtual Planned plan(const Order& /*order*/) { return {}; }
  /// By node: which of its devices an execution has. Empty: not known.
  [[nodiscard]] virtual std::map<std::string, std::vector<int>> devices_of(
      const Execution& /*execution*/) {
    return {};
  }
  /// The way into an execution that runs, for who wants to enter it: its agent (the program that
  /// the execution's own agents are, in the same version) is started beside what runs on `node`, as
  /// the same user, and ends when its stdin does. `node` is a host as the run's journal names it
  /// (round_start). `args` find the rank and say what is to be done there (entry/node_command.h):
  /// they need no answer of the engine. Starts nothing itself, waits for nothing, from any thread.
  /// Throws Error of kind usage where the execution does not run or has no such node.
  [[nodiscard]] virtual Way enter(const Execution& /*execution*/, const std::string& /*node*/,
                                  const std::vector<std::string>& /*args*/) {
    return {};
  }
  /// What a job waits for in the engine's queue, in words; empty: it does not. Cheap.
  [[nodiscard]] virtual std::string waits_for(jobs::JobId /*job*/) { return {}; }
  /// When its scheduler expects to start a job that waits there; nothing: it does not say. Cheap.
  [[nodiscard]] virtual std::optional<jobs::WallTime> expected_start(jobs::JobId /*job*/) {
    return std::nullopt;
  }
  /// The queues that its scheduler has by itself. Cheap.
  [[nodiscard]] virtual std::vector<std::string> queues() { return {}; }
  /// By node. Cheap.
  [[nodiscard]] virtual std::map<std::string, NodeStanding> standings() { return {}; }
  /// Of an engine that shows others. Cheap.
  [[nodiscard]] virtual std::vector<OtherJob> others() { return {}; }
  /// Why what it says may be out of date; empty: it is not. Cheap.
  [[nodiscard]] virtual std::string trouble() { return {}; }
  /// Of an engine that drains: blocks until its scheduler has done so, bounded. Throws Error of
  /// kind environment with its words.
  virtual void drain(const std::string& /*node*/, const std::string& /*reason*/) {}
  virtual void undrain(const std::string& /*node*/) {}
  /// After a restart of the server.
  virtual void recall(const std::vector<Order>& orders) = 0;
};

}  // namespace assay::engine
