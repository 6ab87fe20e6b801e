#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "judge/clock_alignment.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

int planned_ranks(const plan::CasePlan& plan) {
  switch (plan.launch) {
    case plan::LaunchMode::per_rank:
      return plan.world_size();
    case plan::LaunchMode::per_node:
      return plan.nodes;
    case plan::LaunchMode::head:
      break;
  }
  return 1;
}

// How the ranks of a group ended, grouped by ending: "rank 3: SIGSEGV; ranks 4–7: exit 1".
std::string endings(const std::vector<const RankEvidence*>& ranks) {
  std::map<std::string, std::vector<int>> groups;
  std::vector<std::string> order;
  for (const RankEvidence* rank : ranks) {
    const std::string how = rank->exit ? to_string(*rank->exit) : "no exit status";
    if (!groups.contains(how)) order.push_back(how);
    groups[how].push_back(rank->rank);
  }
  std::vector<std::string> parts;
  for (const std::string& how : order) parts.push_back(rank_list(groups[how]) + ": " + how);
  return join(parts, "; ");
}

// A node that the journal does not mention kept its caches as well.
void note_caches(RoundContext& round) {
  std::map<std::string, std::vector<std::string>> kept;  // by reason
  double count = 0;
  for (const NodeEvidence& node : round.evidence.nodes) {
    if (node.caches_dropped == true) continue;
    ++count;
    kept[node.caches_how.empty() ? "not recorded" : node.caches_how].push_back(
        node.host.empty() ? fmt::format("node {}", node.node) : node.host);
  }
  std::vector<std::string> parts;
  for (const auto& [reason, hosts] : kept) parts.push_back(join(hosts, ", ") + ": " + reason);
  round.fact("caches_kept", count, join(parts, "; "));
}

std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return join(shown, ", ") +
         (names.size() > kShown ? fmt::format(", and {} more", names.size() - kShown) : "");
}

// Reports nodes given to a head on which nobody saw it start anything.
void note_unused_nodes(RoundContext& round) {
  std::vector<std::string> unused;
  bool told = false;
  for (const NodeEvidence& node : round.evidence.nodes) {
    if (!node.seen_processes) continue;
    told = true;
    if (*node.seen_processes == 0)
      unused.push_back(node.host.empty() ? fmt::format("node {}", node.node) : node.host);
  }
  if (told) round.fact("nodes_unused", static_cast<double>(unused.size()), first_few(unused));
}

// Reports ranks that should have been bound but were seen elsewhere, and those that nobody saw.
void note_bindings(RoundContext& round) {
  int outside = 0;
  int unknown = 0;
  std::vector<std::string> parts;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (!rank.start) continue;
    if (!rank.bound) {
      ++unknown;
      continue;
    }
    const CpuSet elsewhere = rank.ran_on.value_or(CpuSet{}).without(*rank.bound);
    if (elsewhere.empty()) continue;
    ++outside;
    parts.push_back(fmt::format("rank {} on {}: bound to {}, seen on {}", rank.rank, rank.host,
                                rank.bound->text(), elsewhere.text()));
  }
  if (unknown > 0) parts.push_back(counted(unknown, "rank") + " without a binding in the journal");
  round.fact("ranks_outside_binding", outside + unknown, join(parts, "; "));
}

// Counts the attempts that this one replaced. An interrupted experiment resumes instead:
// automl_resumed reports that.
void note_attempts(RoundContext& round) {
  std::map<RoundStatus, int> ends;
  int attempts = 0;
  for (const RoundStatus status : round.evidence.earlier_attempts) {
    if (round.plan.automl && !is_result(status)) continue;
    ++attempts;
    ++ends[status];
  }
  std::vector<std::string> parts;
  for (const auto& [status, count] : ends)
    parts.push_back(fmt::format("{}: {}", to_text(status), count));
  round.fact("failed_attempts", attempts, join(parts, ", "));
}

}  // namespace

void compute_facts(RoundContext& round) {
  const RoundEvidence& evidence = round.evidence;
  if (evidence.status == RoundStatus::not_run) return;
  std::vector<const RankEvidence*> failed;
  std::vector<int> lost;
  std::vector<int> silent;
  std::vector<int> malformed;
  std::vector<int> truncated;
  std::vector<int> dropped;
  std::vector<int> nonfinite;
  std::vector<int> restarted;
  std::vector<int> without_log;
  double events = 0;
  double malformed_lines = 0;
  double dropped_bytes = 0;
  double nonfinite_losses = 0;
  double restarts = 0;
  int started = 0;
  std::int64_t first_nonfinite = kNoTime;
  std::string malformed_at;
  for (const RankEvidence& rank : evidence.ranks) {
    const RankLog& log = rank.log;
    if (rank.start || rank.exit) ++started;
    if (rank.exit && !rank.exit->ok()) failed.push_back(&rank);
    if (rank.ended_by == EndedBy::lost || (rank.start && !rank.exit)) lost.push_back(rank.rank);
    if (rank.start && !log.found) without_log.push_back(rank.rank);
    events += static_cast<double>(log.events);
    if (log.events == 0) silent.push_back(rank.rank);
    if (log.malformed_lines > 0) {
      if (malformed.empty())
        malformed_at = fmt::format("first at {}:{}", rank.log_path, log.first_malformed);
      malformed.push_back(rank.rank);
    }
    malformed_lines += static_cast<double>(log.malformed_lines);
    if (log.truncated) truncated.push_back(rank.rank);
    if (rank.dropped_bytes > 0) dropped.push_back(rank.rank);
    dropped_bytes += static_cast<double>(rank.dropped_bytes);
    if (log.nonfinite_losses > 0) {
      nonfinite.push_back(rank.rank);
      if (first_nonfinite == kNoTime) first_nonfinite = log.first_nonfinite_step;
    }
    nonfinite_losses += static_cast<double>(log.nonfinite_losses);
    if (log.restarts > 0) restarted.push_back(rank.rank);
    restarts = std::max(restarts, static_cast<double>(log.restarts));
  }
  const auto who = [](const std::vector<int>& ranks) {
    return ranks.empty() ? std::string() : rank_list(ranks);
  };

  round.fact("ranks_failed", static_cast<double>(failed.size()), endings(failed));
  round.fact("ranks_lost", static_cast<double>(lost.size()), who(lost));
  const int planned = planned_ranks(round.plan);
  round.fact("ranks_missing", std::max(0, planned - started),
             fmt::format("{} of {} were started", started, planned));
  round.fact("logs_missing", static_cast<double>(without_log.size()), who(without_log));
  round.fact("logs_foreign", static_cast<double>(evidence.foreign_logs.size()),
             first_few(evidence.foreign_logs));
  round.fact("dropped_bytes", dropped_bytes, who(dropped));
  round.fact("perflog_events", events);
  round.fact("unreadable_files", static_cast<double>(evidence.problems.size()),
             evidence.problems.empty() ? "" : evidence.problems.front());
  if (events > 0 || round.plan.target)
    round.fact("ranks_without_perflog", static_cast<double>(silent.size()), who(silent));
  if (events > 0 || malformed_lines > 0 || !truncated.empty()) {
    round.fact("malformed_lines", malformed_lines,
               malformed.empty() ? "" : who(malformed) + ", " + malformed_at);
    round.fact("truncated_logs", static_cast<double>(truncated.size()), who(truncated));
  }
  if (events > 0) {
    round.fact("nonfinite_losses", nonfinite_losses,
               first_nonfinite == kNoTime
                   ? who(nonfinite)
                   : fmt::format("{}, first at step {}", who(nonfinite), first_nonfinite));
    round.fact("train_restarts", restarts, who(restarted));
  }

  std::string where;
  if (const auto jump = largest_clock_jump(evidence, where)) {
    round.fact("clock_jump_max_s", *jump, where);
    if (round.timeline.uses_wall_clock()) round.fact("clock_jump_in_times_s", *jump, where);
  }

  std::vector<std::string> unwritten;
  for (const GapEvidence& gap : evidence.gaps) {
    if (!gap.source.starts_with("rank") || !gap.source.ends_with(".log")) continue;
    const auto node = std::ranges::find(evidence.nodes, gap.node, &NodeEvidence::node);
    const std::string host = node == evidence.nodes.end() || node->host.empty()
                                 ? fmt::format("node {}", gap.node)
                                 : node->host;
    unwritten.push_back(fmt::format("{} on {}: {}", gap.source, host, gap.reason));
  }
  std::vector<std::string> not_offered;
  for (const GapEvidence& gap : evidence.gaps)
    if (gap.source == "prometheus")
      not_offered.push_back(fmt::format("node {}: {}", gap.node, gap.reason));
  round.fact("metrics_not_offered", static_cast<double>(not_offered.size()),
             join(not_offered, "; "));
  round.fact("log_write_errors", static_cast<double>(unwritten.size()), join(unwritten, "; "));

  double skew = 0;
  std::vector<std::string> off;
  for (const NodeEvidence& node : evidence.nodes) {
    const std::optional<ClockError> error = clock_error(node);
    if (!error) continue;
    const double size = std::abs(error->behind_s);
    skew = std::max(skew, size);
    if (size <= kWrongClock_s) continue;
    const char* side = error->behind_s > 0 ? "behind" : "ahead";
    off.push_back(error->measured ? fmt::format("{}: {:.1f} s {}, measured within {:.2g} ms",
                                                node.host, size, side, 1e3 * error->uncertainty_s)
                                  : fmt::format("{}: {:.1f} s {}, by when its messages came",
                                                node.host, size, side));
  }
  if (!evidence.one_clock) round.fact("clock_skew_max_s", skew, join(off, ", "));

  double leftovers = 0;
  std::vector<std::string> hosts;
  for (const NodeEvidence& node : evidence.nodes) {
    if (node.killed_leftovers == 0) continue;
    leftovers += static_cast<double>(node.killed_leftovers);
    hosts.push_back(node.host.empty() ? fmt::format("node {}", node.node) : node.host);
  }
  round.fact("killed_leftovers", leftovers, hosts.empty() ? "" : "on " + join(hosts, ", "));
  if (round.plan.drop_caches) note_caches(round);
  // A failed head may have started nothing at all.
  if (evidence.status != RoundStatus::failed && evidence.status != RoundStatus::launch_failed)
    note_unused_nodes(round);
  if (round.plan.bind.mode != BindMode::none) note_bindings(round);
  note_attempts(round);
}

}  // namespace assay::judge
