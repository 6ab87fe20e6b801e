#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "automl/score.h"
#include "automl/worker_timeline.h"
#include "report/report.h"

namespace assay::report {

/// An AutoML experiment: a round of a case, with the content of its journal.
struct ExperimentView {
  const judge::CaseResult* result = nullptr;  ///< owned by the RunResult, like round; never null
  const judge::RoundResult* round = nullptr;
  automl::ExperimentRecord record;
  std::vector<automl::WorkerLine> workers;
};

/// The experiments of a run, except those with an unreadable journal, which the judge has reported.
[[nodiscard]] std::vector<ExperimentView> experiments_of(const judge::RunResult& result);

/// layout::kSucceeded if every case with an experiment is valid, else layout::kFailed.
[[nodiscard]] std::string_view experiment_file(const std::vector<ExperimentView>& experiments);

/// The page of all experiments of a run, with the properties of report.html (html.h).
[[nodiscard]] std::string render_experiments(const judge::RunResult& result,
                                             const std::vector<ExperimentView>& experiments);

/// Writes the page under the name for the experiments' outcome and removes a page of an earlier
/// verdict under the other name. Without an experiment there is neither.
void write_experiments(const ReportInput& input);

}  // namespace assay::report
