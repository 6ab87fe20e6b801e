#pragma once

#include <string>
#include <vector>

#include "workload/workload.h"

namespace assay::workload {

// The options of a program's workloads as text, entirely from the workloads' declarations.

/// One workload's options for a terminal: name, default, range and meaning.
[[nodiscard]] std::string to_text(const Workload& workload);

/// conf/options/PROGRAM.yaml: each task's options with their defaults, and the differences of each
/// of its workloads. The planner takes keys, types and defaults from it.
[[nodiscard]] std::string to_yaml(const std::string& program,
                                  const std::vector<Workload>& workloads);

/// Tables for docs/, one per section, with the options of all workloads; a default that depends on
/// the workload is followed by the exceptions.
[[nodiscard]] std::string to_markdown(const std::vector<Workload>& workloads);

}  // namespace assay::workload
