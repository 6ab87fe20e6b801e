#pragma once

#include <string>
#include <vector>

#include "workload/workload.h"

namespace assay::workload {

// The options of a program's workloads as text. Everything comes from what the workloads declare.

/// One workload's options, for a terminal: name, default, what it may be, what it means.
[[nodiscard]] std::string to_text(const Workload& workload);

/// conf/options/PROGRAM.yaml: for every task its options with their defaults, and what differs for
/// each of its workloads. The planner takes keys, types and defaults from it.
[[nodiscard]] std::string to_yaml(const std::string& program,
                                  const std::vector<Workload>& workloads);

/// Tables for docs/: one a section, with the options of all the workloads; a default that depends
/// on the workload is followed by those that differ.
[[nodiscard]] std::string to_markdown(const std::vector<Workload>& workloads);

}  // namespace assay::workload
