#include "jobs/job_state.h"

#include <algorithm>

#include "core/text.h"

namespace assay::jobs {

namespace {

constexpr int kMaxUnplaced = 5;
constexpr std::size_t kMaxDetail = 500;  // code points of what others say

/// One event of one job; `life_` is changed only by what is taken.
class Transition {
 public:
  Transition(Life& life, const Policy& policy, const Event& event, WallTime now_ns)
      : life_(life), policy_(policy), event_(event), now_ns_(now_ns) {
    change_.from = change_.to = life.state;
    // The engine's clock may be another one, and wrong.
    const WallTime earliest = std::min(std::max(life.placed_ns, life.started_ns), now_ns);
    change_.at_ns = event.at_ns == 0 ? now_ns : std::clamp(event.at_ns, earliest, now_ns);
  }

  Change run() {
    if (is_stale())
      stale();
    else
      dispatch();
    change_.to = life_.state;
    if (change_.taken) life_.message = change_.words;
    return std::move(change_);
  }

 private:
  [[nodiscard]] bool in(std::initializer_list<State> states) const {
    return std::ranges::find(states, life_.state) != states.end();
  }
  /// Events of the engine name the attempt that they are about.
  [[nodiscard]] bool by_engine() const { return event_.attempt != 0; }
  [[nodiscard]] bool is_stale() const {
    switch (event_.kind) {
      case EventKind::started:
      case EventKind::node_lost:
      case EventKind::exited:
      case EventKind::time_limit:
      case EventKind::idle_warned:
      case EventKind::idle_cleared:
      case EventKind::idle_limit:
      case EventKind::engine_error:
      case EventKind::not_placed:
      case EventKind::found:
      case EventKind::not_found:
        return event_.attempt != life_.attempt || !holds_nodes(life_.state);
      case EventKind::preempted:
        return by_engine() && event_.attempt != life_.attempt;
      default:
        return false;
    }
  }
  void stale() {
    ignore("is about an execution that has ended");
    // It should not run any more: whatever is left of it must not run beside the next attempt.
    if (event_.kind == EventKind::found)
      change_.actions.push_back({ActionKind::stop_now, event_.attempt, 0, Nanoseconds(0)});
  }

  void dispatch() {
    switch (event_.kind) {
      case EventKind::submitted:
        return ignore("the job was submitted before");
      case EventKind::approved:
        return approve();
      case EventKind::rejected:
        return reject();
      case EventKind::placed:
        return place();
      case EventKind::handed_over:
        return hand_over();
      case EventKind::started:
        return start();
      case EventKind::pause_asked:
        return pause();
      case EventKind::resume_asked:
        return resume();
      case EventKind::kill_asked:
        return kill();
      case EventKind::preempted:
        return preempt();
      case EventKind::node_lost:
        return lose_node();
      case EventKind::exited:
        return exit();
      case EventKind::time_limit:
        return time_limit();
      case EventKind::idle_warned:
        return warn_idle();
      case EventKind::idle_cleared:
        return clear_idle();
      case EventKind::idle_limit:
        return idle_limit();
      case EventKind::engine_error:
        return engine_error();
      case EventKind::not_placed:
        return not_placed();
      case EventKind::dependency_failed:
        return dependency_failed();
      case EventKind::found:
        return found();
      case EventKind::not_found:
        return not_found();
    }
  }

  // What people and the scheduler ask for.

  void approve() {
    if (life_.approved || is_final(life_.state)) return ignore("is not waiting for approval");
    take("approved" + by());
    life_.approved = true;
    if (life_.state == State::unapproved) life_.state = State::queued;
  }

  void reject() {
    if (life_.approved || is_final(life_.state)) return ignore("is not waiting for approval");
    take("rejected" + by() + because());
    end(State::killed, Cause::rejected);
  }

  void place() {
    if (life_.state != State::queued) return ignore("is not waiting for nodes");
    if (event_.placement.empty()) return ignore("has been given no node");
    take("placed on " + counted(event_.placement.size(), "node"));
    begin_attempt();
  }

  void hand_over() {
    if (life_.state != State::queued) return ignore("is not waiting for nodes");
    take("handed over" + because());
    begin_attempt();
  }

  void begin_attempt() {
    life_.state = State::scheduling;
    ++life_.attempt;
    life_.placement = event_.placement;
    life_.placed_ns = now_ns_;
    life_.started_ns = life_.not_before_ns = 0;
    life_.idle_warned = false;
    life_.cause = Cause::none;
    life_.exit_code.reset();
    life_.verdict = Verdict::none;
    act({ActionKind::start, life_.attempt, life_.restarts, Nanoseconds(0)});
  }

  void pause() {
    if (in({State::unapproved, State::queued})) {
      take("paused" + by() + because());
      life_.state = State::paused;
    } else if (in({State::scheduling, State::running})) {
      take("is being paused" + by());
      stop(State::pausing, State::paused, Cause::person);
    } else if (life_.state == State::pausing && life_.after_stop != State::paused) {
      take("is being paused" + by());
      life_.after_stop = State::paused;
    } else {
      ignore(std::string("cannot be paused: it is ") + std::string(to_text(life_.state)));
    }
  }

  void resume() {
    if (life_.state == State::paused) {
      take("resumed" + by());
      life_.state = life_.approved ? State::queued : State::unapproved;
      life_.waiting_since_ns = now_ns_;
    } else if (life_.state == State::pausing && life_.after_stop == State::paused) {
      take("is to go on after it has stopped" + by());
      life_.after_stop = State::queued;
    } else {
      ignore(std::string("cannot be resumed: it is ") + std::string(to_text(life_.state)));
    }
  }

  void kill() {
    if (in({State::unapproved, State::queued, State::paused})) {
      take("killed" + by());
      end(State::killed, Cause::person);
    } else if (in({State::scheduling, State::running, State::pausing})) {
      take("is being killed" + by() + because());
      stop(State::killing, State::killed, Cause::person);
    } else if (life_.state == State::killing) {
      take("is being killed at once" + by());
      send_stop(std::nullopt);
    } else {
      ignore(std::string("cannot be killed: it is ") + std::string(to_text(life_.state)));
    }
  }

  void preempt() {
    if (!in({State::scheduling, State::running})) return ignore("does not run");
    if (!policy_.preemptible && !by_engine()) return ignore("is not preemptible");
    if (by_engine() || event_.detail.empty())
      take("makes room and goes back into the queue" + because());
    else
      take("makes room for " + ellipsize(printable(event_.detail), kMaxDetail) +
           " and goes back into the queue");
    stop(State::pausing, State::queued, Cause::preempted);
  }

  void dependency_failed() {
    if (!in({State::unapproved, State::queued, State::paused}))
      return ignore("does not wait for another job any more");
    take("cannot run any more" + because());
    end(State::killed, Cause::dependency);
  }

  // What the engine says about the current attempt, which holds nodes.

  void start() {
    if (life_.state != State::scheduling) return ignore("has started before");
    take("started" + because());
    run_from_now();
  }

  void lose_node() {
    if (in({State::pausing, State::killing})) {
      take("a node was lost" + because() + " while the job was being stopped");
    } else {
      take("a node was lost" + because());
      const bool again = retried_after(RetryEvent::node_lost);
      life_.state = again ? State::pausing : State::killing;
      life_.after_stop = again ? State::queued : State::error;
      life_.cause = Cause::node_lost;
    }
    send_stop(std::nullopt);
  }

  void exit() {
    const Exit& exit = event_.exit;
    // A run that came to its end before the stop reached it has come to its end.
    const bool done = exit.ending == Ending::completed;
    if (done || !in({State::pausing, State::killing})) {
      const bool again = !done && retried_after_exit(exit.code);
      take(done ? "finished" + because()
                : (again ? "failed and is tried again" : "failed") + with_code(exit.code) +
                      because());
      keep_exit();
      if (done)
        end(State::finished, Cause::itself);
      else if (again)
        requeue(retry_pause(life_.retries));
      else
        end(State::failed, Cause::itself);
    } else {
      take("stopped" + with_code(exit.code) + after_what());
      keep_exit();
      after_stop();
    }
  }

  void time_limit() {
    if (life_.state != State::running) return ignore("does not run");
    take("has run for as long as it may" + because());
    stop(State::killing, State::killed, Cause::time_limit);
  }

  void warn_idle() {
    if (life_.state != State::running || life_.idle_warned)
      return ignore("has been warned, or does not run");
    take("its devices do nothing" + because());
    life_.idle_warned = true;
    act({ActionKind::warn_idle, life_.attempt, 0, Nanoseconds(0)});
  }

  void clear_idle() {
    if (life_.state != State::running || !life_.idle_warned) return ignore("was not idle");
    take("its devices work again");
    life_.idle_warned = false;
  }

  void idle_limit() {
    if (life_.state != State::running) return ignore("does not run");
    if (!life_.idle_warned) return warn_idle();  // nobody is stopped without a warning
    take("its devices have done nothing for too long" + because());
    stop(State::killing, State::killed, Cause::idle_limit);
  }

  void engine_error() {
    if (in({State::pausing, State::killing})) {
      take("the engine lost it while it was being stopped" + because());
      return after_stop();
    }
    const bool again = retried_after(RetryEvent::engine_error);
    take((again ? "could not be run and is tried again" : "could not be run") + because());
    if (again)
      requeue(retry_pause(life_.retries));
    else
      end(State::error, Cause::engine_error);
  }

  void not_placed() {
    if (in({State::pausing, State::killing})) {
      take("had not begun when it was stopped" + because());
      return after_stop();
    }
    if (!in({State::scheduling, State::running})) return ignore("does not hold nodes");
    // Its nodes answer, and yet it cannot begin there: that would go on for ever.
    if (life_.state == State::running && ++life_.unplaced > kMaxUnplaced) return engine_error();
    // It never began: nothing is counted. A while, because the same decision may come again.
    take("could not be placed and is back in the queue" + because());
    life_.state = State::queued;
    life_.started_ns = 0;
    life_.not_before_ns = now_ns_ + retry_pause(1).count();
  }

  void found() {
    switch (life_.state) {
      case State::scheduling:
        take("found running after a restart of the server");
        run_from_now();
        // It began earlier, and was found now: what happened meanwhile is before it.
        change_.at_ns = now_ns_;
        return;
      case State::pausing:
      case State::killing:
        take("found running after a restart of the server, and is still to stop");
        change_.at_ns = now_ns_;
        return send_stop(grace_left());
      default:
        return ignore("runs");
    }
  }

  void not_found() {
    if (in({State::pausing, State::killing})) {
      take("had stopped when the server came back");
      after_stop();
    } else if (life_.state == State::scheduling) {
      // It never began: nothing is counted.
      take("had not been started when the server stopped; back in the queue");
      life_.state = State::queued;
    } else {
      const bool again = retried_after(RetryEvent::node_lost);
      take(again ? "was gone when the server came back, and is tried again"
                 : "was gone when the server came back");
      if (again)
        requeue(retry_pause(life_.retries));
      else
        end(State::error, Cause::node_lost);
    }
  }

  // Steps that several events share.

  void ignore(std::string why) { change_.words = std::move(why); }
  void take(std::string words) {
    change_.taken = true;
    change_.words = std::move(words);
  }
  void act(Action action) { change_.actions.push_back(action); }
  /// Without a grace, by force.
  void send_stop(std::optional<Nanoseconds> grace) {
    life_.stop_by_ns = now_ns_ + grace.value_or(Nanoseconds(0)).count();
    act({grace ? ActionKind::stop : ActionKind::stop_now, life_.attempt, 0,
         grace.value_or(Nanoseconds(0))});
  }
  /// Of the grace that began with the stop; the clock may have been set meanwhile.
  [[nodiscard]] Nanoseconds grace_left() const {
    return Nanoseconds(std::clamp<std::int64_t>(life_.stop_by_ns - now_ns_, 0, grace().count()));
  }
  void run_from_now() {
    if (!event_.placement.empty()) life_.placement = event_.placement;
    life_.state = State::running;
    life_.started_ns = change_.at_ns;
  }
  void stop(State via, State then, Cause cause) {
    // What is being stopped already has had its signal.
    if (life_.state != State::pausing) send_stop(grace());
    life_.state = via;
    life_.after_stop = then;
    life_.cause = cause;
  }
  void after_stop() {
    const State next = life_.after_stop.value_or(State::failed);
    if (next == State::queued) {
      requeue(life_.cause == Cause::node_lost ? retry_pause(life_.retries) : Nanoseconds(0));
    } else if (next == State::paused) {
      leave_nodes();
      ++life_.restarts;
      life_.verdict = Verdict::none;  // it goes on: what it is worth is not decided
      life_.state = State::paused;
    } else {
      end(next, life_.cause);
    }
  }
  void requeue(Nanoseconds pause) {
    leave_nodes();
    ++life_.restarts;
    life_.verdict = Verdict::none;
    if (life_.cause == Cause::preempted) life_.waiting_since_ns = now_ns_;
    if (pause.count() > 0)
      life_.not_before_ns = std::max(life_.not_before_ns, now_ns_ + pause.count());
    life_.state = State::queued;
  }
  void end(State state, Cause cause) {
    leave_nodes();
    life_.state = state;
    life_.cause = cause;
    life_.ended_ns = change_.at_ns;
  }
  void leave_nodes() {
    // The clock may have been set back.
    if (holds_nodes(change_.from) && life_.started_ns != 0)
      life_.ran_ns += std::max<std::int64_t>(0, change_.at_ns - life_.started_ns);
    if (event_.may_run_on.count() > 0) life_.not_before_ns = now_ns_ + event_.may_run_on.count();
    life_.after_stop.reset();
    life_.stop_by_ns = 0;
  }
  [[nodiscard]] Nanoseconds grace() const {
    return std::max(policy_.grace, Nanoseconds(life_.grace_ns));
  }
  void keep_exit() {
    life_.exit_code = event_.exit.code;
    life_.verdict = event_.exit.verdict;
  }

  /// Counts the retry where there is one.
  bool retry() {
    if (life_.retries >= policy_.retries.count) return false;
    ++life_.retries;
    return true;
  }
  bool retried_after(RetryEvent event) {
    const auto& events = policy_.retries.events;
    return (!events || std::ranges::find(*events, event) != events->end()) && retry();
  }
  bool retried_after_exit(int code) {
    const auto& codes = policy_.retries.exit_codes;
    return (codes.empty() || std::ranges::find(codes, code) != codes.end()) && retry();
  }

  [[nodiscard]] std::string by() const {
    return event_.who.empty() ? "" : " by " + ellipsize(printable(event_.who), kMaxDetail);
  }
  [[nodiscard]] std::string because() const {
    return event_.detail.empty() ? "" : ": " + ellipsize(printable(event_.detail), kMaxDetail);
  }
  /// Why it was stopped, where nobody asked for it: what people read is the last word.
  [[nodiscard]] std::string after_what() const {
    if (life_.cause == Cause::node_lost) return " after a node was lost" + because();
    if (life_.cause == Cause::time_limit) return " after it had run for as long as it may";
    if (life_.cause == Cause::idle_limit) return " after its devices had done nothing for too long";
    return "";
  }
  static std::string with_code(int code) {
    return code == 0 ? "" : " with exit code " + std::to_string(code);
  }

  Life& life_;
  const Policy& policy_;
  const Event& event_;
  WallTime now_ns_;
  Change change_;
};

}  // namespace

Life born(bool needs_approval, WallTime now_ns) {
  Life life;
  life.state = needs_approval ? State::unapproved : State::queued;
  life.approved = !needs_approval;
  life.submitted_ns = life.waiting_since_ns = now_ns;
  life.message = "submitted";
  return life;
}

Change apply(Life& life, const Policy& policy, const Event& event, WallTime now_ns) {
  return Transition(life, policy, event, now_ns).run();
}

std::int64_t time_run(State state, WallTime started_ns, std::int64_t ran_ns,
                      WallTime now_ns) noexcept {
  if (!holds_nodes(state) || started_ns == 0) return ran_ns;
  return ran_ns + std::max<std::int64_t>(0, now_ns - started_ns);  // the clock may be set back
}

void clock_was_set(Life& life, Nanoseconds by) noexcept {
  if (is_final(life.state)) return;
  const auto move = [by](WallTime& moment) {
    if (moment != 0) moment += by.count();
  };
  move(life.waiting_since_ns);
  move(life.not_before_ns);
  if (!holds_nodes(life.state)) return;
  move(life.placed_ns);
  move(life.started_ns);
  move(life.stop_by_ns);
}

Nanoseconds retry_pause(int retry) noexcept {
  constexpr Nanoseconds kFirst = std::chrono::seconds(10);
  constexpr Nanoseconds kMost = std::chrono::minutes(5);
  return std::min<Nanoseconds>(kFirst * (std::int64_t{1} << std::clamp(retry - 1, 0, 10)), kMost);
}

}  // namespace assay::jobs
