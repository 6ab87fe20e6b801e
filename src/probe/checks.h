#pragma once

#include <vector>

#include "probe/check.h"

namespace assay::probe {

// The groups of check_machine; each appends its checks in a fixed order.

void check_resources(const CheckOptions& options,
                     std::vector<Check>& out);  // memory, swap, disk, shm
void check_processors(const CheckOptions& options,
                      std::vector<Check>& out);  // governor, boost, load, …
void check_clock(const CheckOptions& options, std::vector<Check>& out);
void check_limits(const CheckOptions& options, std::vector<Check>& out);
void check_devices(const CheckOptions& options, std::vector<Check>& out);
void check_commands(const CheckOptions& options,
                    std::vector<Check>& out);  // programs, working folders
void check_container(const CheckOptions& options, std::vector<Check>& out);

}  // namespace assay::probe
