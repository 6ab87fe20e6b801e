#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "report/mllog.h"

namespace assay::report {

/// A training setting under MLPerf's name.
struct MllogSetting {
  std::string key;
  Json value;
  std::string note{};  ///< how it was computed, if it was
};

/// The hyper-parameters in the case's configuration, in a fixed order, each key once.
[[nodiscard]] std::vector<MllogSetting> mllog_settings(const judge::CaseResult& result,
                                                       const MllogContext& context);

/// The first of `names` that is a scalar in the configuration, or nullptr.
[[nodiscard]] const Json* find_config(const Json& config, std::initializer_list<const char*> names);

/// Samples per epoch: from the configuration, else as reported by the workload.
[[nodiscard]] std::optional<double> mllog_train_samples(const judge::RoundResult& round,
                                                        const MllogContext& context);

/// MLPerf's name for the benchmark: the suite's, else that of a model known to MLPerf, else the
/// model's own.
[[nodiscard]] std::string mllog_benchmark(const judge::CaseResult& result,
                                          const MllogContext& context);

/// The quality measured by an evaluation: the target's, else an accuracy, else a loss.
[[nodiscard]] std::optional<std::pair<std::string, double>> mllog_quality(
    const judge::EvaluationResult& evaluation, const MllogContext& context);

/// The value as an integer if it is whole.
[[nodiscard]] Json whole_number(double value);

}  // namespace assay::report
