#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/processors.h"
#include "importer/line_numbers.h"

namespace assay::importer {

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

}  // namespace assay::importer
