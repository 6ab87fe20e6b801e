#include "compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compare/differences.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::compare {

namespace {

// Two cases that differ in one of these have not done the same work.
constexpr std::array<std::string_view, 8> kWork{"model",
                                                "data",
                                                "config.data",
                                                "config.path",
                                                "config.glyph_size",
                                                "config.sequence",
                                                "config.train_size",
                                                "target"};

// One case on one side, over all its runs.
struct Side {
  std::vector<const judge::CaseResult*> results;
  [[nodiscard]] const judge::CaseResult& first() const { return *results.front(); }
};

// Two runs with other numbers of rounds have the same cases.
std::string identity(const judge::CaseResult& result) {
  const std::string rounds = ":" + std::to_string(result.repeats);
  const std::string placed = fmt::format("{}:{}:{}:{}:{}", result.model, result.framework,
                                         result.hardware, result.nodes, result.procs);
  return result.name == placed + rounds ? placed : result.name;
}

bool is_named(const std::string& metric, const std::string& name) {
  return metric == name || (name == "throughput" && metric == "steady_throughput");
}

std::vector<double> values_of(const Side& side, const std::string& metric) {
  std::vector<double> out;
  for (const judge::CaseResult* result : side.results)
    for (const judge::RoundResult& round : result->rounds) {
      if (round.status != RoundStatus::completed) continue;
      const auto found = std::ranges::find(round.metrics, metric, [](const judge::Metric& m) {
        return std::string_view(m.info.name);
      });
      if (found != round.metrics.end()) out.push_back(found->value);
    }
  return out;
}

std::string why_refused(const Side& base, const Side& candidate, const CaseChange& change,
                        const Options& options) {
  for (const Difference& difference : change.differences)
    if (std::ranges::find(kWork, difference.what) != kWork.end())
      return fmt::format("not the same work: {} is {} and {}", difference.what,
                         difference.base.empty() ? "not set" : difference.base,
                         difference.candidate.empty() ? "not set" : difference.candidate);
  if (options.invalid_too) return {};
  for (const auto& [side, who] :
       {std::pair{&base, "the base"}, std::pair{&candidate, "the new one"}})
    for (const judge::CaseResult* result : side->results)
      if (result->validity != judge::Validity::valid)
        return fmt::format("{} is {}", who, to_string(result->validity));
  return {};
}

std::string warning_of(const Side& base, const Side& candidate) {
  const auto not_valid = [](const judge::CaseResult* result) {
    return result->validity != judge::Validity::valid;
  };
  if (std::ranges::any_of(base.results, not_valid) ||
      std::ranges::any_of(candidate.results, not_valid))
    return "a side is not VALID";
  return {};
}

std::vector<MetricChange> metric_changes(const Side& base, const Side& candidate,
                                         const Options& options) {
  std::vector<MetricChange> out;
  const std::string& headline = base.first().headline;
  for (const judge::Summary& summary : base.first().summary) {
    const bool is_headline = summary.info.name == headline;
    const bool asked =
        options.all_metrics || std::ranges::any_of(options.metrics, [&](const std::string& name) {
          return is_named(summary.info.name, name);
        });
    if (!is_headline && (!asked || summary.info.better == Better::neither)) continue;
    MetricChange change{summary.info, is_headline};
    change.base = values_of(base, summary.info.name);
    change.candidate = values_of(candidate, summary.info.name);
    const auto level = stats::level_change(change.base, change.candidate);
    if (!level) continue;
    change.level = *level;
    if (is_headline)
      out.insert(out.begin(), std::move(change));
    else
      out.push_back(std::move(change));
  }
  return out;
}

std::string unsure_note(const MetricChange& change, double tolerance) {
  if (!change.level.interval)
    return "one round on each side says nothing about the spread; repeat the case 5 times";
  constexpr int kMost = 1000;
  const int needed = stats::values_to_decide(change.level.spread, tolerance, kMost);
  const auto have = static_cast<int>(std::min(change.base.size(), change.candidate.size()));
  return fmt::format(
      "with a spread of {:.2g} % {} rounds on each side tell a change of {:.3g} % from none; there "
      "are {}",
      change.level.spread * 100,
      needed == kMost ? "more than 1000" : fmt::format("about {}", std::max(needed, have + 1)),
      tolerance * 100, have);
}

void decide(MetricChange& change, const Options& options) {
  const stats::LevelChange& level = change.level;
  if (level.interval && std::abs(level.interval->low) <= options.tolerance &&
      std::abs(level.interval->high) <= options.tolerance) {
    change.verdict = Verdict::same;
    return;
  }
  const bool certain = level.interval && change.adjusted_p < options.level &&
                       level.rank_p.value_or(0) < options.level;
  if (certain && change.info.better != Better::neither) {
    change.verdict = (level.change > 0) == (change.info.better == Better::higher) ? Verdict::better
                                                                                  : Verdict::worse;
    return;
  }
  change.note = unsure_note(change, options.tolerance);
}

// The headlines are one family of tests, all other metrics another: who asks for more of them must
// not lose what the headlines show.
void decide_all(Comparison& comparison) {
  for (const bool headline : {true, false}) {
    std::vector<MetricChange*> family;
    std::vector<double> p_values;
    for (CaseChange& change : comparison.cases)
      for (MetricChange& metric : change.metrics)
        if (metric.headline == headline) {
          family.push_back(&metric);
          p_values.push_back(metric.level.p_value);
        }
    const std::vector<double> adjusted = stats::holm(p_values);
    for (std::size_t i = 0; i < family.size(); ++i) {
      family[i]->adjusted_p = adjusted[i];
      decide(*family[i], comparison.options);
    }
  }
}

struct Sides {
  std::vector<std::string> order;
  std::map<std::string, Side> cases;

  explicit Sides(std::span<const judge::RunResult> runs) {
    for (const judge::RunResult& run : runs)
      for (const judge::CaseResult& result : run.cases) {
        const std::string key = identity(result);
        Side& side = cases[key];
        if (side.results.empty()) order.push_back(key);
        side.results.push_back(&result);
      }
  }
};

}  // namespace

Comparison compare_runs(std::span<const judge::RunResult> base,
                        std::span<const judge::RunResult> candidate, const Options& options) {
  Comparison out;
  out.options = options;
  for (const judge::RunResult& run : base) out.base_runs.push_back(run.run_id);
  for (const judge::RunResult& run : candidate) out.candidate_runs.push_back(run.run_id);
  if (!base.empty() && !candidate.empty())
    out.differences = run_differences(base.front(), candidate.front());
  const Sides before(base);
  const Sides now(candidate);
  for (const std::string& key : before.order) {
    CaseChange change{key};
    const Side& was = before.cases.at(key);
    if (const auto is = now.cases.find(key); is == now.cases.end()) {
      change.refused = "only in the base";
    } else {
      change.differences = case_differences(was.first(), is->second.first());
      change.refused = why_refused(was, is->second, change, options);
      if (change.refused.empty()) {
        change.warning = warning_of(was, is->second);
        change.metrics = metric_changes(was, is->second, options);
        if (change.metrics.empty() || !change.metrics.front().headline)
          change.refused = was.first().headline.empty()
                               ? "it has no headline"
                               : "a side has no round with " + was.first().headline;
        if (!change.refused.empty()) change.metrics.clear();
      }
    }
    out.cases.push_back(std::move(change));
  }
  for (const std::string& key : now.order)
    if (!before.cases.contains(key)) out.cases.push_back({key, "only in the new runs"});
  decide_all(out);
  return out;
}

std::string verdict_word(const MetricChange& change) {
  const bool speed = change.info.unit == "s" || change.info.unit.ends_with("/s") ||
                     change.info.unit.ends_with("/s/device") || change.info.unit == "OPS";
  switch (change.verdict) {
    case Verdict::better:
      return speed ? "FASTER" : "BETTER";
    case Verdict::worse:
      return speed ? "SLOWER" : "WORSE";
    case Verdict::same:
      return "SAME";
    case Verdict::unsure:
      break;
  }
  return "UNSURE";
}

Bound parse_bound(const std::string& text) {
  const auto fail = [&]() -> Error {
    return {ErrorKind::usage, "not a valid bound: '" + printable(text) + "'", "--fail-on",
            "write METRIC: PERCENT, as in 'throughput: 2 %'"};
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw fail();
  std::string_view number = trim(std::string_view(text).substr(colon + 1));
  if (!number.ends_with('%')) throw fail();
  number = trim(number.substr(0, number.size() - 1));
  const auto percent = parse_number<double>(number);
  Bound bound{std::string(trim(std::string_view(text).substr(0, colon))),
              percent.value_or(-1) / 100};
  if (bound.metric.empty() || !(bound.worse_by >= 0)) throw fail();
  return bound;
}

std::vector<std::string> exceeded(const Comparison& comparison, std::span<const Bound> bounds) {
  std::vector<std::string> out;
  if (bounds.empty()) return out;
  for (const CaseChange& change : comparison.cases)
    if (!change.refused.empty() && change.refused != "only in the new runs")
      out.push_back(change.name + " is not compared: " + change.refused);
  for (const Bound& bound : bounds) {
    bool found = false;
    for (const CaseChange& change : comparison.cases)
      for (const MetricChange& metric : change.metrics) {
        if (!is_named(metric.info.name, bound.metric) &&
            !(bound.metric == "headline" && metric.headline))
          continue;
        found = true;
        if (metric.verdict == Verdict::worse && std::abs(metric.level.change) > bound.worse_by)
          out.push_back(fmt::format("{}: {} is worse by {:.1f} %, at most {:.3g} % are allowed",
                                    change.name, metric.info.name,
                                    std::abs(metric.level.change) * 100, bound.worse_by * 100));
      }
    if (!found) out.push_back("no case that is compared has the metric '" + bound.metric + "'");
  }
  return out;
}

}  // namespace assay::compare
