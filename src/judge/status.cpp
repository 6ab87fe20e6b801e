#include <algorithm>

#include <fmt/format.h>

#include "aisbench/reported_results.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/judge_round.h"
#include "judge/rank_log.h"

namespace assay::judge {

namespace {

std::string name_of(const RankEvidence& rank) {
  return rank.host.empty() ? fmt::format("rank {}", rank.rank)
                           : fmt::format("rank {} on {}", rank.rank, rank.host);
}

std::string see(const RankEvidence& rank) {
  return rank.log_path.empty() ? std::string() : "see " + rank.log_path;
}

// Such a round is a result and stays unless --failed is given.
constexpr const char* kRunAgain = "; 'assay run --resume RUN --failed' runs the round again";

// The usual cause of such an exit.
std::string hint(const ExitStatus& exit) {
  if (exit.code == 127) return "the command or a library of it was not found";
  if (exit.code == 126) return "the command cannot be executed: check its permissions";
  if (exit.code == 137 || exit.signal == 9)
    return "SIGKILL usually means that the machine ran out of memory: look at its kernel log";
  if (exit.signal == 11 || exit.signal == 6 || exit.signal == 7 || exit.signal == 8 ||
      exit.signal == 4)
    return "the program crashed: run the rank's command alone under a debugger";
  if (exit.signal == 15 || exit.signal == 2) return "it was stopped from outside";
  return "the last lines of its log usually name the cause";
}

// The first rank that failed by itself; ranks that were stopped afterwards are consequences.
const RankEvidence* first_failure(const RoundEvidence& evidence) {
  const RankEvidence* first = nullptr;
  const auto earlier = [](const RankEvidence& a, const RankEvidence& b) {
    if (!a.end || !b.end) return a.end.has_value();
    return a.node == b.node ? a.end->mono_ns < b.end->mono_ns : a.end->wall_ns < b.end->wall_ns;
  };
  for (const bool itself : {true, false}) {
    for (const RankEvidence& rank : evidence.ranks) {
      if (!rank.exit || rank.exit->ok() || (itself && rank.ended_by != EndedBy::itself)) continue;
      if (first == nullptr || earlier(rank, *first)) first = &rank;
    }
    if (first != nullptr) break;
  }
  return first;
}

std::vector<const RankEvidence*> ended_by(const RoundEvidence& evidence, EndedBy how) {
  std::vector<const RankEvidence*> out;
  for (const RankEvidence& rank : evidence.ranks)
    if (rank.ended_by == how) out.push_back(&rank);
  return out;
}

std::string list(const std::vector<const RankEvidence*>& ranks) {
  std::vector<int> numbers;
  for (const RankEvidence* rank : ranks) numbers.push_back(rank->rank);
  return rank_list(std::move(numbers));
}

std::int64_t steps_of_rank(const RankEvidence& rank, const RoundResult& result) {
  const auto at = std::ranges::find(result.ranks, rank.rank, &RankResult::rank);
  return at == result.ranks.end() ? 0 : at->steps;
}

// The rank to look at first: the one that the others waited for, if this was reported at the time;
// else, of those that had to be ended, the one that got least far, or the first.
const RankEvidence* first_to_look_at(const std::vector<const RankEvidence*>& ranks,
                                     const RoundEvidence& evidence, const RoundResult& result) {
  for (const RankEvidence* rank : ranks)
    if (std::ranges::find(evidence.culprits, rank->rank) != evidence.culprits.end()) return rank;
  const auto least = std::ranges::min_element(
      ranks, {}, [&](const RankEvidence* rank) { return steps_of_rank(*rank, result); });
  return least == ranks.end() ? nullptr : *least;
}

// Whether some other ranks made more steps and none fewer.
bool is_least_far(const RankEvidence& one, const std::vector<const RankEvidence*>& ranks,
                  const RoundResult& result) {
  const std::int64_t own = steps_of_rank(one, result);
  bool behind = false;
  for (const RankEvidence* rank : ranks) {
    const std::int64_t steps = steps_of_rank(*rank, result);
    if (steps < own) return false;
    behind = behind || steps > own;
  }
  return behind;
}

Finding ended_for(const RoundEvidence& evidence, const RoundResult& result, std::string rule,
                  EndedBy how, const std::string& what, const std::string& advice) {
  auto ranks = ended_by(evidence, how);
  const RankEvidence* first = first_to_look_at(ranks, evidence, result);
  Finding finding{std::move(rule), Severity::invalid, what, advice, ""};
  if (first == nullptr) return finding;
  finding.reason += fmt::format("; {} had to be ended", list(ranks));
  if (const std::int64_t steps = steps_of_rank(*first, result);
      steps > 0 && is_least_far(*first, ranks, result))
    finding.reason += fmt::format(", least far was {} at step {}", name_of(*first), steps);
  finding.advice += "; " + see(*first) + kRunAgain;
  finding.quote = first->log.last_lines;
  finding.where = name_of(*first);
  return finding;
}

Finding failed(const RoundEvidence& evidence) {
  Finding finding{"round-failed", Severity::invalid, evidence.reason, "", ""};
  const RankEvidence* first = first_failure(evidence);
  // If there is a reason, the endings of ranks that Assay stopped are its consequence.
  const bool stopped = first != nullptr && first->ended_by != EndedBy::itself;
  if (first == nullptr || (stopped && !evidence.reason.empty())) {
    if (finding.reason.empty()) finding.reason = "the round failed";
    finding.advice = std::string("look at the ranks' logs in the round's folder") + kRunAgain;
    return finding;
  }
  finding.where = name_of(*first);
  finding.reason = fmt::format("{} ended with {}", name_of(*first), to_string(*first->exit));
  if (first->start && first->end && first->end->mono_ns >= first->start->mono_ns)
    finding.reason += fmt::format(
        " after {}", format_duration(Nanoseconds(first->end->mono_ns - first->start->mono_ns)));
  std::vector<const RankEvidence*> also;
  for (const RankEvidence& rank : evidence.ranks)
    if (&rank != first && rank.exit && !rank.exit->ok()) also.push_back(&rank);
  if (!also.empty()) finding.reason += fmt::format("; {} did not end well either", list(also));
  finding.advice = hint(*first->exit);
  if (const auto stage = aisbench::stage_of_exit_code(first->exit->code.value_or(0));
      evidence.ais && !stage.what.empty()) {
    finding.reason += fmt::format(": {}", stage.what);
    finding.advice = stage.advice;
  }
  finding.quote = first->log.last_lines;
  if (const std::string log = see(*first); !log.empty()) finding.advice += "; " + log;
  finding.advice += kRunAgain;
  return finding;
}

Finding lost(const RoundEvidence& evidence) {
  Finding finding{"round-lost", Severity::incomplete, evidence.reason,
                  "check that the node is up and reachable, then run again with --resume", ""};
  // A service's job and an experiment have no lost node: the program that followed them knows more.
  if ((!evidence.supervised || evidence.automl) && !evidence.advice.empty())
    finding.advice = evidence.advice;
  std::vector<const RankEvidence*> ranks;
  std::vector<std::string> hosts;
  for (const RankEvidence& rank : evidence.ranks) {
    if (rank.ended_by != EndedBy::lost && (rank.exit || !rank.start)) continue;
    ranks.push_back(&rank);
    if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
  }
  if (!ranks.empty()) {
    finding.where = list(ranks) + " on " + join(hosts, ", ");
    if (finding.reason.empty()) finding.reason = "the agent was lost, and with it " + finding.where;
  }
  if (finding.reason.empty()) finding.reason = "an agent was lost";
  return finding;
}

// The hosts whose logs are missing, if there are several; the reason names the first.
std::string hosts_without_logs(const RoundEvidence& evidence) {
  std::vector<std::string> hosts;
  for (const NodeEvidence& node : evidence.nodes)
    if (std::ranges::any_of(evidence.gaps, [&](const GapEvidence& gap) {
          return gap.node == node.node && gap.source == "logs";
        }))
      hosts.push_back(node.host);
  return hosts.size() > 1 ? "on " + join(hosts, ", ") : "";
}

// From the state of a rank's process (launch/agents/culprit.cpp).
constexpr std::string_view kStoppedBySignal = "stopped by a signal";

constexpr const char* kWhenItEnded =
    "'assay report' again when the run has ended; a run that was killed goes on with 'assay run "
    "--resume'";

std::string or_else(const std::string& reason, const std::string& fallback) {
  return reason.empty() ? fallback : reason;
}

}  // namespace

std::vector<Finding> status_findings(const plan::CasePlan& plan, const RoundEvidence& evidence,
                                     const RoundResult& result) {
  std::vector<Finding> findings;
  const std::string& reason = evidence.reason;
  switch (evidence.status) {
    case RoundStatus::completed:
      return findings;
    case RoundStatus::failed:
      findings.push_back(failed(evidence));
      break;
    case RoundStatus::timed_out:
      findings.push_back(ended_for(
          evidence, result, "round-timed-out", EndedBy::time_limit,
          or_else(reason, "the round did not end within " + duration_text(plan.limits.time)),
          "raise limits.time in the suite and start a new run if a round is meant to take longer"));
      break;
    case RoundStatus::stalled:
      findings.push_back(ended_for(
          evidence, result, "round-stalled", EndedBy::stall,
          or_else(reason, "no step and no output for " + duration_text(plan.limits.stall)),
          reason.find(kStoppedBySignal) != std::string::npos
              ? "something stopped the process from outside: SIGSTOP, a debugger, a shell's job "
                "control, or a terminal that it reads from; 'kill -CONT PID' lets it go on"
          : evidence.ranks.size() == 1
              ? "look at what it waits for: its log, its stack (gdb, py-spy), input or a lock; "
                "raise limits.stall in the suite and start a new run if a step may take that long"
              : "a deadlock in communication is the usual cause: a rank that died, a blocked port, "
                "a "
                "wrong interface; raise limits.stall in the suite and start a new run if a step "
                "may take "
                "that "
                "long"));
      break;
    case RoundStatus::interrupted:
      if (!evidence.run_ended && reason.empty())
        findings.push_back({"round-interrupted", Severity::incomplete,
                            "the round has not ended: it still runs, or the run was killed",
                            kWhenItEnded, ""});
      else
        findings.push_back({"round-interrupted", Severity::incomplete,
                            or_else(reason, "the run was interrupted before the round ended"),
                            "go on with 'assay run --resume'", ""});
      break;
    case RoundStatus::launch_failed:
      findings.push_back(
          {"launch-failed", Severity::incomplete, or_else(reason, "no rank could be started"),
           "'assay check' shows what the machines lack for this suite; then go on with "
           "'assay run --resume'",
           ""});
      break;
    case RoundStatus::lost:
      findings.push_back(lost(evidence));
      break;
    case RoundStatus::unrecorded:
      findings.push_back(
          {"round-unrecorded", Severity::incomplete,
           or_else(reason, "the evidence of the round could not be written"),
           // The program that followed a service's job knows more.
           !evidence.supervised && !evidence.advice.empty()
               ? evidence.advice
               : std::string("the machine failed, not the training: free space on its disk") +
                     kRunAgain,
           hosts_without_logs(evidence)});
      break;
    case RoundStatus::not_run:
      findings.push_back({"not-run", Severity::incomplete, or_else(reason, "the round was not run"),
                          evidence.run_ended ? "go on with 'assay run --resume'" : kWhenItEnded,
                          ""});
      break;
  }
  for (Finding& finding : findings) {
    if (finding.severity == Severity::incomplete) finding.aspect = Aspect::completeness;
    finding.where = fmt::format("round {}", evidence.round) +
                    (finding.where.empty() ? "" : ", " + finding.where);
  }
  return findings;
}

}  // namespace assay::judge
