#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "perflog/event.h"

namespace assay::perflog {

/// A quality reported at the end of a workload.
struct Quality {
  std::string name;  ///< in the workload's spelling ("final_acc1")
  double value = 0;  ///< finite
  Better better = Better::neither;
};

/// The content of a FINISHED event in any family of key names. Values are as the workload reports
/// them; one that is absent, not a number or not finite is nothing here.
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
  std::optional<double> peak_flops;  ///< of one rank, in FLOP/s, measured by the workload itself
  std::vector<Quality> quality;      ///< in the event's order, without repetition

  /// Keys with NaN or an infinite number.
  std::vector<std::string> nonfinite;
};

[[nodiscard]] FinishedSummary summarize_finished(const Event& event);

/// The better direction for a quality by its name: lower for losses, errors and perplexity; higher
/// for accuracies, scores and areas; neither if the name does not tell.
[[nodiscard]] Better better_of_quality(std::string_view name);

/// Whether a quality is a share by its name: an accuracy, a recall, an area under a curve. Its
/// range is 0 to 1, or 0 to 100. Decided by the name's last word ("eval_mlm_acc1").
[[nodiscard]] bool is_share(std::string_view name);

}  // namespace assay::perflog
