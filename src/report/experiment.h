#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "automl/score.h"
#include "automl/worker_timeline.h"
#include "report/report.h"

namespace assay::report {

/// One AutoML experiment: a round of a case, with what its journal says.
struct ExperimentView {
  const judge::CaseResult* result = nullptr;  ///< both live in the RunResult; never null
  const judge::RoundResult* round = nullptr;
  automl::ExperimentRecord record;
  std::vector<automl::WorkerLine> workers;
};

/// The experiments of a run. One whose journal could not be read is left out: the judge has said
/// so.
[[nodiscard]] std::vector<ExperimentView> experiments_of(const judge::RunResult& result);

/// layout::kSucceeded when every case with an experiment is valid, else layout::kFailed.
[[nodiscard]] std::string_view experiment_file(const std::vector<ExperimentView>& experiments);

/// The page of all experiments of a run, like report.html in everything (html.h).
[[nodiscard]] std::string render_experiments(const judge::RunResult& result,
                                             const std::vector<ExperimentView>& experiments);

/// The page under the name that says how it ended; the other one's would be that of an earlier
/// verdict, and goes. Neither without an experiment.
void write_experiments(const ReportInput& input);

}  // namespace assay::report
