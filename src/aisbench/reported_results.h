#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aisbench/record.h"

namespace assay::aisbench {

/// The file in a node's evidence folder to which set_result appends (result_writer.h).
inline constexpr const char* kResultsFile = "set_result.jsonl";

/// One call of set_result.
struct Call {
  std::int64_t wall_ns = 0;
  std::int64_t pid = 0;
  std::string mode;
  std::string key;
  std::string value;
  std::optional<std::int64_t> utc_offset_s{};  ///< of the workload's time zone
};

/// The calls of set_result that a workload made, in the order of their lines.
struct SetResultCalls {
  std::vector<Call> calls;
  std::size_t unreadable = 0;  ///< lines that are not calls

  /// The last call with this key in mode training, or nullptr.
  [[nodiscard]] const Call* last(std::string_view key) const;
};

/// Reads the file, which need not exist. Counts lines that are torn or malformed.
[[nodiscard]] SetResultCalls read_set_result_calls(const std::filesystem::path& file);

/// The results that a training must report.
struct ReportedResults {
  std::optional<double> throughput;  ///< finite and positive
  std::optional<double> accuracy;    ///< finite
  std::optional<double> loss;  ///< of language models, whose accuracy is "loss: x, Perplexity: y"
  std::optional<double> perplexity;
  std::string accuracy_text;          ///< that text, as reported
  std::vector<std::string> problems;  ///< each names its key; empty if the results are complete
  bool reported_ok = false;           ///< `result` is OK
};
[[nodiscard]] ReportedResults results_of(const SetResultCalls& reported);

/// Keys that the workload reported with different values: "accuracy: '0.7', then '0.8'".
[[nodiscard]] std::vector<std::string> changed_values(const SetResultCalls& reported);

/// The last value of `key`; nothing if it is not a finite number.
[[nodiscard]] std::optional<double> reported_number(const SetResultCalls& reported,
                                                    std::string_view key);

/// The time from <name>_start_time to <name>_end_time. A value is "YYYY-MM-DD HH:MM:SS" in local
/// time, optionally with a T or a fraction, or seconds since the epoch. A date alone, which is what
/// an unquoted `$(date …)` leaves, stands for the moment of the call; so does a time that was
/// reported within its own second. Of several starts the first counts, of several ends the last.
/// `note` says which of these rules applied.
[[nodiscard]] Phase reported_phase(const SetResultCalls& reported, const std::string& name,
                                   std::string& note);

/// Converts a time to ns since the epoch. Without an offset it is in this machine's time zone.
[[nodiscard]] std::optional<std::int64_t> parse_time(
    std::string_view text, const std::optional<std::int64_t>& utc_offset_s = {});

/// A stage of benchmark.sh, from a line of its log: "2022-07-13T13:24:43 -Ais-Bench-Stubs- INFO
/// run_train(modelarts_run.sh:32) - run_train called".
struct Stage {
  std::string name;  ///< init, run_train, run_eval, get_result
  std::int64_t wall_ns = 0;
};
[[nodiscard]] std::optional<Stage> parse_stage(
    std::string_view line, const std::optional<std::int64_t>& utc_offset_s = {});

/// What an exit code of benchmark.sh means ("init failed") and where to look; empty for a code that
/// has no meaning.
struct StageFailure {
  std::string_view what;
  std::string_view advice;
};
[[nodiscard]] StageFailure stage_of_exit_code(int code) noexcept;

}  // namespace assay::aisbench
