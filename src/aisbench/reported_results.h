#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aisbench/record.h"

namespace assay::aisbench {

/// The file in a node's evidence folder that set_result appends to (result_writer.h).
inline constexpr const char* kResultsFile = "set_result.jsonl";

/// One call of set_result.
struct Call {
  std::int64_t wall_ns = 0;
  std::int64_t pid = 0;
  std::string mode;
  std::string key;
  std::string value;
  std::optional<std::int64_t> utc_offset_s{};  ///< of the workload's local time
};

/// What a workload told its run, in the order in which it was written.
struct Told {
  std::vector<Call> calls;
  std::size_t unreadable = 0;  ///< lines that are no calls

  /// Of mode training: the last call with that key, or nullptr.
  [[nodiscard]] const Call* last(std::string_view key) const;
};

/// Reads the file; empty when there is none. Lines that are torn or strange are counted.
[[nodiscard]] Told read_told(const std::filesystem::path& file);

/// The results that a training must tell.
struct ToldResults {
  std::optional<double> throughput;  ///< finite and above zero
  std::optional<double> accuracy;    ///< finite
  std::optional<double> loss;        ///< of language models: accuracy is "loss: x, Perplexity: y"
  std::optional<double> perplexity;
  std::string accuracy_text;          ///< as it was told, when it is that text
  std::vector<std::string> problems;  ///< each names the key; empty: complete
  bool said_ok = false;               ///< `result` was told
};
[[nodiscard]] ToldResults results_of(const Told& told);

/// Keys that were told different values, "accuracy: '0.7', then '0.8'".
[[nodiscard]] std::vector<std::string> changed_values(const Told& told);

/// The number that was told last; nothing where it is none, or not finite.
[[nodiscard]] std::optional<double> told_number(const Told& told, std::string_view key);

/// From <name>_start_time to <name>_end_time. A value is "YYYY-MM-DD HH:MM:SS", with T or a
/// fraction if need be, in local time; or seconds since the epoch. A date alone (what an unquoted
/// `$(date …)` leaves) is taken as the moment of the call, and so is a time that was told within
/// its second. Several starts: the first, several ends: the last. `note` says which of this was so.
[[nodiscard]] Phase told_phase(const Told& told, const std::string& name, std::string& note);

/// A time as text, in ns since the epoch. Without an offset it is this machine's local time.
[[nodiscard]] std::optional<std::int64_t> parse_time(
    std::string_view text, const std::optional<std::int64_t>& utc_offset_s = {});

/// A stage of benchmark.sh that its log names: "2022-07-13T13:24:43 -Ais-Bench-Stubs- INFO
/// run_train(modelarts_run.sh:32) - run_train called".
struct Stage {
  std::string name;  ///< init, run_train, run_eval, get_result
  std::int64_t wall_ns = 0;
};
[[nodiscard]] std::optional<Stage> parse_stage(
    std::string_view line, const std::optional<std::int64_t>& utc_offset_s = {});

/// What benchmark.sh says with its exit code: "init failed", with what to look at; empty for codes
/// that have no meaning.
struct StageFailure {
  std::string_view what;
  std::string_view advice;
};
[[nodiscard]] StageFailure stage_of_exit_code(int code) noexcept;

}  // namespace assay::aisbench
