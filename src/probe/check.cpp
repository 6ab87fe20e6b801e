#include "probe/check.h"

#include <algorithm>

#include "core/error.h"
#include "probe/checks.h"

namespace assay::probe {

std::string_view to_string(Level level) noexcept {
  switch (level) {
    case Level::pass:
      return "PASS";
    case Level::warn:
      return "WARN";
    case Level::fail:
      break;
  }
  return "FAIL";
}

Json to_json(const Check& check) {
  Json out{{"id", check.id}, {"level", to_string(check.level)}, {"seen", check.seen}};
  if (!check.advice.empty()) out["advice"] = check.advice;
  return out;
}

Check check_from_json(const Json& json) {
  const auto text = [&](const char* key, bool required) -> std::string {
    const bool present = json.is_object() && json.contains(key);
    if (!present && !required) return {};
    if (!present || !json.at(key).is_string())
      throw Error(ErrorKind::config, std::string("a check has no text '") + key + "'");
    return json.at(key).get<std::string>();
  };
  Check check{text("id", true), Level::pass, text("seen", true), text("advice", false)};
  const std::string level = text("level", true);
  for (const Level candidate : {Level::pass, Level::warn, Level::fail}) {
    if (level != to_string(candidate)) continue;
    check.level = candidate;
    return check;
  }
  throw Error(ErrorKind::config, "'" + level + "' is not a level of a check", "check " + check.id,
              "PASS, WARN or FAIL");
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
