#include "judge/judge_round.h"

#include <algorithm>

#include <fmt/format.h>

#include "judge/round_context.h"
#include "judge/rules.h"

namespace assay::judge {

RoundResult judge_round(const plan::CasePlan& plan, const RoundEvidence& evidence, Facts* facts) {
  RoundContext round(plan, evidence);
  round.result.round = evidence.round;
  round.result.warmup = plan.is_warmup(evidence.round);
  round.result.status = evidence.status;
  round.result.reason = evidence.reason;
  round.result.executed = evidence.executed;
  if (evidence.start) round.result.started = iso_utc(evidence.start->wall_ns, true);
  if (evidence.end) round.result.ended = iso_utc(evidence.end->wall_ns, true);
  if (evidence.status != RoundStatus::not_run) {
    compute_plausibility(round);
    compute_job_times(round);
    compute_times(round);
    compute_steady(round);
    compute_training(round);
    compute_steps(round);
    compute_evaluations(round);
    compute_sample_counts(round);
    compute_time_shares(round);
    compute_resources(round);
    compute_outputs(round);  // measured values go before printed ones
    compute_machines(round);
    compute_automl(round);
    compute_ais(round);
    compute_completeness(round);
    compute_facts(round);
    compute_integrity(round);
  }

  RoundResult result = std::move(round.result);
  if (round.steady) result.steady = Phase{"steady", round.steady->start, round.steady->end};
  result.findings = status_findings(plan, evidence, result);
  const std::string where = fmt::format("round {}", evidence.round);
  const auto lookup = [&](const std::string& name) -> std::optional<Fact> {
    if (const auto fact = round.facts.find(name); fact != round.facts.end()) return fact->second;
    if (const Metric* metric = round.metrics.find(name)) return Fact{metric->value, metric->note};
    return std::nullopt;
  };
  if (evidence.status != RoundStatus::not_run) {
    const bool completed = evidence.status == RoundStatus::completed;
    for (Finding& finding :
         apply_rules(plan.rules, catalog::RuleScope::round, lookup, where, !completed))
      result.findings.push_back(std::move(finding));
  }
  result.evidence = evidence_state(plan.rules, lookup, result.findings, evidence.status);
  if (result.reason.empty() && !result.findings.empty() &&
      evidence.status != RoundStatus::completed)
    result.reason = result.findings.front().reason;
  result.metrics = round.metrics.take();
  result.validity = verdict(result.findings);
  if (facts != nullptr) *facts = std::move(round.facts);
  return result;
}

}  // namespace assay::judge
