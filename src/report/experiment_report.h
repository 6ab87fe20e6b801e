#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "automl/score.h"
#include "automl/worker_timeline.h"
#include "report/report.h"

namespace assay::report {

/// One AutoML experiment: a round of a case, with the content of its journal.
struct ExperimentView {
  const judge::CaseResult* result = nullptr;  ///< both live in the RunResult; never null
  const judge::RoundResult* round = nullptr;
  automl::ExperimentRecord record;
  std::vector<automl::WorkerLine> workers;
};

/// The experiments of a run. One whose journal could not be read is left out: the judge has
/// reported it.
[[nodiscard]] std::vector<ExperimentView> experiments_of(const judge::RunResult& result);

/// layout::kSucceeded when every case with an experiment is valid, else layout::kFailed.
[[nodiscard]] std::string_view experiment_file(const std::vector<ExperimentView>& experiments);

/// The page of all experiments of a run, like report.html in everything (html.h).
[[nodiscard]] std::string render_experiments(const judge::RunResult& result,
                                             const std::vector<ExperimentView>& experiments);

/// Writes the page under the name that tells how the experiments ended, and removes the page of an
/// earlier verdict under the other name. Without an experiment there is neither.
void write_experiments(const ReportInput& input);

}  // namespace assay::report
