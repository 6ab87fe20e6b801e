#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/processors.h"

namespace assay::importer {

/// A number printed by a program, and a pattern that finds it.
struct PrintedMetric {
  std::string name;
  std::string match;  ///< RE2, with one group
  std::string unit{};
  std::string better = "higher";
};

/// The launchers that 'assay init' can ask about.
enum class DraftLauncher { local, ssh, slurm };

constexpr auto enum_names(DraftLauncher) {
  using enum DraftLauncher;
  return std::to_array<EnumName<DraftLauncher>>({{local, "local"}, {ssh, "ssh"}, {slurm, "slurm"}});
}

/// The answers from which 'assay init' writes a suite with one case.
struct SuiteDraft {
  std::string name = "my-suite";
  DraftLauncher launcher = DraftLauncher::local;
  std::vector<std::string> hosts{};  ///< for ssh
  std::string user{};                ///< for ssh; empty: this one
  std::string partition{};           ///< for slurm; empty: its default
  std::string vendor = kProcessors;  ///< the devices'; auto: whichever this machine has
  std::string workload{};            ///< a built-in one; empty: `command`
  std::string framework{};           ///< the workload's
  std::string command{};
  std::optional<PrintedMetric> metric{};  ///< for `command`
  int nodes = 1;
  int procs = 1;  ///< 0: one per device
  int repeats = 3;
};

/// The suite as YAML, with comments for the person who continues it.
[[nodiscard]] std::string to_yaml(const SuiteDraft& draft);

/// A number in a line of output.
struct NumberInLine {
  std::string label;   ///< the text before it, back to the previous number and its unit: "speed: "
  std::string text;    ///< "345.6", "1e-3", "-0.5"
  std::string unit{};  ///< after it, with the blank in between: " img/s"
};

/// The numbers in a line, left to right, that have a label or a unit per second.
[[nodiscard]] std::vector<NumberInLine> numbers_in(std::string_view line);

/// The index of the measured number, judging by the words around it: a rate (of data before one of
/// steps), else the time of a step, else a loss, else any other, but never one that counts steps,
/// epochs or iterations. Nothing if there is none.
[[nodiscard]] std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers);

/// A pattern that finds the number by its label, or by its unit if it has none.
[[nodiscard]] std::string pattern_for(const NumberInLine& number);

/// The metric suggested by the words around the number: for "Tokens/p/s: " a throughput in
/// tokens/s/device.
[[nodiscard]] PrintedMetric printed_metric(const NumberInLine& number);

}  // namespace assay::importer
