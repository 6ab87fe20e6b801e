#pragma once

#include <string>
#include <string_view>

namespace assay::launch {

/// What to do about agents that did not come, by what ssh or Slurm said. Pure.
[[nodiscard]] std::string start_advice(std::string_view said);

}  // namespace assay::launch
