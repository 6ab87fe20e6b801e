#include "catalog/facts.h"

#include <algorithm>
#include <array>

namespace assay::catalog {

std::span<const FactInfo> known_facts() {
  using enum RuleScope;
  static constexpr std::array<FactInfo, 41> kFacts{{
      {"ranks_failed", "ranks", "ranks that did not end with exit code 0"},
      {"ranks_lost", "ranks", "ranks whose end was not seen"},
      {"ranks_missing", "ranks", "planned ranks that were never started"},
      {"ranks_without_perflog", "ranks",
       "ranks without a PerfLog event, where other ranks or a target make one expected"},
      {"perflog_events", "1", "PerfLog events of all ranks"},
      {"logs_missing", "1", "ranks that were started and left no log"},
      {"truncated_logs", "1", "logs that end inside a PerfLog line"},
      {"malformed_lines", "lines", "PerfLog lines that are not JSON objects", round, true},
      {"dropped_bytes", "bytes", "output that was not kept", round, true},
      {"log_write_errors", "nodes",
       "nodes where output was lost because a log could not be written", round, true},
      {"metrics_not_offered", "nodes",
       "nodes whose metrics Prometheus could not read, though asked for"},
      {"unreadable_files", "1", "evidence that exists and cannot be read", round, true},
      {"nonfinite_losses", "1", "losses that are NaN or infinite", round, true},
      {"train_restarts", "1", "times that training began again within a rank", round, true},
      {"converged", "1", "1 when the case's target was met, else 0; only with a target"},
      {"output_metrics_missing", "1", "output metrics of the case that matched nothing"},
      {"reported_mismatch", "ratio",
       "difference of the throughput in the log from the one that FINISHED reports"},
      {"throttled_s", "s", "device-seconds slowed by heat, power or hardware during training",
       round, true},
      {"ecc_errors", "1", "uncorrected memory errors of devices during the round", round, true},
      {"telemetry_rows", "1", "telemetry samples of the nodes"},
      {"telemetry_gap_max_s", "s", "longest time between samples of a node, beyond the interval"},
      {"energy_coverage", "ratio", "part of the training that power samples cover"},
      {"clock_jump_max_s", "s", "largest step of a wall clock during the round", round, true},
      {"clock_jump_in_times_s", "s",
       "the same, where times were taken from a wall clock; unknown when none were"},
      {"clock_skew_max_s", "s",
       "largest difference of a node's wall clock from the controller's, with a message's way",
       round, true},
      {"killed_leftovers", "processes", "processes that outlived their rank and were killed", round,
       true},
      {"caches_kept", "nodes",
       "nodes whose page cache could not be dropped, where it was asked for"},
      {"automl_measured", "1", "1 when an experiment has measured an accuracy, else 0"},
      {"automl_missing_s", "s", "by how much an experiment was shorter than asked for"},
      {"automl_precision_bits", "bits", "of the numbers that an experiment trains with"},
      {"ais_results_missing", "1",
       "results that a workload had to tell with set_result and did not"},
      {"ais_result_unstated", "1",
       "1 when a workload that uses set_result never reported OK, else 0"},
      {"ais_values_changed", "1", "results that were reported again with another value"},
      {"ais_unreadable_lines", "lines", "lines of set_result.jsonl that are not results"},
      {"ais_not_measured", "1", "fields of train_result_info that have a placeholder"},
      {"cv", "ratio", "coefficient of variation of the headline metric; needs 3 completed rounds",
       whole_case},
      {"program_changes", "1",
       "times that a node ran another program or image than in the case's first round", whole_case},
      {"code_changes", "1",
       "times that a source file or the code folder of a node was not that of the first round",
       whole_case},
      {"ci95_half", "ratio",
       "half of the 95 % confidence interval of the headline metric's mean, relative to it; needs "
       "3 "
       "completed rounds",
       whole_case},
      {"rounds_completed", "rounds", "rounds that completed", whole_case},
      {"rounds_completed_ratio", "ratio", "completed rounds / planned rounds", whole_case},
  }};
  return kFacts;
}

const FactInfo* find_fact(std::string_view name) noexcept {
  const auto all = known_facts();
  const auto found = std::ranges::find(all, name, &FactInfo::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::catalog
