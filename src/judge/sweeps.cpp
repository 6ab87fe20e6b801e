#include "judge/sweeps.h"

#include <algorithm>

#include "catalog/metrics.h"

namespace assay::judge {

namespace {

// For a number that the suite reads from the output, its own words decide.
bool grows_with_ranks(const plan::CasePlan& plan, const std::string& metric) {
  const auto read = std::ranges::find(plan.metrics, metric, &plan::OutputMetric::name);
  if (read == plan.metrics.end()) return catalog::adds_up_over_ranks(metric);
  return read->across == "sum" && read->better == Better::higher;
}

}  // namespace

std::vector<SweepGrid> sweep_grids(const plan::Plan& plan, const std::vector<CaseResult>& cases) {
  std::vector<SweepGrid> out;
  for (const plan::Sweep& sweep : plan.sweeps) {
    SweepGrid grid;
    grid.sweep = sweep;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::optional<plan::SweepPoint>& point = cases[i].sweep;
      if (!point || point->sweep != sweep.name) continue;
      // Points of a damaged plan may lie nowhere: they stay ordinary cases.
      if (point->values.size() != sweep.dimensions.size()) continue;
      grid.cases.push_back(i);
      if (!grid.headline.empty() || cases[i].validity != Validity::valid) continue;
      grid.headline = cases[i].headline;
      grid.adds_up = grows_with_ranks(plan.cases[i], grid.headline);
    }
    out.push_back(std::move(grid));
  }
  return out;
}

}  // namespace assay::judge
