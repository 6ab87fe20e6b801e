#include "judge/ais_results.h"

#include <algorithm>

#include "aisbench/results.h"

namespace assay::judge {

void load_ais_results(const store::RunDir& run, const plan::CasePlan& plan,
                      RoundEvidence& evidence) {
  const Json& options = run.plan().cluster.options;
  if (options.value("results", "") != "ais-bench" || evidence.ranks.empty()) return;
  // What a job prints of itself is not its result: the files are.
  for (std::size_t i = 0; i < plan.metrics.size(); ++i)
    if (plan.metrics[i].name == "throughput_ratio" || plan.metrics[i].name == "accuracy")
      for (RankEvidence& rank : evidence.ranks) {
        rank.log.outputs.resize(std::max(rank.log.outputs.size(), plan.metrics.size()));
        rank.log.outputs[i].clear();
      }
  if (evidence.status != RoundStatus::completed) return;
  const aisbench::Results results =
      aisbench::read_results(run.round_dir(plan.name, evidence.round) / "results",
                             {options.value("single_server", false), plan.nodes, plan.procs});
  for (const std::string& problem : results.problems)
    evidence.problems.push_back("results/" + problem);
  if (!results.complete()) return;
  for (std::size_t i = 0; i < plan.metrics.size(); ++i) {
    std::vector<double>& values = evidence.ranks.front().log.outputs[i];
    if (plan.metrics[i].name == "throughput_ratio") values.push_back(results.throughput);
    if (plan.metrics[i].name == "accuracy") values.push_back(results.accuracy);
  }
}

}  // namespace assay::judge
