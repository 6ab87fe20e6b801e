#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "report/mllog.h"

namespace assay::report {

/// A setting of the training under MLPerf's name.
struct MllogSetting {
  std::string key;
  Json value;
  std::string note{};  ///< how it was computed, or empty
};

/// The hyper-parameters that the case's configuration gives, in a fixed order, each key once.
[[nodiscard]] std::vector<MllogSetting> mllog_settings(const judge::CaseResult& result,
                                                       const MllogContext& context);

/// The first of `names` that the configuration has as a scalar, or nullptr.
[[nodiscard]] const Json* find_config(const Json& config, std::initializer_list<const char*> names);

/// Samples of an epoch: the configuration's value, else the one that the workload reported.
[[nodiscard]] std::optional<double> mllog_train_samples(const judge::RoundResult& round,
                                                        const MllogContext& context);

/// MLPerf's name of the benchmark: the suite's, else that of a model that MLPerf has, else the
/// model's own.
[[nodiscard]] std::string mllog_benchmark(const judge::CaseResult& result,
                                          const MllogContext& context);

/// The quality that an evaluation measured: the target's, else an accuracy, else a loss.
[[nodiscard]] std::optional<std::pair<std::string, double>> mllog_quality(
    const judge::EvaluationResult& evaluation, const MllogContext& context);

/// An integer if the value is one.
[[nodiscard]] Json whole_number(double value);

}  // namespace assay::report
