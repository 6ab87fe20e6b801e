#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "automl/score.h"
#include "automl/worker_timeline.h"
#include "judge/result.h"

namespace assay::report {

/// One AutoML experiment: a round of a case, with what its journal says.
struct ExperimentView {
  const judge::CaseResult* result = nullptr;  ///< both live in the RunResult; never null
  const judge::RoundResult* round = nullptr;
  automl::ExperimentRecord record;
  std::vector<automl::WorkerLine> workers;
};

/// The experiments of a run, from <case>/round<N>/automl/journal.jsonl. A journal that cannot be
/// read is left out: the judge has said so.
[[nodiscard]] std::vector<ExperimentView> load_experiments(const judge::RunResult& result,
                                                           const std::filesystem::path& run_dir);

inline constexpr std::string_view kSucceeded = "Report_Succeed.html";
inline constexpr std::string_view kFailed = "Report_Failed.html";

/// kSucceeded when every case with an experiment is valid, else kFailed (AAH's names).
[[nodiscard]] std::string_view experiment_file(const std::vector<ExperimentView>& experiments);

/// The page of all experiments of a run, like report.html in everything (html.h).
[[nodiscard]] std::string render_experiments(const judge::RunResult& result,
                                             const std::vector<ExperimentView>& experiments);

}  // namespace assay::report
