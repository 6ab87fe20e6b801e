#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "perflog/event.h"

namespace assay::perflog {

/// A quality that the workload reports at its end.
struct Quality {
  std::string name;  ///< as the workload spells it ("final_acc1")
  double value = 0;  ///< finite
  Better better = Better::neither;
};

/// What a FINISHED event reports, whichever family of key names the workload uses. Everything is as
/// the workload reports it; a value that is absent, not a number or not finite is nothing here.
struct FinishedSummary {
  std::optional<double> e2e_time_s;
  std::optional<double> init_time_s;
  std::optional<double> train_time_s;          ///< train_time, or the older raw_train_time
  std::optional<double> train_no_eval_time_s;  ///< without evaluations
  std::optional<double> pure_compute_time_s;   ///< without evaluations and data loading

  std::optional<double> p_whole;  ///< rate over train_time
  std::optional<double> p_train;  ///< rate over train_no_eval_time
  std::optional<double> p_core;   ///< rate over pure_compute_time
  std::string rate_unit;          ///< "images/s", "sequences/s", "samples/s", "items/s", "tokens/s"

  std::optional<bool> converged;
  std::optional<double> peak_flops;  ///< FLOP/s of one rank that the workload itself has measured
  std::vector<Quality> quality;      ///< in the order of the event, without repetition

  /// Keys whose number is NaN or infinite.
  std::vector<std::string> nonfinite;
};

[[nodiscard]] FinishedSummary summarize_finished(const Event& event);

/// What better means for a quality of that name: lower for losses, errors, perplexity; higher for
/// accuracies, scores and areas; neither when the name does not show it.
[[nodiscard]] Better better_of_quality(std::string_view name);

/// Whether a quality of that name is a share: an accuracy, recall, area under a curve. It lies
/// between 0 and 1, or 0 and 100. Only where the name's last word says so ("eval_mlm_acc1").
[[nodiscard]] bool is_share(std::string_view name);

}  // namespace assay::perflog
