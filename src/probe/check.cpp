#include "probe/check.h"

#include <algorithm>

#include "probe/checks.h"

namespace assay::probe {

std::vector<Check> check_machine(const CheckOptions& options) {
  std::vector<Check> out;
  check_resources(options, out);
  check_processors(options, out);
  check_clock(options, out);
  check_limits(options, out);
  check_devices(options, out);
  check_container(options, out);
  check_commands(options, out);
  return out;
}

Level worst(const std::vector<Check>& checks) noexcept {
  Level level = Level::pass;
  for (const Check& check : checks) level = std::max(level, check.level);
  return level;
}

}  // namespace assay::probe
