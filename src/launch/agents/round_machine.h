#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/messages.h"
#include "evidence/file_record.h"
#include "launch/agents/culprit.h"
#include "launch/observer.h"
#include "plan/plan.h"
#include "store/journal_event.h"

namespace assay::launch {

/// The mind of a round on agents: what becomes of every report, when it is over and how it ended.
/// No clock, no I/O: times are handed in (monotonic nanoseconds), and what has to be done comes
/// back. The same calls give the same actions.
class RoundMachine {
 public:
  struct Setup {
    std::string id;                  ///< of the round, in its agents' reports
    std::vector<std::string> hosts;  ///< by node
    int ranks = 0;                   ///< on all nodes
    plan::Limits limits;
    /// Ranks that do not need each other (workers of an experiment): the round goes on without
    /// those that are lost.
    bool independent_ranks = false;
    /// Nodes without a rank of their own: they are watched until the others have ended.
    std::set<int> watched{};
    /// How long ranks that have ended but sleep (agent::RankExit::rests) are left alone.
    Nanoseconds keep{};
    /// How often a node of independent ranks that was lost, or whose ranks have failed, begins its
    /// part again.
    int returns = 0;
  };

  struct JournalEntry {
    store::JournalEvent event{};
    int node = -1;  ///< -1: of no node
    Json fields;
  };
  struct Stop {
    int node = 0;
    agent::StopRequest request;
  };
  /// The caller does them in this order.
  struct Actions {
    std::vector<JournalEntry> journal;
    std::vector<int> drop;   ///< nodes whose agent is given up
    std::vector<int> sweep;  ///< nodes where nothing ends the ranks any more
    std::vector<Stop> stop;
    std::vector<int> bring_back;  ///< nodes that are to have an agent again
    std::vector<int> begin;       ///< nodes whose work is to be sent, as part() says
  };

  explicit RoundMachine(Setup setup);

  /// The work has been sent to every node: from now on each of them has to be heard.
  void begin(std::int64_t now_ns);

  [[nodiscard]] Actions report(std::int64_t now_ns, int node, const agent::Report& report);
  /// The connection to the node's agent is gone.
  [[nodiscard]] Actions lost(std::int64_t now_ns, int node, const std::string& reason);
  /// What became of a try to bring a node back: its agent is there, and nothing of the part before
  /// is left; or why not.
  [[nodiscard]] Actions came_back(std::int64_t now_ns, int node);
  [[nodiscard]] Actions not_back(std::int64_t now_ns, int node, const std::string& reason);
  /// Limits of time; several times a second.
  [[nodiscard]] Actions tick(std::int64_t now_ns);
  /// The user's wish, first: SIGTERM and the grace; again: SIGKILL at once. Independent ranks have
  /// been asked to stop by then, and get SIGTERM only when they have not ended within the grace.
  [[nodiscard]] Actions interrupt(std::int64_t now_ns);
  /// The ranks are about to end by themselves, as they should; those that have not after the grace
  /// are stopped.
  void wind_down(std::int64_t now_ns);
  /// Ends the round for a reason from outside of it.
  void fail(std::int64_t now_ns, const RoundOutcome& outcome);
  /// After the end: what the node recorded could not be fetched.
  void not_collected(const std::string& reason);
  /// The same, because this machine could not write it.
  void not_written(const std::string& reason);

  /// Whether every node has ended or is lost, or the round ended before it began.
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool is_lost(int node) const { return node_at(node).lost; }
  /// How often the node has begun its work in this round; each part has a folder and an id.
  [[nodiscard]] int part(int node) const { return node_at(node).part; }
  [[nodiscard]] std::string part_id(int node) const;
  /// What the node's agent says that the folder of this part holds; null: it did not come to say
  /// so.
  [[nodiscard]] const std::vector<evidence::FileRecord>* files(int node, int part = 1) const {
    const auto found = node_at(node).files.find(part);
    return found == node_at(node).files.end() ? nullptr : &found->second;
  }
  /// Watched nodes that were never seen to run a process with the round's mark.
  [[nodiscard]] std::vector<int> unmarked() const;
  /// Nodes whose agent was asked to end by something other than this controller.
  [[nodiscard]] std::vector<int> leaving() const;
  /// Whether ranks ended in a way that a scheduler may explain, or the signal to stop may have been
  /// its own.
  [[nodiscard]] bool ask_scheduler() const noexcept {
    return (ended_from_outside_ || interrupts_ > 0) && !winding_down_;
  }
  /// How it ended; `scheduler` is its explanation, empty where it has none.
  [[nodiscard]] RoundOutcome outcome(const std::string& scheduler) const;
  [[nodiscard]] const RoundProgress& progress() const noexcept { return progress_; }

 private:
  enum class Phase {
    preparing,
    running,
    draining,  ///< the ranks have until the deadline to end by themselves
    stopping,  ///< they were asked to end; agents that are silent after the deadline are given up
  };
  struct Node {
    bool ended = false;
    bool lost = false;
    bool leaving = false;
    bool rests = false;  // its ranks have ended, but sleep
    std::int64_t heard_ns = 0;
    std::set<int> living;                       // ranks that were started and have not ended
    bool told = false;                          // a heartbeat of this round came
    std::map<int, agent::RankLiveness> silent;  // as the last heartbeat has it
    // How busy the machine has been over the last part of the stall limit, and since when that is
    // known: CPUs, and the share of its devices.
    double busy_cpus = 0;
    double device_util = 0;
    std::optional<std::int64_t> use_since_ns;
    std::int64_t use_ns = 0;
    std::optional<int> marked;                               // agent::RoundEnd
    std::map<int, std::vector<evidence::FileRecord>> files;  // by part
    int part = 1;
    int started = 0;                       // ranks, in this part
    bool failed = false;                   // one of them, in this part
    std::int64_t begun_ns = 0;             // this part
    std::int64_t away_ns = 0;              // since when it is not in the round
    int tries = 0;                         // to bring it back
    std::optional<std::int64_t> again_ns;  // when the next one is due
    bool coming = false;                   // one is under way
    std::string head;                      // as it was journaled last
    std::int64_t head_ns = 0;

    [[nodiscard]] bool done() const noexcept { return ended || lost; }
  };

  void on_heartbeat(std::int64_t now_ns, int node, const agent::Heartbeat& beat, Actions& actions);
  void on_rank_exit(std::int64_t now_ns, int node, const agent::RankExit& exit);
  void on_limit(std::int64_t now_ns, int node, const agent::LimitReached& limit, Actions& actions);
  void on_start_failed(std::int64_t now_ns, int node, const agent::StartFailed& failure,
                       Actions& actions);
  void on_gap(int node, const agent::Gap& gap);
  void note_silence(std::int64_t now_ns, int node, Actions& actions) const;
  void check_silence(std::int64_t now_ns, Actions& actions);
  void check_stall(std::int64_t now_ns, Actions& actions);
  void follow_use(std::int64_t now_ns, Node& node, const agent::Heartbeat& beat) const;
  /// Whether the round does not go on, by its ranks' liveness.
  [[nodiscard]] bool is_stalled(std::int64_t now_ns) const;
  /// Whether no machine of the round has done anything to speak of for the stall limit.
  [[nodiscard]] bool machines_idle(std::int64_t now_ns) const;
  /// The ranks that live, with what is known of them; those that talk have only their numbers.
  [[nodiscard]] std::vector<LivingRank> living() const;
  void conclude_hang(RoundStatus status, const std::string& what, const std::string& advice);
  [[nodiscard]] std::string rank_text(const LivingRank& one) const;
  [[nodiscard]] std::string running_text(const std::vector<LivingRank>& ranks) const;
  /// Ranks that only sleep are ended when nobody else works any more, and their time is over.
  void end_rest(std::int64_t now_ns, Actions& actions);
  [[nodiscard]] bool all_rest() const;
  /// When no node with ranks is left.
  void release_watched(std::int64_t now_ns, Actions& actions);
  void lose(std::int64_t now_ns, int node, const std::string& reason, Actions& actions);
  /// Of a node that has just been lost, or ended badly: whether and when it is to come back.
  void await_return(std::int64_t now_ns, int node, const std::string& reason, Actions& actions);
  void bring_back(std::int64_t now_ns, Actions& actions);
  /// Whether the round is worth keeping for a node that may come back.
  [[nodiscard]] bool waits_for(const Node& node) const;
  void drain(std::int64_t now_ns);
  void stop_all(std::int64_t now_ns, EndedBy cause, Nanoseconds grace, Actions& actions);
  void conclude(RoundStatus status, const std::string& reason, const std::string& advice);
  /// A rank or an agent is gone: the end of the round, but not of one whose ranks are independent.
  /// Gives whether it is the end.
  bool conclude_unless_independent(RoundStatus status, const std::string& reason,
                                   const std::string& advice);
  [[nodiscard]] Node& node_at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }
  [[nodiscard]] const Node& node_at(int node) const {
    return nodes_.at(static_cast<std::size_t>(node));
  }
  [[nodiscard]] const std::string& host(int node) const {
    return setup_.hosts.at(static_cast<std::size_t>(node));
  }
  [[nodiscard]] std::string rank_on_host(int rank, int node) const;

  Setup setup_;
  std::vector<Node> nodes_;
  Phase phase_ = Phase::preparing;
  std::int64_t deadline_ns_ = 0;           // of draining and stopping
  std::optional<RoundOutcome> outcome_;    // the first reason not to end well
  std::optional<RoundOutcome> last_loss_;  // of independent ranks
  std::optional<RoundOutcome> unwritten_;  // the first evidence that could not be written
  std::optional<std::int64_t> rest_since_ns_;
  bool winding_down_ = false;
  bool ended_from_outside_ = false;
  int interrupts_ = 0;
  RoundProgress progress_;
};

}  // namespace assay::launch
