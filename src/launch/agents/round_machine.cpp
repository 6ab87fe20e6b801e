#include "launch/agents/round_machine.h"

#include <algorithm>

#include <fmt/format.h>
#include <signal.h>

#include "core/overloaded.h"
#include "core/text.h"
#include "core/units.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

// An agent sends a heartbeat every second.
constexpr std::int64_t kSilenceLimit = 15'000'000'000;
constexpr std::int64_t kSilenceNoted = 5'000'000'000;
// After a stop an agent needs its grace, a look for leftovers and the end of telemetry.
constexpr std::int64_t kStopMargin = 20'000'000'000;
// What a node had written by then cannot be changed later without a trace in the journal.
constexpr std::int64_t kHeadEvery = 10'000'000'000;
constexpr Nanoseconds kStartFailedGrace = std::chrono::seconds(1);
// What sleeps for ever has nothing to put in order.
constexpr Nanoseconds kRestGrace = std::chrono::seconds(2);

constexpr const char* kMakeRoom =
    "free some space on the disk; then 'assay run --resume RUN --failed' runs the round again";

// 128 + SIGTERM or SIGKILL is how a shell reports that its program was killed.
bool looks_killed(const ExitStatus& exit) {
  return exit.signal == SIGTERM || exit.signal == SIGKILL || exit.code == 128 + SIGTERM ||
         exit.code == 128 + SIGKILL;
}

template <class Report>
Json journal_fields(const Report& report) {
  Json fields = fields_to_json(report);
  fields.erase("id");
  return fields;
}

}  // namespace

RoundMachine::RoundMachine(Setup setup) : setup_(std::move(setup)), nodes_(setup_.hosts.size()) {
  progress_.ranks = setup_.ranks;
  progress_.hosts = setup_.hosts;
}

std::string RoundMachine::rank_on_host(int rank, int node) const {
  return fmt::format("rank {} on {}", rank, host(node));
}

void RoundMachine::begin(std::int64_t now_ns) {
  if (phase_ == Phase::preparing) phase_ = Phase::running;
  for (Node& node : nodes_) node.heard_ns = node.begun_ns = now_ns;
  if (winding_down_) drain(now_ns);
}

bool RoundMachine::over() const {
  if (phase_ == Phase::preparing) return outcome_.has_value();
  return std::ranges::all_of(nodes_,
                             [this](const Node& node) { return node.done() && !waits_for(node); });
}

std::vector<int> RoundMachine::leaving() const {
  std::vector<int> out;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    if (node_at(node).leaving) out.push_back(node);
  return out;
}

std::vector<int> RoundMachine::unmarked() const {
  std::vector<int> out;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    if (node_at(node).marked == 0) out.push_back(node);
  return out;
}

RoundOutcome RoundMachine::outcome(const std::string& scheduler) const {
  if (ask_scheduler() && !scheduler.empty())
    return {RoundStatus::lost, scheduler, "run again with --resume, or set cluster.retries"};
  RoundOutcome out;
  if (outcome_)
    out = *outcome_;
  else if (last_loss_ && !winding_down_)
    out = *last_loss_;
  // However the ranks ended: nothing can be said by evidence that is not whole.
  if (unwritten_ && is_result(out.status)) return *unwritten_;
  return out;
}

RoundMachine::Actions RoundMachine::report(std::int64_t now_ns, int node,
                                           const agent::Report& report) {
  Actions actions;
  if (node < 0 || node >= static_cast<int>(nodes_.size()) || node_at(node).done()) return actions;
  Node& from = node_at(node);
  note_silence(now_ns, node, actions);
  from.heard_ns = now_ns;
  const auto journal = [&](store::JournalEvent event, const auto& message) {
    Json fields = journal_fields(message);
    if (from.part > 1) fields["part"] = from.part;
    actions.journal.push_back({event, node, std::move(fields)});
  };
  std::visit(
      Overloaded{[&](const agent::Heartbeat& beat) { on_heartbeat(now_ns, node, beat, actions); },
                 [&](const agent::RankStart& start) {
                   ++progress_.started;
                   ++from.started;
                   from.living.insert(start.rank);
                   journal(store::JournalEvent::rank_start, start);
                 },
                 [&](const agent::RankExit& exit) {
                   journal(store::JournalEvent::rank_exit, exit);
                   on_rank_exit(now_ns, node, exit);
                 },
                 [&](const agent::StartFailed& failure) {
                   on_start_failed(now_ns, node, failure, actions);
                 },
                 [&](const agent::LimitReached& limit) { on_limit(now_ns, node, limit, actions); },
                 [&](const agent::Gap& gap) {
                   journal(store::JournalEvent::gap, gap);
                   on_gap(node, gap);
                 },
                 [&](const agent::Unkillable& process) {
                   journal(store::JournalEvent::unkillable, process);
                 },
                 [&](const agent::Refusal& refusal) {
                   if (from.part > 1) {
                     actions.drop.push_back(node);
                     return lose(now_ns, node, "it refused its work: " + refusal.reason, actions);
                   }
                   conclude(RoundStatus::launch_failed,
                            fmt::format("the agent on {} refused the round: {}", host(node),
                                        printable(refusal.reason)),
                            "");
                   from.ended = true;
                   stop_all(now_ns, EndedBy::stop, setup_.limits.grace, actions);
                 },
                 [&](const agent::RoundEnd& end) {
                   if (end.id != part_id(node)) return;
                   from.ended = true;
                   if (end.files) from.files[from.part] = *end.files;
                   from.marked = end.marked;
                   // An agent without ranks that ends unasked was stopped by something else.
                   if (setup_.watched.contains(node) && phase_ != Phase::stopping) {
                     ended_from_outside_ = true;
                     from.leaving = true;
                     conclude(RoundStatus::lost,
                              "the agent on " + host(node) + " was stopped from outside",
                              "run again with --resume");
                     drain(now_ns);
                   }
                   journal(store::JournalEvent::node_end, end);
                   if (from.failed) await_return(now_ns, node, "its ranks have failed", actions);
                 },
                 [](const auto& /*answer to an earlier request*/) {}},
      report);
  release_watched(now_ns, actions);
  return actions;
}

void RoundMachine::on_heartbeat(std::int64_t now_ns, int node, const agent::Heartbeat& beat,
                                Actions& actions) {
  Node& from = node_at(node);
  progress_.heartbeats[node] = beat;
  if (beat.id == part_id(node)) {
    from.told = true;
    from.silent.clear();
    for (const agent::RankLiveness& rank : beat.silent) from.silent[rank.rank] = rank;
    follow_use(now_ns, from, beat);
  }
  if (beat.id != part_id(node) || beat.head.empty() || beat.head == from.head) return;
  if (!from.head.empty() && now_ns - from.head_ns < kHeadEvery) return;
  from.head = beat.head;
  from.head_ns = now_ns;
  Json link{{"head", beat.head}, {"mono_ns", beat.at.mono_ns}, {"wall_ns", beat.at.wall_ns}};
  if (from.part > 1) link["part"] = from.part;
  actions.journal.push_back({store::JournalEvent::chain, node, std::move(link)});
}

// A link that was away and came back leaves a trace.
void RoundMachine::note_silence(std::int64_t now_ns, int node, Actions& actions) const {
  const std::int64_t silent_ns = now_ns - node_at(node).heard_ns;
  if (phase_ == Phase::preparing || silent_ns < kSilenceNoted) return;
  actions.journal.push_back({store::JournalEvent::gap,
                             node,
                             {{"source", "connection"},
                              {"seconds", static_cast<double>(silent_ns) * 1e-9},
                              {"reason", "nothing was heard of the agent"}}});
}

void RoundMachine::on_gap(int node, const agent::Gap& gap) {
  if (gap.file.empty() || unwritten_) return;
  unwritten_ = RoundOutcome{RoundStatus::unrecorded,
                            fmt::format("{} could not be written on {}: {}", printable(gap.file),
                                        host(node), printable(gap.reason)),
                            kMakeRoom};
}

void RoundMachine::on_rank_exit(std::int64_t now_ns, int node, const agent::RankExit& exit) {
  node_at(node).living.erase(exit.rank);
  node_at(node).rests = node_at(node).rests || exit.rests;
  ++progress_.ended;
  // An agent that stops its ranks without a request from here was stopped by something else.
  if (exit.ended_by == EndedBy::stop && phase_ != Phase::stopping) {
    ended_from_outside_ = true;
    node_at(node).leaving = node_at(node).failed = true;
    // Mostly all of a job ends so. Where only a part of it does, the others wait for it.
    if (conclude_unless_independent(RoundStatus::lost,
                                    "the agent on " + host(node) + " was stopped from outside",
                                    "run again with --resume"))
      drain(now_ns);
    return;
  }
  if (exit.ended_by != EndedBy::itself || exit.exit.ok()) return;
  node_at(node).failed = true;
  ended_from_outside_ = ended_from_outside_ || looks_killed(exit.exit);
  if (conclude_unless_independent(RoundStatus::failed,
                                  rank_on_host(exit.rank, node) + ": " + to_string(exit.exit),
                                  fmt::format("see rank{}.out.log", exit.rank)))
    // The others may be about to end by themselves, or wait forever for the dead rank.
    drain(now_ns);
}

void RoundMachine::on_start_failed(std::int64_t now_ns, int node, const agent::StartFailed& failure,
                                   Actions& actions) {
  // The others of an experiment go on.
  if (node_at(node).part > 1) {
    node_at(node).failed = true;
    return;
  }
  const std::string place = failure.rank            ? rank_on_host(*failure.rank, node)
                            : failure.where.empty() ? host(node)
                                                    : failure.where;
  conclude(RoundStatus::launch_failed, place + ": " + failure.reason, failure.advice);
  stop_all(now_ns, EndedBy::stop, std::min(setup_.limits.grace, kStartFailedGrace), actions);
}

void RoundMachine::on_limit(std::int64_t now_ns, int node, const agent::LimitReached& limit,
                            Actions& actions) {
  node_at(node).silent.clear();
  for (const agent::RankLiveness& rank : limit.silent) node_at(node).silent[rank.rank] = rank;
  conclude_hang(
      RoundStatus::timed_out,
      fmt::format("the time limit of {} was reached", format_duration(setup_.limits.time)),
      "raise limits.time, or find out what the ranks wait for in their logs");
  stop_all(now_ns, EndedBy::time_limit, setup_.limits.grace, actions);
}

RoundMachine::Actions RoundMachine::lost(std::int64_t now_ns, int node, const std::string& reason) {
  Actions actions;
  if (node >= 0 && node < static_cast<int>(nodes_.size()) && !node_at(node).done())
    lose(now_ns, node, reason, actions);
  return actions;
}

void RoundMachine::lose(std::int64_t now_ns, int node, const std::string& reason,
                        Actions& actions) {
  Node& gone = node_at(node);
  gone.lost = true;
  actions.sweep.push_back(node);
  for (const int rank : gone.living) {
    ++progress_.ended;
    const store::RankExit exit{.rank = rank, .ended_by = EndedBy::lost};
    actions.journal.push_back({store::JournalEvent::rank_exit, node, fields_to_json(exit)});
  }
  gone.living.clear();
  if (conclude_unless_independent(
          RoundStatus::lost, fmt::format("the agent on {} was lost: {}", host(node), reason),
          "its ranks were killed; 'assay run --resume' runs the round again"))
    stop_all(now_ns, EndedBy::stop, setup_.limits.grace, actions);
  else
    await_return(now_ns, node, reason, actions);
}

void RoundMachine::release_watched(std::int64_t now_ns, Actions& actions) {
  if (setup_.watched.empty() || phase_ == Phase::preparing || phase_ == Phase::stopping) return;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    if (!setup_.watched.contains(node) && !node_at(node).done()) return;
  stop_all(now_ns, EndedBy::stop, setup_.limits.grace, actions);
}

RoundMachine::Actions RoundMachine::tick(std::int64_t now_ns) {
  Actions actions;
  if (phase_ == Phase::preparing) return actions;
  if (phase_ == Phase::draining && now_ns >= deadline_ns_)
    stop_all(now_ns, EndedBy::stop, setup_.limits.grace, actions);
  end_rest(now_ns, actions);
  check_silence(now_ns, actions);
  check_stall(now_ns, actions);
  bring_back(now_ns, actions);
  return actions;
}

bool RoundMachine::all_rest() const {
  return progress_.started == setup_.ranks && std::ranges::any_of(nodes_, &Node::rests) &&
         std::ranges::all_of(nodes_, [](const Node& node) { return node.living.empty(); });
}

void RoundMachine::end_rest(std::int64_t now_ns, Actions& actions) {
  if (phase_ != Phase::running || !all_rest()) return;
  if (!rest_since_ns_) {
    rest_since_ns_ = now_ns;
    actions.journal.push_back({store::JournalEvent::rest, -1, {{"keep_s", seconds(setup_.keep)}}});
  }
  if (now_ns - *rest_since_ns_ >= setup_.keep.count())
    stop_all(now_ns, EndedBy::stop, std::min(setup_.limits.grace, kRestGrace), actions);
}

void RoundMachine::check_silence(std::int64_t now_ns, Actions& actions) {
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    const Node& state = node_at(node);
    if (state.done()) continue;
    const std::int64_t silent_ns = now_ns - state.heard_ns;
    const bool silent = silent_ns > kSilenceLimit;
    if (!silent && !(phase_ == Phase::stopping && now_ns > deadline_ns_)) continue;
    actions.drop.push_back(node);
    lose(now_ns, node,
         silent ? fmt::format("no sign of life for {:.0f} s", static_cast<double>(silent_ns) * 1e-9)
                : "it did not end the round when asked",
         actions);
  }
}

RoundMachine::Actions RoundMachine::interrupt(std::int64_t now_ns) {
  Actions actions;
  if (!all_rest())
    conclude(RoundStatus::interrupted, "stopped by the user",
             "'assay run --resume' goes on from here");
  const bool first = ++interrupts_ == 1;
  if (phase_ == Phase::preparing) return actions;
  if (first && setup_.independent_ranks)
    wind_down(now_ns);
  else
    stop_all(now_ns, EndedBy::stop, first ? setup_.limits.grace : Nanoseconds(0), actions);
  return actions;
}

void RoundMachine::wind_down(std::int64_t now_ns) {
  winding_down_ = true;
  drain(now_ns);
}

void RoundMachine::fail(std::int64_t now_ns, const RoundOutcome& outcome) {
  conclude(outcome.status, outcome.reason, outcome.advice);
  wind_down(now_ns);
}

void RoundMachine::not_collected(const std::string& reason) {
  conclude_unless_independent(RoundStatus::lost, reason, "");
}

void RoundMachine::not_written(const std::string& reason) {
  if (!unwritten_) unwritten_ = RoundOutcome{RoundStatus::unrecorded, reason, kMakeRoom};
}

void RoundMachine::drain(std::int64_t now_ns) {
  if (phase_ != Phase::running) return;
  phase_ = Phase::draining;
  deadline_ns_ = now_ns + setup_.limits.grace.count();
}

void RoundMachine::stop_all(std::int64_t now_ns, EndedBy cause, Nanoseconds grace,
                            Actions& actions) {
  const std::int64_t give_up = now_ns + grace.count() + kStopMargin;
  deadline_ns_ = phase_ == Phase::stopping ? std::min(deadline_ns_, give_up) : give_up;
  phase_ = Phase::stopping;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    if (!node_at(node).done()) actions.stop.push_back({node, {cause, grace}});
}

bool RoundMachine::conclude_unless_independent(RoundStatus status, const std::string& reason,
                                               const std::string& advice) {
  if (setup_.independent_ranks) {
    last_loss_ = RoundOutcome{status, reason, advice};
    return false;
  }
  conclude(status, reason, advice);
  return true;
}

void RoundMachine::conclude(RoundStatus status, const std::string& reason,
                            const std::string& advice) {
  if (!outcome_) outcome_ = RoundOutcome{status, reason, advice};
}

}  // namespace assay::launch
