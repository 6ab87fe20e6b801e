// Checks whether the ranks' claims about times and results are possible, against the clocks of the
// agents that ran them and against themselves.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/clock_alignment.h"
#include "judge/contradiction.h"
#include "judge/evaluations.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

// The agent stamps before it starts a rank and after it sees it end, on the same clock.
constexpr double kMonotonicSlack_s = 0.05;
// Two wall clocks kept by NTP (a rank behind ssh, another container host) agree within this.
constexpr double kWallSlack_s = 1;
// A chain's stamp is taken together with the files' sizes.
constexpr double kArrivalSlack_s = 0.25;
// A monotonic clock with no reading within this distance of the rank's life is another machine's.
constexpr double kForeignClock_s = 5;
// Threads that wait for a processor after stamping, and pipes read in turn, swap lines.
constexpr double kSwapped_s = 0.25;
constexpr double kSwappedShare = 0.05;

std::string from_start(double t) {
  return t < 0 ? fmt::format("{:.3f} s before the rank's start", -t)
               : fmt::format("{:.3f} s after the rank's start", t);
}

// How far a node's wall clock moved against its monotonic one during the round, by its agent.
double clock_change(const RoundEvidence& evidence, int node) {
  std::optional<double> least;
  std::optional<double> most;
  const auto see = [&](std::int64_t mono_ns, std::int64_t wall_ns) {
    const double offset = static_cast<double>(wall_ns - mono_ns) * 1e-9;
    least = std::min(least.value_or(offset), offset);
    most = std::max(most.value_or(offset), offset);
  };
  for (const NodeEvidence& one : evidence.nodes)
    if (one.node == node)
      for (const telemetry::Row& row : one.telemetry.rows) see(row.mono_ns, row.wall_ns);
  for (const RankEvidence& rank : evidence.ranks) {
    if (rank.node != node) continue;
    if (rank.start) see(rank.start->mono_ns, rank.start->wall_ns);
    if (rank.end && rank.ended_by != EndedBy::lost) see(rank.end->mono_ns, rank.end->wall_ns);
  }
  return least ? *most - *least : 0;
}

// If a job's head starts ranks on other nodes, the lines carry those nodes' wall clocks.
double other_clocks(const RoundContext& round) {
  if (round.plan.launch != plan::LaunchMode::head || round.plan.nodes < 2) return 0;
  double skew = 0;
  for (const NodeEvidence& node : round.evidence.nodes)
    if (const auto error = clock_error(node)) skew = std::max(skew, std::abs(error->behind_s));
  return 2 * skew;
}

// One clock of a rank's log compared with the agent's, in seconds since the rank's start.
struct Reading {
  const LoggedEvent& first;
  const LoggedEvent& last;
  double first_s = 0;
  double last_s = 0;
};

Reading monotonic_reading(const RankEvidence& rank) {
  const LogAudit& audit = rank.log.audit;
  const auto at = [&](const LoggedEvent& event) {
    return static_cast<double>(event.at.mono_us * 1'000 - rank.start->mono_ns) * 1e-9;
  };
  return {audit.mono_first, audit.mono_last, at(audit.mono_first), at(audit.mono_last)};
}

Reading wall_reading(const RankEvidence& rank) {
  const LogAudit& audit = rank.log.audit;
  const auto at = [&](const LoggedEvent& event) {
    return static_cast<double>(event.at.wall_ms * 1'000'000 - rank.start->wall_ns) * 1e-9;
  };
  return {audit.wall_first, audit.wall_last, at(audit.wall_first), at(audit.wall_last)};
}

void check_window(const RankEvidence& rank, const Reading& reading, double end_s, double slack,
                  Contradiction& worst) {
  if (reading.first_s < -slack)
    worst.offer(-reading.first_s, fmt::format("{} says {}", rank_and_line(rank, reading.first),
                                              from_start(reading.first_s)));
  if (reading.last_s > end_s + slack)
    worst.offer(reading.last_s - end_s,
                fmt::format("{} says {}, but it ended {:.3f} s after it",
                            rank_and_line(rank, reading.last), from_start(reading.last_s), end_s));
}

void check_span(const RankEvidence& rank, const Reading& reading, double lived_s, double slack,
                Contradiction& worst) {
  const double span = reading.last_s - reading.first_s;
  if (span > lived_s * (1 + kSpanSlackShare) + slack)
    worst.offer(span - lived_s,
                fmt::format("{} is {:.3f} s later than line {}, but the rank lived {:.3f} s",
                            rank_and_line(rank, reading.last), span, reading.first.line, lived_s));
}

void check_arrival(const RankEvidence& rank, double ahead_s, const LoggedEvent& event, double slack,
                   Contradiction& worst) {
  if (ahead_s > slack)
    worst.offer(ahead_s, fmt::format("{} has a time {:.3f} s later than when the agent had it",
                                     rank_and_line(rank, event), ahead_s));
}

Contradiction check_times(const RoundContext& round, const RankEvidence& rank) {
  const LogAudit& audit = rank.log.audit;
  const double lived = static_cast<double>(rank.end->mono_ns - rank.start->mono_ns) * 1e-9;
  const double change = clock_change(round.evidence, rank.node);
  Contradiction worst;
  bool own_clock = false;
  if (audit.mono_first.line > 0) {
    const Reading mono = monotonic_reading(rank);
    own_clock = mono.first_s <= lived + kForeignClock_s && mono.last_s >= -kForeignClock_s;
    if (own_clock) {
      check_window(rank, mono, lived, kMonotonicSlack_s, worst);
      check_arrival(rank, audit.mono_ahead_s, audit.mono_ahead, kArrivalSlack_s, worst);
    } else {
      check_span(rank, mono, lived, kSpanSlack_s, worst);
    }
  }
  if (own_clock && rank.log.has_mono) return worst;
  if (audit.wall_first.line > 0) {
    const Reading wall = wall_reading(rank);
    const double others = other_clocks(round);
    const double lived_wall = static_cast<double>(rank.end->wall_ns - rank.start->wall_ns) * 1e-9;
    check_window(rank, wall, lived_wall, kWallSlack_s + change + others, worst);
    check_span(rank, wall, lived, kSpanSlack_s + change + others, worst);
    check_arrival(rank, audit.wall_ahead_s, audit.wall_ahead, kWallSlack_s + change + others,
                  worst);
  }
  return worst;
}

// Finds lines of a rank that go back in time further than threads and pipes can swap them.
void check_order(RoundContext& round) {
  Contradiction worst;
  bool any = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const LogAudit& audit = rank.log.audit;
    if (audit.mono_first.line == 0) continue;
    any = true;
    const double span =
        static_cast<double>(audit.mono_last.at.mono_us - audit.mono_first.at.mono_us) * 1e-6;
    if (audit.back_s > kSwapped_s)
      worst.offer(audit.back_s, fmt::format("{} is {:.3f} s off the order of its log",
                                            rank_and_line(rank, audit.back), audit.back_s));
    else if (audit.back_sum_s > kSwapped_s + kSwappedShare * span)
      worst.offer(audit.back_sum_s,
                  fmt::format("the times in {} fall again and again, {:.3f} s in {:.3f} s",
                              rank.log_path, audit.back_sum_s, span));
  }
  if (any) round.fact("times_back_s", worst.seconds, worst.detail);
}

// Finds lines that came over a longer time than their stamps span. Held-back output comes late, but
// not ever later, because buffers are bounded. Of a log's two clocks, the one used for its times is
// always checked.
void check_arrivals(RoundContext& round) {
  constexpr double kHeldBack_s = 2;
  constexpr double kHeldBackShare = 0.25;
  Contradiction worst;
  bool any = false;
  const auto look = [&](const RankEvidence& rank, const SeenSpan& span, double set_back_s) {
    if (span.came_in_s <= 0) return;
    any = true;
    const double missing = span.came_in_s - span.said_in_s - set_back_s;
    if (missing > kHeldBack_s && missing > kHeldBackShare * span.came_in_s)
      worst.offer(missing,
                  fmt::format("up to {} the log says {:.3f} s, but the agent saw its "
                              "lines come over {:.3f} s",
                              rank_and_line(rank, span.slow_line), span.said_in_s, span.came_in_s));
  };
  for (const RankEvidence& rank : round.evidence.ranks) {
    look(rank, rank.log.audit.by_mono, 0);
    if (!round.timeline.monotonic(rank))
      look(rank, rank.log.audit.by_wall, clock_change(round.evidence, rank.node));
  }
  if (any) round.fact("times_squeezed_s", worst.seconds, worst.detail);
}

// Steps of exactly equal length were not measured.
void check_lengths(RoundContext& round) {
  constexpr std::uint64_t kFewest = 50;
  std::optional<double> most;
  std::string detail;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const LogAudit& audit = rank.log.audit;
    if (audit.lengths < kFewest) continue;
    const double share =
        static_cast<double>(audit.lengths_alike) / static_cast<double>(audit.lengths);
    if (most && share <= *most) continue;
    most = share;
    detail = fmt::format("{} of {} steps of rank {} in {}", audit.lengths_alike, audit.lengths,
                         rank.rank, rank.log_path);
  }
  if (most) round.fact("steps_alike", *most, detail);
}

void check_pauses(RoundContext& round) {
  Contradiction worst;
  bool any = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    any = any || !rank.log.evaluations.empty() || !rank.log.phases.empty();
    const LogAudit& audit = rank.log.audit;
    if (audit.pause_excess_s > 0)
      worst.offer(audit.pause_excess_s,
                  fmt::format("{} says {} s, but {:.3f} s had passed since {} in line {}",
                              rank_and_line(rank, audit.long_pause.event), audit.long_pause.shown,
                              audit.pause_room_s, audit.pause_since.name, audit.pause_since.line));
  }
  if (any) round.fact("pauses_impossible_s", worst.seconds, worst.detail);
}

std::string place_of(const RankEvidence& rank, const SaidValue& value) {
  return fmt::format("{}{}: {} is {}", rank_and_line(rank, value.event),
                     value.step == kNoTime ? "" : fmt::format(", step {}", value.step),
                     printable(value.key), value.shown);
}

void check_counts(RoundContext& round) {
  double wrong = 0;
  bool any = false;
  std::string detail;
  // A training that counts its samples but has none would have a throughput of nothing.
  bool counts = false;
  double counted = 0;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const LogAudit& audit = rank.log.audit;
    const RankLog& log = rank.log;
    counts = counts || log.samples.known || log.global_samples.known;
    counted += log.samples.sum + log.global_samples.sum + log.tokens.sum + log.global_tokens.sum +
               log.trained_last.value_or(0);
    any = any || rank.log.events > 0;
    if (audit.impossible_counts > 0 && wrong == 0) detail = place_of(rank, audit.first_impossible);
    wrong += static_cast<double>(audit.impossible_counts);
  }
  if (counts && counted <= 0 && wrong == 0) {
    wrong = 1;
    detail = "no step of any rank has a sample";
  }
  if (any) round.fact("counts_impossible", wrong, detail);
}

// Whether a share of samples is possible: at most 1, or 100 if the log or the target uses percents.
bool in_range(const RoundContext& round, const std::string& key, double value) {
  const auto& target = round.plan.target;
  const bool fraction = target && is_target_metric(key, target->metric) &&
                        target->better == Better::higher && target->value <= 1;
  return value >= 0 && value <= (fraction ? 1 : 100);
}

// A workload that measures its device's peak cannot exceed it on average.
void check_peak(RoundContext& round) {
  std::optional<double> largest;
  std::string detail;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const RankLog& log = rank.log;
    const double peak = log.finished ? log.finished->peak_flops.value_or(0) : 0;
    const auto start = round.timeline.at(rank, log.train_start);
    const auto end = round.timeline.at(rank, log.train_end);
    if (peak <= 0 || !log.flops.known || !start || !end || *end <= *start) continue;
    const double achieved = log.flops.sum / (*end - *start);
    if (largest && achieved / peak <= *largest) continue;
    largest = achieved / peak;
    detail = fmt::format("rank {}: {:.4g} FLOP/s by its steps, and a peak of {:.4g} by FINISHED",
                         rank.rank, achieved, peak);
  }
  if (largest) round.fact("peak_share", *largest, detail);
}

void check_qualities(RoundContext& round) {
  double wrong = 0;
  bool any = false;
  std::string detail;
  const auto look = [&](const RankEvidence& rank, const char* where, const std::string& key,
                        double value) {
    if (!perflog::is_share(key)) return;
    any = true;
    if (in_range(round, key, value)) return;
    if (wrong++ == 0)
      detail = fmt::format("{} is {} in {} of rank {}", printable(key), format_number(value), where,
                           rank.rank);
  };
  for (const RankEvidence& rank : round.evidence.ranks) {
    for (const Evaluation& evaluation : rank.log.evaluations)
      for (const auto& [key, value] : evaluation.values) look(rank, "EVALUATE", key, value);
    for (const auto& [key, value] : rank.log.finished_values) look(rank, "FINISHED", key, value);
    const LogAudit& audit = rank.log.audit;
    if (audit.unreadable_shares == 0) continue;
    any = true;
    if (wrong == 0) detail = place_of(rank, audit.first_unreadable_share);
    wrong += static_cast<double>(audit.unreadable_shares);
  }
  if (any) round.fact("accuracy_out_of_range", wrong, detail);
}

// Compares the sum of the steps' parts with the time of the steps, and each part with the part that
// contains it. A device uses its own clock.
Contradiction check_parts(const RankEvidence& rank, double lived_s) {
  constexpr double kOtherClock = 1.05;
  Contradiction worst;
  const RankLog& log = rank.log;
  const double span_s =
      log.has_mono ? static_cast<double>(log.last_event.mono_us - log.first_event.mono_us) * 1e-6
                   : lived_s;
  const auto writers = static_cast<double>(std::max<std::size_t>(1, log.tracks.size()));
  const std::pair<const char*, const Total*> parts[] = {{"data_s", &log.data_s},
                                                        {"compute_s", &log.compute_s},
                                                        {"comm_s", &log.comm_s},
                                                        {"optimizer_s", &log.optimizer_s}};
  for (const auto& [name, total] : parts) {
    // The first step may have begun before the first event.
    const double later_s = total->known ? total->sum - writers * total->first : 0;
    if (later_s <= writers * (span_s * kOtherClock + kSpanSlack_s)) continue;
    worst.offer(later_s - writers * span_s,
                fmt::format("rank {}: {} adds up to {:.3f} s in {:.3f} s of events", rank.rank,
                            name, total->sum, span_s));
  }
  const double more_s = log.bubble_s.sum - log.comm_s.sum * kOtherClock;
  if (log.bubble_s.known && log.comm_s.known && more_s > kSpanSlack_s)
    worst.offer(log.bubble_s.sum - log.comm_s.sum,
                fmt::format("rank {}: bubble_s adds up to {:.3f} s, and comm_s, which it is a part "
                            "of, to {:.3f} s",
                            rank.rank, log.bubble_s.sum, log.comm_s.sum));
  return worst;
}

}  // namespace

void compute_plausibility(RoundContext& round) {
  const RoundEvidence& evidence = round.evidence;
  Contradiction outside;
  Contradiction apart;
  std::size_t ranks_outside = 0;
  std::size_t ranks_apart = 0;
  std::vector<int> unchecked;
  std::uint64_t repeated = 0;
  std::uint64_t back = 0;
  std::string repeated_at;
  std::string back_at;
  bool any = false;
  for (const RankEvidence& rank : evidence.ranks) {
    const LogAudit& audit = rank.log.audit;
    if (audit.repeated > 0 && repeated == 0)
      repeated_at = rank_and_line(rank, audit.first_repeated);
    repeated += audit.repeated;
    if (audit.counters_back > 0 && back == 0) back_at = rank_and_line(rank, audit.first_back);
    back += audit.counters_back;
    const bool stamped = rank.log.first_event.known();
    any = any || stamped || rank.log.finished;
    if (!stamped && !rank.log.finished) continue;
    if (!evidence.supervised || !rank.start || !rank.end || rank.ended_by == EndedBy::lost) {
      if (stamped) unchecked.push_back(rank.rank);
      continue;
    }
    const double lived = static_cast<double>(rank.end->mono_ns - rank.start->mono_ns) * 1e-9;
    Contradiction own = check_said_times(
        rank, lifetime(lived, kSpanSlack_s, fmt::format("the rank lived {:.3f} s", lived)));
    if (stamped) {
      const Contradiction stamps = check_times(round, rank);
      own.offer(stamps.seconds, stamps.detail);
      const Contradiction parts = check_parts(rank, lived);
      own.offer(parts.seconds, parts.detail);
    }
    if (own.seconds > 0) ++ranks_outside;
    outside.offer(own.seconds, own.detail);
    if (!audit.clocks_apart_s) continue;
    const double allowed = audit.clocks_allowed_s + clock_change(evidence, rank.node);
    if (*audit.clocks_apart_s <= allowed) continue;
    ++ranks_apart;
    apart.offer(*audit.clocks_apart_s,
                fmt::format("{}: time_ms and mono_us went {:.3f} s apart since line {}",
                            rank_and_line(rank, audit.mono_last), *audit.clocks_apart_s,
                            audit.mono_first.line));
  }
  check_qualities(round);
  check_peak(round);
  check_order(round);
  check_pauses(round);
  check_arrivals(round);
  check_lengths(round);
  check_counts(round);
  if (!any) return;
  if (!unchecked.empty() || outside.seconds > 0) round.clock_origin = Origin::claimed;
  round.fact("times_unchecked", static_cast<double>(unchecked.size()),
             unchecked.empty() ? "" : rank_list(unchecked));
  if (unchecked.size() < evidence.ranks.size()) {
    round.fact("times_outside_run_s", outside.seconds,
               and_more(outside.detail, ranks_outside > 0 ? ranks_outside - 1 : 0));
    round.fact("rank_clocks_apart_s", apart.seconds,
               and_more(apart.detail, ranks_apart > 0 ? ranks_apart - 1 : 0));
  }
  round.fact("repeated_events", static_cast<double>(repeated), repeated_at);
  round.fact("counters_back", static_cast<double>(back), back_at);
}

}  // namespace assay::judge
