#include "judge/scaling.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"

namespace assay::judge {

namespace {

int ranks_of(const CaseResult& result) {
  return result.nodes * result.procs;
}

// The rate that represents the case, or that accompanies its time to target; nullptr if none.
const Summary* throughput_of(const CaseResult& result) {
  const std::string& name = result.headline == "time_to_target" ? result.beside : result.headline;
  static constexpr std::array<std::string_view, 4> kRates{
      "steady_throughput", "steady_tokens_per_s", "p_whole", "tokens_per_s"};
  if (std::ranges::find(kRates, name) == kRates.end()) return nullptr;
  const auto at = std::ranges::find(
      result.summary, name, [](const Summary& s) -> const std::string& { return s.info.name; });
  return at != result.summary.end() && at->median > 0 ? &*at : nullptr;
}

bool counts_ranks(const plan::SweepDimension& dimension) {
  return dimension.key == "nodes" || dimension.key == "procs";
}

// A sweep's points are compared only with those that differ just in the number of ranks.
bool same_line(const plan::Plan& plan, const CaseResult& a, const CaseResult& b) {
  if (!a.sweep || !b.sweep) return !a.sweep && !b.sweep;
  if (a.sweep->sweep != b.sweep->sweep) return false;
  const auto sweep = std::ranges::find(plan.sweeps, a.sweep->sweep, &plan::Sweep::name);
  if (sweep == plan.sweeps.end()) return false;
  for (std::size_t i = 0; i < sweep->dimensions.size(); ++i)
    if (!counts_ranks(sweep->dimensions[i]) &&
        (i >= a.sweep->values.size() || i >= b.sweep->values.size() ||
         a.sweep->values[i] != b.sweep->values[i]))
      return false;
  return true;
}

bool comparable(const CaseResult& a, const CaseResult& b) {
  const Summary* one = throughput_of(a);
  const Summary* other = throughput_of(b);
  return one != nullptr && other != nullptr && one->info.name == other->info.name &&
         a.model == b.model && a.framework == b.framework && a.hardware == b.hardware;
}

// The keys in which two configurations differ: a batch may grow with the ranks.
std::string differences(const Json& a, const Json& b) {
  std::set<std::string> keys;
  for (const Json* config : {&a, &b})
    for (const auto& [key, value] : config->items())
      if (!a.contains(key) || !b.contains(key) || a[key] != b[key]) keys.insert(key);
  return join(std::vector<std::string>(keys.begin(), keys.end()), ", ");
}

}  // namespace

void add_scaling(const plan::Plan& plan, std::vector<CaseResult>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Summary* own = throughput_of(cases[i]);
    if (own == nullptr) continue;
    std::size_t base = i;
    for (std::size_t k = 0; k < cases.size(); ++k)
      if (ranks_of(cases[k]) < ranks_of(cases[base]) && comparable(cases[k], cases[i]) &&
          same_line(plan, cases[k], cases[i]))
        base = k;
    if (base == i) continue;
    const CaseResult& smaller = cases[base];
    const Summary& reference = *throughput_of(smaller);
    Summary summary;
    summary.info = catalog::known_metric("scaling_efficiency").info();
    summary.origin = worst(own->origin, reference.origin);
    summary.n = std::min(own->n, reference.n);
    summary.median = (own->median / ranks_of(cases[i])) / (reference.median / ranks_of(smaller));
    summary.mean = summary.min = summary.max = summary.median;
    summary.note =
        fmt::format("{} against the {} of '{}', medians of {}", counted(ranks_of(cases[i]), "rank"),
                    ranks_of(smaller), smaller.name, own->info.name);
    if (const std::string keys = differences(plan.cases[i].config, plan.cases[base].config);
        !keys.empty())
      summary.note += "; the configurations differ in " + keys;
    cases[i].summary.push_back(std::move(summary));
  }
}

}  // namespace assay::judge
