#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/processors.h"

namespace assay::importer {

/// A number that a program prints, and the pattern that finds it again.
struct PrintedMetric {
  std::string name;
  std::string match;  ///< RE2, with one group
  std::string unit{};
  std::string better = "higher";
};

/// The launchers that 'assay init' knows how to ask about.
enum class DraftLauncher { local, ssh, slurm };

constexpr auto enum_names(DraftLauncher) {
  using enum DraftLauncher;
  return std::to_array<EnumName<DraftLauncher>>({{local, "local"}, {ssh, "ssh"}, {slurm, "slurm"}});
}

/// The answers from which 'assay init' writes a suite with one case.
struct SuiteDraft {
  std::string name = "my-suite";
  DraftLauncher launcher = DraftLauncher::local;
  std::vector<std::string> hosts{};  ///< of ssh
  std::string user{};                ///< of ssh; empty: this one
  std::string partition{};           ///< of slurm; empty: its default
  std::string vendor = kProcessors;  ///< whose devices; auto: whichever this machine has
  std::string workload{};            ///< a built-in one; empty: `command`
  std::string framework{};           ///< of the workload
  std::string command{};
  std::optional<PrintedMetric> metric{};  ///< of `command`
  int nodes = 1;
  int procs = 1;  ///< 0: one for each device
  int repeats = 3;
};

/// The suite as YAML, with comments for whoever goes on with it.
[[nodiscard]] std::string to_yaml(const SuiteDraft& draft);

/// A number in a line of output.
struct NumberInLine {
  std::string label;   ///< the text before it, back to the number before and its unit: "speed: "
  std::string text;    ///< "345.6", "1e-3", "-0.5"
  std::string unit{};  ///< behind it, with the blank between: " img/s"
};

/// The numbers of a line that have a label, or a unit of so many a second, from left to right.
[[nodiscard]] std::vector<NumberInLine> numbers_in(std::string_view line);

/// Which of them is measured, by the words around it: a rate (of data before one of steps) before
/// the time of a step before a loss before any other, and never one that counts steps, epochs or
/// iterations. Nothing: none.
[[nodiscard]] std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers);

/// A pattern that finds the number by its label, or by its unit where it has no label.
[[nodiscard]] std::string pattern_for(const NumberInLine& number);

/// The metric that the words around the number speak of: of "Tokens/p/s: " a throughput in
/// tokens/s/device.
[[nodiscard]] PrintedMetric printed_metric(const NumberInLine& number);

}  // namespace assay::importer
