#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"

namespace assay::baseline {

/// A metric's past value for a case, and its allowed range.
struct Metric {
  std::string name;  ///< "steady_throughput"
  std::string unit;
  Better better = Better::neither;
  double median = 0;  ///< over all rounds; finite, like all numbers here
  double low = 0;     ///< the tolerated range: low ≤ median ≤ high
  double high = 0;
  /// Whether a case with this baseline is judged by the metric; the others are for comparisons.
  bool judged = false;
  std::vector<double> values{};  ///< one per round, in the order of runs and rounds; may be empty

  [[nodiscard]] bool is_worse(double value) const noexcept {
    return (better == Better::higher && value < low) || (better == Better::lower && value > high);
  }
  [[nodiscard]] bool is_better(double value) const noexcept {
    return (better == Better::higher && value > high) || (better == Better::lower && value < low);
  }
};

/// A case on one kind of hardware.
struct CaseEntry {
  std::string name;      ///< judge::case_identity(): without the number of rounds
  std::string hardware;  ///< judge::hardware_kind() of the nodes that it ran on
  int nodes = 1;
  int procs = 1;                              ///< per node
  std::map<std::string, std::string> work{};  ///< judge::work_of(): identifies what was computed
  int rounds = 0;                             ///< number of completed rounds used
  std::vector<std::string> runs{};            ///< their ids, in the given order
  std::vector<Metric> metrics{};              ///< in catalog order; names are unique
  std::string where{};                        ///< "baseline.yaml:7:5" if it was read, else empty

  [[nodiscard]] const Metric* find(std::string_view metric) const noexcept;
};

/// A baseline file: the expected results of cases, for each kind of hardware.
struct Baseline {
  static constexpr int kFormat = 1;
  std::string description{};
  std::string assay_version{};       ///< the version that computed the numbers
  std::vector<CaseEntry> entries{};  ///< no two with the same name and hardware

  /// Returns nullptr if there is no entry for this case on this hardware.
  [[nodiscard]] const CaseEntry* find(std::string_view name,
                                      std::string_view hardware) const noexcept;
  /// The kinds of hardware that the case has entries for, in order.
  [[nodiscard]] std::vector<std::string> hardware_of(std::string_view name) const;
};

/// Parses a baseline file. Throws Error of kind config at file:line:column for text that is not a
/// baseline, a newer format, an unknown key, a non-finite number, a range without its median, or a
/// repeated entry.
[[nodiscard]] Baseline parse(std::string_view yaml, const std::string& file);
/// The same for a file; an unreadable one is also an Error of kind config.
[[nodiscard]] Baseline load(const std::filesystem::path& path);
/// The file's text, from which parse() makes the same baseline. Throws Error of kind usage if it
/// would be larger than parse() accepts.
[[nodiscard]] std::string to_yaml(const Baseline& baseline);
/// Whether a file is meant as a baseline: after comments, it begins with the key "assay_baseline".
/// False for an unreadable file.
[[nodiscard]] bool is_baseline_file(const std::filesystem::path& path);

}  // namespace assay::baseline
