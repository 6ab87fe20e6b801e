// Checks whether the ranks' logs are complete and consistent.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

// Whether a rank ended successfully by itself in the middle of a training. With several writers of
// one log, each may have restarted after a failure: then only a log without any end is reported.
bool left_early(const RoundContext& round, const RankEvidence& rank) {
  const LogAudit& audit = rank.log.audit;
  if (audit.train_starts == 0 || !rank.exit || !rank.exit->ok()) return false;
  if (round.plan.launch == plan::LaunchMode::per_rank) return audit.training_open;
  const bool none_again = audit.train_starts <= rank.log.tracks.size();
  return audit.train_ends == 0 || (none_again && audit.train_ends < audit.train_starts);
}

std::string last_step(const RankEvidence& rank) {
  for (const StepTrack& track : rank.log.tracks)
    if (track.last_number != kNoTime) return fmt::format(" after step {}", track.last_number);
  return "";
}

void check_ends(RoundContext& round) {
  std::vector<int> open;
  std::string detail;
  bool any = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    any = any || rank.log.audit.train_starts > 0;
    if (!left_early(round, rank)) continue;
    if (open.empty())
      detail = fmt::format(": rank {} left{}, see {}", rank.rank, last_step(rank), rank.log_path);
    open.push_back(rank.rank);
  }
  if (any)
    round.fact("train_unended", static_cast<double>(open.size()),
               open.empty() ? "" : rank_list(open) + detail);
}

// Ranks that reduce their gradients together take the same steps. Pipelines in which not every rank
// logs steps are not checked here.
void check_equal_steps(RoundContext& round) {
  const std::vector<RankResult>& ranks = round.result.ranks;
  if (round.plan.automl || ranks.size() < 2) return;
  const bool all = std::ranges::all_of(ranks, [](const RankResult& r) { return r.steps > 0; });
  const bool again = std::ranges::any_of(round.evidence.ranks,
                                         [](const RankEvidence& r) { return r.log.restarts > 0; });
  if (!all || again) return;
  std::map<std::int64_t, std::vector<int>> by_steps;
  for (const RankResult& rank : ranks) by_steps[rank.steps].push_back(rank.rank);
  const std::int64_t difference = by_steps.rbegin()->first - by_steps.begin()->first;
  constexpr std::size_t kShown = 4;
  std::vector<std::string> parts;
  for (const auto& [steps, who] : by_steps)
    if (parts.size() < kShown) parts.push_back(fmt::format("{}: {}", rank_list(who), steps));
  round.fact("steps_uneven", static_cast<double>(difference), join(parts, "; "));
}

// Compares with the agent's count when the rank ended; a process that outlives it may add more.
void check_received(RoundContext& round) {
  double bytes = 0;
  double steps = 0;
  std::string bytes_at;
  std::string steps_at;
  bool known = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (!rank.log.found || !rank.output_bytes) continue;
    known = true;
    const std::uint64_t kept =
        *rank.output_bytes - std::min(*rank.output_bytes, rank.dropped_bytes);
    if (rank.log.bytes < kept) {
      if (bytes == 0)
        bytes_at = round.evidence.supervised
                       ? fmt::format("{} has {} bytes, and its agent had written {}", rank.log_path,
                                     rank.log.bytes, kept)
                       : fmt::format("{} has {} bytes, and the job's service says {}",
                                     rank.log_path, rank.log.bytes, kept);
      bytes += static_cast<double>(kept - rank.log.bytes);
    }
    // An unreadable line may hold one, and the agent may have read a line that is too long.
    const std::uint64_t logged = rank.log.audit.step_ends + rank.log.malformed_lines;
    if (!rank.seen_steps || logged >= *rank.seen_steps) continue;
    if (steps == 0)
      steps_at = fmt::format("{} of the {} that the agent saw of rank {} are in {}", logged,
                             *rank.seen_steps, rank.rank, rank.log_path);
    steps += static_cast<double>(*rank.seen_steps - logged);
  }
  if (!known) return;
  round.fact("log_bytes_missing", bytes, bytes_at);
  round.fact("logged_steps_missing", steps, steps_at);
}

}  // namespace

void compute_completeness(RoundContext& round) {
  check_ends(round);
  check_equal_steps(round);
  check_received(round);
}

}  // namespace assay::judge
