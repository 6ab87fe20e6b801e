// No agent saw the ranks of a job that a service ran. Two clocks still bound what they can have
// logged: the controller's, from requesting the job to seeing its end, and the service's, which
// gives the job's duration.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "judge/contradiction.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

// A service notes the start slightly late, and some count in whole seconds.
constexpr double kServiceSlack_s = 0.5;
constexpr double kWholeSecond_s = 1;
// The wall clocks of a job's machines are foreign and not measured.
constexpr double kForeignWall_s = 3600;

double length_s(const Instant& from, const Instant& to) {
  return static_cast<double>(to.mono_ns - from.mono_ns) * 1e-9;
}

std::optional<Lifetime> seen_here(const RankEvidence& rank) {
  if (!rank.job_within_s) return std::nullopt;
  return lifetime(*rank.job_within_s, kSpanSlack_s,
                  fmt::format("from asking for the job to seeing its end {:.3f} s went by here",
                              *rank.job_within_s));
}

std::optional<Lifetime> told_by_service(const RankEvidence& rank) {
  if (!rank.by_service || !rank.start || !rank.end) return std::nullopt;
  const double seconds = length_s(*rank.start, *rank.end);
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const bool whole = rank.start->mono_ns % kSecond_ns == 0 || rank.end->mono_ns % kSecond_ns == 0;
  return lifetime(seconds, kServiceSlack_s + (whole ? kWholeSecond_s : 0),
                  fmt::format("the job took {:.3f} s by its service", seconds));
}

// By both clocks if the log has both: lines from several machines have several monotonic clocks,
// and a wall clock can be set.
double logged_s(const LogAudit& audit) {
  std::optional<double> span;
  const auto see = [&](double seconds) { span = std::min(span.value_or(seconds), seconds); };
  if (audit.mono_first.line > 0)
    see(static_cast<double>(audit.mono_last.at.mono_us - audit.mono_first.at.mono_us) * 1e-6);
  if (audit.wall_first.line > 0)
    see(static_cast<double>(audit.wall_last.at.wall_ms - audit.wall_first.at.wall_ms) * 1e-3);
  return span.value_or(0);
}

void check_length(const RankEvidence& rank, const Lifetime& life, Contradiction& worst) {
  const LogAudit& audit = rank.log.audit;
  const double logged = logged_s(audit);
  if (logged > life.allowed) {
    const LoggedEvent& last = audit.mono_last.line > 0 ? audit.mono_last : audit.wall_last;
    const LoggedEvent& first = audit.mono_last.line > 0 ? audit.mono_first : audit.wall_first;
    worst.offer(logged - life.seconds,
                fmt::format("{} is {:.3f} s later than line {}, but {}", rank_and_line(rank, last),
                            logged, first.line, life.words));
  }
  const Contradiction said = check_said_times(rank, life);
  worst.offer(said.seconds, said.detail);
}

void check_date(const RankEvidence& rank, Contradiction& worst) {
  const LogAudit& audit = rank.log.audit;
  if (!rank.seen_end || !rank.job_within_s || audit.wall_first.line == 0) return;
  const auto after_end = [&](const LoggedEvent& event) {
    return static_cast<double>(event.at.wall_ms * 1'000'000 - rank.seen_end->wall_ns) * 1e-9;
  };
  const double early = -after_end(audit.wall_first) - *rank.job_within_s;
  const double late = after_end(audit.wall_last);
  if (early > kForeignWall_s)
    worst.offer(early, fmt::format("{} says {:.3f} s before the job was asked for",
                                   rank_and_line(rank, audit.wall_first), early));
  if (late > kForeignWall_s)
    worst.offer(late, fmt::format("{} says {:.3f} s after the job's end was seen",
                                  rank_and_line(rank, audit.wall_last), late));
}

Contradiction check_job(const RankEvidence& rank) {
  Contradiction worst;
  const std::optional<Lifetime> here = seen_here(rank);
  // The log of a restarted job has both parts, but the service may only report the last.
  const std::optional<Lifetime> told =
      rank.log.restarts == 0 ? told_by_service(rank) : std::nullopt;
  if (here) check_length(rank, *here, worst);
  if (told) check_length(rank, *told, worst);
  if (here && told && told->seconds > here->allowed + kWholeSecond_s)
    worst.offer(told->seconds - here->seconds,
                fmt::format("rank {}: {}, but {}", rank.rank, told->words, here->words));
  check_date(rank, worst);
  return worst;
}

}  // namespace

void compute_job_times(RoundContext& round) {
  if (round.evidence.supervised) return;
  Contradiction outside;
  std::size_t ranks = 0;
  bool any = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (rank.ended_by == EndedBy::lost || !(rank.job_within_s || rank.by_service)) continue;
    any = true;
    const Contradiction own = check_job(rank);
    if (own.seconds > 0) ++ranks;
    outside.offer(own.seconds, own.detail);
  }
  if (any)
    round.fact("times_outside_run_s", outside.seconds,
               and_more(outside.detail, ranks > 0 ? ranks - 1 : 0));
}

}  // namespace assay::judge
