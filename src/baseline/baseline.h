#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"

namespace assay::baseline {

/// What a metric of a case was, and what it may be.
struct Metric {
  std::string name;  ///< "steady_throughput"
  std::string unit;
  Better better = Better::neither;
  double median = 0;  ///< over all rounds; finite, as all numbers here
  double low = 0;     ///< the tolerated range: low ≤ median ≤ high
  double high = 0;
  /// A case with this baseline is judged by it. The other metrics are for comparisons.
  bool judged = false;
  std::vector<double> values{};  ///< one a round, in the order of runs and rounds; may be empty

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
  int procs = 1;                              ///< a node
  std::map<std::string, std::string> work{};  ///< judge::work_of(): what was computed
  int rounds = 0;                             ///< completed rounds behind the numbers
  std::vector<std::string> runs{};            ///< their ids, in the order in which they were given
  std::vector<Metric> metrics{};              ///< in the order of the catalog; names are unique
  std::string where{};                        ///< "baseline.yaml:7:5" when it was read, else empty

  [[nodiscard]] const Metric* find(std::string_view metric) const noexcept;
};

/// A baseline file: what cases are expected to reach, for each kind of hardware.
struct Baseline {
  static constexpr int kFormat = 1;
  std::string description{};
  std::string assay_version{};       ///< that computed the numbers
  std::vector<CaseEntry> entries{};  ///< no two of the same name and hardware

  /// nullptr: there is no entry for this case on this hardware.
  [[nodiscard]] const CaseEntry* find(std::string_view name,
                                      std::string_view hardware) const noexcept;
  /// The kinds of hardware that the case has entries for, in order.
  [[nodiscard]] std::vector<std::string> hardware_of(std::string_view name) const;
};

/// Reads the text of a baseline file. Throws Error of kind config at file:line:column: what is no
/// baseline, has a newer format, an unknown key, a number that is not finite, a range that its
/// median is outside of, or an entry twice.
[[nodiscard]] Baseline parse(std::string_view yaml, const std::string& file);
/// The same of a file; one that cannot be read is an Error of kind config too.
[[nodiscard]] Baseline load(const std::filesystem::path& path);
/// The text of the file; parse() gives the same baseline. Throws Error of kind usage for one that
/// is larger than parse() reads.
[[nodiscard]] std::string to_yaml(const Baseline& baseline);
/// Whether a file is meant as a baseline: it begins with the key "assay_baseline", after comments.
/// False for what cannot be read.
[[nodiscard]] bool is_baseline_file(const std::filesystem::path& path);

}  // namespace assay::baseline
