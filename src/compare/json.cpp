#include <map>

#include "compare/render.h"

namespace assay::compare {

namespace {

Json differences_json(const std::vector<Difference>& differences) {
  Json out = Json::array();
  for (const Difference& difference : differences)
    out.push_back(
        {{"what", difference.what}, {"base", difference.base}, {"new", difference.candidate}});
  return out;
}

Json metric_json(const MetricChange& metric) {
  Json out = {{"name", metric.info.name},
              {"unit", metric.info.unit},
              {"better", to_text(metric.info.better)},
              {"headline", metric.headline},
              {"base", metric.base},
              {"new", metric.candidate},
              {"change", metric.level.change},
              {"p_value", metric.level.p_value},
              {"adjusted_p", metric.adjusted_p},
              {"superiority", metric.level.superiority},
              {"spread", metric.level.spread},
              {"verdict", verdict_word(metric)}};
  if (metric.level.interval)
    out["interval95"] = {metric.level.interval->low, metric.level.interval->high};
  if (metric.steps) out["steps_interval95"] = {metric.steps->low, metric.steps->high};
  if (metric.tolerated) out["tolerated"] = {metric.tolerated->low, metric.tolerated->high};
  if (metric.level.effect) out["effect"] = *metric.level.effect;
  if (metric.level.rank_p) out["rank_p"] = *metric.level.rank_p;
  if (!metric.note.empty()) out["note"] = metric.note;
  return out;
}

Json case_json(const CaseChange& change) {
  Json metrics = Json::array();
  for (const MetricChange& metric : change.metrics) metrics.push_back(metric_json(metric));
  Json out = {{"name", change.name},
              {"differences", differences_json(change.differences)},
              {"metrics", std::move(metrics)}};
  if (!change.refused.empty()) out["refused"] = change.refused;
  if (!change.warning.empty()) out["warning"] = change.warning;
  if (change.left_out.empty()) return out;
  Json left_out = Json::object();
  for (const LeftOut& left : change.left_out) left_out[left.metric] = left.why;
  out["left_out"] = std::move(left_out);
  return out;
}

Json side_json(const Comparison& side) {
  Json cases = Json::array();
  for (const CaseChange& change : side.cases) cases.push_back(case_json(change));
  return {{"name", side.name},
          {"runs", side.runs},
          {"differences", differences_json(side.differences)},
          {"cases", std::move(cases)}};
}

}  // namespace

Json to_json(const Comparison& comparison) {
  Json out = {{"schema_version", 1},
              {"tolerance", comparison.options.tolerance},
              {"level", comparison.options.level}};
  out.update(side_json(comparison));
  return out;
}

Json to_json(const Comparisons& comparison, std::span<const Excess> over) {
  Json sides = Json::array();
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    Json exceeded = Json::array();
    for (const Excess& excess : over)
      if (excess.side == i) exceeded.push_back(excess.text);
    sides.push_back(side_json(comparison.sides[i]));
    sides.back()["exceeded"] = std::move(exceeded);
  }
  return {{"schema_version", 1},
          {"base", {{"name", comparison.base}, {"runs", comparison.base_runs}}},
          {"tolerance", comparison.options.tolerance},
          {"level", comparison.options.level},
          {"new", std::move(sides)}};
}

}  // namespace assay::compare
