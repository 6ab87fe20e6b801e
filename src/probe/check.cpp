#include "probe/check.h"

#include <algorithm>

#include "core/json_access.h"
#include "probe/checks.h"

namespace assay::probe {

Json to_json(const Check& check) {
  Json out{{"id", check.id}, {"level", to_text(check.level)}, {"seen", check.seen}};
  if (!check.advice.empty()) out["advice"] = check.advice;
  return out;
}

Check check_from_json(const Json& json) {
  const JsonReader fields(json, "check");
  return {fields.text("id"), fields.choice<Level>("level"), fields.text("seen"),
          fields.text_or_empty("advice")};
}

std::vector<Check> check_machine(const CheckOptions& options) {
  std::vector<Check> out;
  check_resources(options, out);
  check_processors(options, out);
  check_clock(options, out);
  check_limits(options, out);
  check_devices(options, out);
  check_container(options, out);
  return out;
}

Level worst(const std::vector<Check>& checks) noexcept {
  Level level = Level::pass;
  for (const Check& check : checks) level = std::max(level, check.level);
  return level;
}

}  // namespace assay::probe
