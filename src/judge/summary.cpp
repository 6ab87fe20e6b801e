#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/judge_round.h"
#include "judge/provenance.h"
#include "judge/repeat_state.h"
#include "judge/rules.h"
#include "stats/descriptive.h"
#include "stats/student.h"

namespace assay::judge {

namespace {

constexpr int kSpreadRounds = 3;
// For a plain command, shorter durations mean nothing: process start dominates.
constexpr double kMinJudgedE2e_s = 5;

Summary summarize(const Metric& first, const std::vector<double>& values, int completed,
                  int planned) {
  Summary summary;
  summary.info = first.info;
  summary.n = static_cast<int>(values.size());
  summary.median = stats::median(values).value_or(0);
  summary.mean = stats::mean(values).value_or(0);
  summary.min = *std::ranges::min_element(values);
  summary.max = *std::ranges::max_element(values);
  summary.stddev = stats::stddev(values);
  summary.cv = stats::cv(values);
  summary.olympic_mean = stats::olympic_mean(values);
  if (summary.n >= kSpreadRounds) {
    if (const auto interval = stats::mean_interval(values)) {
      summary.ci95_low = interval->low;
      summary.ci95_high = interval->high;
    }
  }
  std::vector<std::string> notes;
  if (completed < planned)
    notes.push_back(fmt::format("{} of {} rounds completed", completed, planned));
  if (summary.n < completed)
    notes.push_back(fmt::format("known in {} of {} completed rounds", summary.n, completed));
  if (summary.n < 2)
    notes.emplace_back(
        "standard deviation and CV need 2 rounds, confidence interval and olympic "
        "mean 3");
  else if (summary.n < kSpreadRounds)
    notes.emplace_back("confidence interval and olympic mean need 3 rounds");
  summary.note = join(notes, "; ");
  return summary;
}

const Summary* find(const std::vector<Summary>& all, const std::string& name) {
  const auto at = std::ranges::find(
      all, name, [](const Summary& s) -> const std::string& { return s.info.name; });
  return at == all.end() ? nullptr : &*at;
}

constexpr const char* kToTarget = "time_to_target";

// The headline is the workload's named metric, or else the one with the best rank in the catalog.
std::string choose_headline(const plan::CasePlan& plan, const std::vector<Summary>& summary) {
  if (find(summary, plan.headline) != nullptr) return plan.headline;
  std::string best;
  int best_rank = std::numeric_limits<int>::max();
  const auto offer = [&](const std::string& name, int rank) {
    if (rank == 0 || rank >= best_rank || find(summary, name) == nullptr) return;
    best = name;
    best_rank = rank;
  };
  for (const catalog::KnownMetric& metric : catalog::known_metrics()) {
    const std::string beside(metric.beside);
    // A metric that the suite reads from the output is its own, even with a known name.
    const bool read = metric.by_workload &&
                      std::ranges::find(plan.metrics, metric.name, &plan::OutputMetric::name) !=
                          plan.metrics.end();
    if (!read && (beside.empty() || find(summary, beside) != nullptr))
      offer(std::string(metric.name), metric.headline);
  }
  for (const plan::OutputMetric& metric : plan.metrics) offer(metric.name, catalog::kNamedHeadline);
  return best;
}

// The metric to read the headline with: the speed of a training with a target, the best step of a
// micro-benchmark.
std::string choose_beside(const std::string& headline, const std::vector<Summary>& summary) {
  constexpr std::string_view kRate = "_bytes_per_s";
  std::vector<std::string> names;
  if (headline == kToTarget) names = {"steady_throughput", "steady_tokens_per_s", "p_whole"};
  if (headline == "achieved_flops") names = {"best_flops"};
  if (headline.ends_with(kRate))
    names = {headline.substr(0, headline.size() - kRate.size()) + "_best" + std::string(kRate)};
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return find(summary, name) != nullptr; });
  return found == names.end() ? "" : *found;
}

// Compares the repeats of a case. The number of steps to a training's target depends on its seed,
// so its speed must repeat instead; the time has bounds of its own.
void state_spread(const CaseResult& result, Facts& facts) {
  const bool to_target = result.headline == kToTarget;
  const Summary* speed = find(result.summary, to_target ? result.beside : result.headline);
  const auto over = [](const Summary& summary) {
    return fmt::format("{} over {} rounds", summary.info.name, summary.n);
  };
  if (speed != nullptr) {
    const bool judged = speed->info.name != "e2e_time" || speed->median >= kMinJudgedE2e_s;
    if (judged && speed->n >= kSpreadRounds && speed->cv)
      state(facts, "cv", *speed->cv, over(*speed));
    if (speed->ci95_low && speed->ci95_high && speed->mean != 0)
      state(facts, "ci95_half", (*speed->ci95_high - *speed->ci95_low) / 2 / std::abs(speed->mean),
            over(*speed));
  }
  if (!to_target) return;
  const Summary& time = *find(result.summary, kToTarget);
  if (time.n >= kSpreadRounds && time.cv) state(facts, "target_cv", *time.cv, over(time));
}

// A headline is a speed, a time or a score, so whatever it counts it must be positive.
void state_headline(const CaseResult& result, Facts& facts) {
  double wrong = 0;
  std::string detail;
  bool any = false;
  for (const RoundResult& round : result.rounds) {
    const auto metric = std::ranges::find(round.metrics, result.headline,
                                          [](const Metric& one) { return one.info.name; });
    if (round.status != RoundStatus::completed || metric == round.metrics.end()) continue;
    any = true;
    if (metric->value > 0 && std::isfinite(metric->value)) continue;
    if (wrong++ == 0)
      detail = fmt::format("{} of round {} is {}", result.headline, round.round,
                           format_number(metric->value));
  }
  if (any) state(facts, "headline_not_positive", wrong, detail);
}

}  // namespace

CaseResult planned_result(const plan::CasePlan& plan) {
  CaseResult result;
  result.name = plan.name;
  result.model = plan.model;
  result.framework = plan.framework;
  result.hardware = plan.hardware;
  result.nodes = plan.nodes;
  result.procs = plan.procs;
  result.sweep = plan.sweep;
  return result;
}

CaseResult summarize_case(const plan::CasePlan& plan, std::vector<RoundResult> rounds,
                          std::string repeats_ended, const std::optional<ExpectedCase>& expected) {
  CaseResult result = planned_result(plan);
  for (RoundResult& round : rounds)
    (round.warmup ? result.warmup_rounds : result.rounds).push_back(std::move(round));
  result.repeats_ended = std::move(repeats_ended);
  const int planned = plan.until ? static_cast<int>(result.rounds.size()) : plan.repeats;
  result.repeats = std::max(planned, 1);

  int completed = 0;
  std::vector<const Metric*> order;
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, Origin> origins;
  for (const RoundResult& round : result.rounds) {
    if (round.status != RoundStatus::completed) continue;
    ++completed;
    for (const Metric& metric : round.metrics) {
      auto& list = values[metric.info.name];
      if (list.empty()) order.push_back(&metric);
      list.push_back(metric.value);
      Origin& origin = origins[metric.info.name];
      origin = worst(origin, metric.origin);
    }
  }
  for (const Metric* metric : order) {
    Summary summary = summarize(*metric, values[metric->info.name], completed, planned);
    summary.origin = origins[metric->info.name];
    result.summary.push_back(std::move(summary));
  }
  result.headline = choose_headline(plan, result.summary);
  result.beside = choose_beside(result.headline, result.summary);

  Facts facts;
  const std::string counted = fmt::format("{} of {}", completed, planned);
  state(facts, "rounds_completed", completed, counted);
  if (planned > 0)
    state(facts, "rounds_completed_ratio", static_cast<double>(completed) / planned, counted);
  state_rounds(plan, result, facts);
  state_changes(result.rounds, facts);
  const Summary* headline = find(result.summary, result.headline);
  state_headline(result, facts);
  state_spread(result, facts);
  if (expected) state_expected(*expected, result, facts);
  const auto lookup = [&](const std::string& name) -> std::optional<Fact> {
    if (const auto fact = facts.find(name); fact != facts.end()) return fact->second;
    if (const Summary* summary = find(result.summary, name))
      return Fact{summary->median, "median of " + assay::counted(summary->n, "round")};
    return std::nullopt;
  };
  result.findings = apply_rules(plan.rules, catalog::RuleScope::whole_case, lookup, "",
                                /*only_diagnostic=*/false);
  for (const catalog::Rule& rule : plan.rules) {
    // Without the note, this would look like a small spread.
    if (rule.scope != catalog::RuleScope::whole_case || rule.fact != "cv" || rule.required ||
        headline == nullptr)
      continue;
    if (headline->n < kSpreadRounds)
      result.findings.push_back(
          {rule.id, Severity::note,
           fmt::format("the spread over repeats is not judged: {} of the {} completed rounds it "
                       "needs",
                       headline->n, kSpreadRounds),
           "repeat the case 3 times or more", ""});
    break;
  }

  result.validity = verdict(result.findings);
  if (result.rounds.empty()) result.validity = worst(result.validity, Validity::incomplete);
  for (const RoundResult& round : result.rounds)
    result.validity = worst(result.validity, round.validity);
  return result;
}

}  // namespace assay::judge
