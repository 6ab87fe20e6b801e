#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "automl/experiment_settings.h"
#include "core/json.h"

namespace assay::automl {

/// What an experiment's journal does not hold though it must, and what it holds though it cannot
/// be.
struct JournalCheck {
  struct Problems {
    std::size_t count = 0;
    std::string first{};  ///< with its place: "trial 3: …"
    void add(std::string what);
  };
  Problems missing;
  Problems wrong;

  /// What a worker reported of a trial: complete epochs of all attempts.
  struct Reported {
    double trained = 0;
    std::vector<double> accuracy;  ///< of each epoch
  };
  std::map<std::pair<int, std::int64_t>, Reported> reported;  ///< by rank and trial; since the last
                                                              ///< resume, as are the logs
  /// By how much `at_s` and `wall_ns` went apart, the most between two resumes; seconds.
  double clocks_apart_s = 0;
};

/// Checks a whole journal: its beginning, with the settings that were planned; every trial's
/// proposal, whose hyper-parameters follow from its point and whose operations a sample follow from
/// its lineage; every attempt's start, epochs and end, and that reports can be (ReportCheck); times
/// that do not go back; its end, when `ended`. `skipped`: lines that could not be read; a
/// coordinator that ended in the middle of one may leave one for each time it was resumed.
[[nodiscard]] JournalCheck check_journal(const std::vector<Json>& events, std::size_t skipped,
                                         const ExperimentSettings& planned, bool ended);

}  // namespace assay::automl
