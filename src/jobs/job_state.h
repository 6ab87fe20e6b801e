#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/time.h"

namespace assay::jobs {

/// A moment of a job's life: nanoseconds since the Unix epoch, because jobs outlive the server.
/// Always handed in; nothing in this folder reads a clock.
using WallTime = std::int64_t;

enum class State {
  unapproved,  ///< its queue wants somebody's approval
  queued,      ///< waits for nodes
  scheduling,  ///< has nodes; the engine is asked to start it
  running,
  pausing,  ///< is being stopped, to go on later: paused by a person, preempted, or tried again
  paused,   ///< until somebody resumes it
  killing,  ///< is being stopped for good
  killed,
  finished,  ///< its run came to its end; the verdict is another matter
  failed,    ///< its run did not
  error,     ///< the engine could not run it
};

constexpr auto enum_names(State) {
  using enum State;
  return std::to_array<EnumName<State>>({{unapproved, "unapproved"},
                                         {queued, "queued"},
                                         {scheduling, "scheduling"},
                                         {running, "running"},
                                         {pausing, "pausing"},
                                         {paused, "paused"},
                                         {killing, "killing"},
                                         {killed, "killed"},
                                         {finished, "finished"},
                                         {failed, "failed"},
                                         {error, "error"}});
}

/// Nothing more happens to it.
[[nodiscard]] constexpr bool is_final(State state) noexcept {
  return state >= State::killed;
}
/// Nodes belong to it, because something of it runs or may run there.
[[nodiscard]] constexpr bool holds_nodes(State state) noexcept {
  return state == State::scheduling || state == State::running || state == State::pausing ||
         state == State::killing;
}

enum class EventKind {
  submitted,
  approved,
  rejected,
  placed,       ///< the scheduler has chosen nodes
  handed_over,  ///< the engine's own scheduler is to find nodes
  started,      ///< the engine runs it
  pause_asked,
  resume_asked,
  kill_asked,
  preempted,     ///< the scheduler wants its nodes; with an attempt: the engine's has taken them
  node_lost,     ///< the rest of it still has to be stopped
  exited,        ///< nothing of it runs any more
  time_limit,    ///< it has run for as long as it may
  idle_warned,   ///< its devices have done nothing for a while
  idle_cleared,  ///< they work again
  idle_limit,    ///< they have done nothing for as long as is allowed
  engine_error,  ///< the engine cannot run it; nothing of it runs
  not_placed,    ///< where the scheduler put it the engine has no room, or no node that answers;
                 ///< nothing of it runs, or did
  dependency_failed,
  found,      ///< after a restart of the server: the engine still has this attempt
  not_found,  ///< the same: it has not, and never will have
};

constexpr auto enum_names(EventKind) {
  using enum EventKind;
  return std::to_array<EnumName<EventKind>>({{submitted, "submitted"},
                                             {approved, "approved"},
                                             {rejected, "rejected"},
                                             {placed, "placed"},
                                             {handed_over, "handed_over"},
                                             {started, "started"},
                                             {pause_asked, "pause_asked"},
                                             {resume_asked, "resume_asked"},
                                             {kill_asked, "kill_asked"},
                                             {preempted, "preempted"},
                                             {node_lost, "node_lost"},
                                             {exited, "exited"},
                                             {time_limit, "time_limit"},
                                             {idle_warned, "idle_warned"},
                                             {idle_cleared, "idle_cleared"},
                                             {idle_limit, "idle_limit"},
                                             {engine_error, "engine_error"},
                                             {not_placed, "not_placed"},
                                             {dependency_failed, "dependency_failed"},
                                             {found, "found"},
                                             {not_found, "not_found"}});
}

/// What the evidence of a run is worth, as its judge says.
enum class Verdict { none, valid, invalid, incomplete };

constexpr auto enum_names(Verdict) {
  using enum Verdict;
  return std::to_array<EnumName<Verdict>>(
      {{none, "none"}, {valid, "VALID"}, {invalid, "INVALID"}, {incomplete, "INCOMPLETE"}});
}

/// How a run ended.
enum class Ending {
  completed,    ///< every round was done
  failed,       ///< a round failed, or the run could not go on
  interrupted,  ///< it was stopped because the platform asked
};

constexpr auto enum_names(Ending) {
  using enum Ending;
  return std::to_array<EnumName<Ending>>(
      {{completed, "completed"}, {failed, "failed"}, {interrupted, "interrupted"}});
}

struct Exit {
  Ending ending = Ending::completed;
  int code = 0;  ///< of the first rank that failed; 0 where none did
  Verdict verdict = Verdict::none;
};

/// So many devices of one node.
struct NodeShare {
  std::string node{};
  int devices = 0;

  bool operator==(const NodeShare&) const = default;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("devices", self.devices);
  }
};
using Placement = std::vector<NodeShare>;

struct Event {
  EventKind kind = EventKind::submitted;
  /// Of events of the engine (started, node_lost, exited, idle_*, time_limit, engine_error,
  /// not_placed, found, not_found): which execution they are about. Those of an earlier one change
  /// nothing.
  int attempt = 0;
  std::string who{};      ///< the person who asked; empty: the platform
  std::string detail{};   ///< for people: the node, the engine's words, the job that came first
  Exit exit{};            ///< of exited
  Placement placement{};  ///< of placed, and of started and found where the engine chose it
  /// When it happened, of what the engine learned of later (the server was away); 0: just now.
  WallTime at_ns = 0;
  /// Of exited and engine_error: a node could not be reached, and for so long from now on what it
  /// runs of this attempt may go on. The next one waits for that.
  Nanoseconds may_run_on{0};
};

/// Events after which a job may be tried again. A preempted one always goes back into the queue.
enum class RetryEvent { node_lost, engine_error };

constexpr auto enum_names(RetryEvent) {
  using enum RetryEvent;
  return std::to_array<EnumName<RetryEvent>>(
      {{node_lost, "node_lost"}, {engine_error, "engine_error"}});
}

struct RetryPolicy {
  int count = 0;                                    ///< retries in all
  std::vector<int> exit_codes{};                    ///< that are tried again; empty: all but 0
  std::optional<std::vector<RetryEvent>> events{};  ///< nothing: all of them

  bool operator==(const RetryPolicy&) const = default;
  static void fields(auto& self, auto&& field) {
    field.optional("count", self.count);
    field.optional("exit_codes", self.exit_codes);
    field.optional("events", self.events);
  }
};

/// What of a job's submission decides about its life.
struct Policy {
  bool preemptible = false;
  RetryPolicy retries{};
  /// Between the signal and the end by force: the time in which a program can write a checkpoint.
  Nanoseconds grace = std::chrono::seconds(60);
};

/// Whatever a suite says: others wait for its nodes.
inline constexpr Nanoseconds kMaxGrace = std::chrono::minutes(15);

/// What ended a job, or is about to end or interrupt it.
enum class Cause {
  none,
  itself,
  person,
  rejected,
  dependency,
  preempted,
  node_lost,
  time_limit,
  idle_limit,
  engine_error,
};

constexpr auto enum_names(Cause) {
  using enum Cause;
  return std::to_array<EnumName<Cause>>({{none, "none"},
                                         {itself, "itself"},
                                         {person, "person"},
                                         {rejected, "rejected"},
                                         {dependency, "dependency"},
                                         {preempted, "preempted"},
                                         {node_lost, "node_lost"},
                                         {time_limit, "time_limit"},
                                         {idle_limit, "idle_limit"},
                                         {engine_error, "engine_error"}});
}

/// Everything about a job that changes. The same events at the same times give the same life.
struct Life {
  State state = State::unapproved;
  bool approved = false;
  /// Executions so far; 0: it was never placed. Job and attempt together name one execution, which
  /// the engine starts at most once.
  int attempt = 0;
  int restarts = 0;  ///< executions that began before this one: ASSAY_RESTART_COUNT
  int retries = 0;   ///< of the policy's count
  int unplaced = 0;  ///< executions of which nothing ran, as their nodes could not be had
  std::optional<State> after_stop{};  ///< of pausing and killing: what it becomes
  Cause cause = Cause::none;
  bool idle_warned = false;
  Placement placement{};  ///< while it holds nodes; afterwards those of its last attempt
  WallTime submitted_ns = 0;
  WallTime waiting_since_ns = 0;  ///< for its place in line: since it was submitted, resumed, or
                                  ///< preempted
  WallTime not_before_ns = 0;     ///< a retry waits a while, and what may still run elsewhere
  WallTime placed_ns = 0;         ///< of the last attempt; 0: none
  WallTime started_ns = 0;        ///< of the last attempt; 0: not started
  WallTime stop_by_ns = 0;        ///< of pausing and killing: when it should have stopped; else 0
  WallTime ended_ns = 0;          ///< 0: not yet
  std::int64_t ran_ns = 0;        ///< in all attempts that have ended; time_run() has the rest
  std::int64_t grace_ns = 0;      ///< that its suite gives, where that is more than the policy's
  std::optional<int> exit_code{};
  Verdict verdict = Verdict::none;
  std::string message{};  ///< the last thing that happened, in words

  bool operator==(const Life&) const = default;
  static void fields(auto& self, auto&& field) {
    field("state", self.state);
    field("approved", self.approved);
    field("attempt", self.attempt);
    field("restarts", self.restarts);
    field("retries", self.retries);
    field.optional("unplaced", self.unplaced);
    field.optional("after_stop", self.after_stop);
    field("cause", self.cause);
    field("idle_warned", self.idle_warned);
    field.optional("placement", self.placement);
    field("submitted_ns", self.submitted_ns);
    field("waiting_since_ns", self.waiting_since_ns);
    field("not_before_ns", self.not_before_ns);
    field("placed_ns", self.placed_ns);
    field("started_ns", self.started_ns);
    field("stop_by_ns", self.stop_by_ns);
    field("ended_ns", self.ended_ns);
    field("ran_ns", self.ran_ns);
    field.optional("grace_ns", self.grace_ns);
    field.optional("exit_code", self.exit_code);
    field("verdict", self.verdict);
    field.optional("message", self.message);
  }
};

enum class ActionKind {
  start,      ///< the engine is to run this attempt, with `restarts` as ASSAY_RESTART_COUNT
  stop,       ///< the signal, and force after the grace
  stop_now,   ///< force
  warn_idle,  ///< the owner is told
};

constexpr auto enum_names(ActionKind) {
  using enum ActionKind;
  return std::to_array<EnumName<ActionKind>>(
      {{start, "start"}, {stop, "stop"}, {stop_now, "stop_now"}, {warn_idle, "warn_idle"}});
}

/// What is to be done, after the new life has been written.
struct Action {
  ActionKind kind = ActionKind::start;
  int attempt = 0;
  int restarts = 0;      ///< of start
  Nanoseconds grace{0};  ///< of stop

  bool operator==(const Action&) const = default;
};

struct Change {
  bool taken = false;  ///< false: nothing changed, and there is nothing for the timeline
  State from = State::unapproved;
  State to = State::unapproved;
  std::vector<Action> actions{};
  std::string words{};  ///< what happened, or why nothing did
  WallTime at_ns = 0;   ///< when it happened: not before what is known of its attempt, nor later

  /// The job's nodes are free again.
  [[nodiscard]] bool released() const noexcept { return holds_nodes(from) && !holds_nodes(to); }
};

/// The life of a job that was just submitted.
[[nodiscard]] Life born(bool needs_approval, WallTime now_ns);

/// Takes one event. An event that does not fit the state (a repeated, late or pointless one)
/// changes nothing and says why; what runs although it should not is stopped.
[[nodiscard]] Change apply(Life& life, const Policy& policy, const Event& event, WallTime now_ns);

/// How long a job has run in all its attempts, up to `now_ns`: `ran_ns` is Life::ran_ns,
/// `started_ns` and `state` are those of its last attempt.
[[nodiscard]] std::int64_t time_run(State state, WallTime started_ns, std::int64_t ran_ns,
                                    WallTime now_ns) noexcept;

/// The wall clock was set by so much (negative: back): what is counted from a moment before goes on
/// as if it had not been. What is history stays what it was.
void clock_was_set(Life& life, Nanoseconds by) noexcept;

/// How long a job waits before its retry number `retry` (1, 2, …): 10 s, doubled, at most 5 min.
[[nodiscard]] Nanoseconds retry_pause(int retry) noexcept;

}  // namespace assay::jobs
