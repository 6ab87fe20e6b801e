#include "config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::micro {

Config::Config(const std::string& path) : path_(path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(ErrorKind::config, "there is no such configuration file", path,
                "give a JSON object, or leave --config out for the defaults");
  values_ = parse_json(read_file(path), path);
  if (!values_.is_object())
    throw Error(ErrorKind::config,
                fmt::format("the configuration is not an object but {}", values_.type_name()), path,
                "write {\"key\": value, …}");
}

const Json* Config::find(const std::string& key) {
  known_.push_back(key);
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &*it;
}

void Config::wrong(const std::string& key, const std::string& expected, const Json& found) const {
  throw Error(ErrorKind::config,
              fmt::format("'{}' must be {}, not {}", key, expected,
                          ellipsize(printable(dump_line(found)), 60)),
              path_);
}

std::int64_t Config::integer(const std::string& key, std::int64_t fallback, std::int64_t least,
                             std::int64_t most) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  // 2^53: beyond it a double does not tell neighbouring integers apart.
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) ||
      number != std::floor(number) || std::abs(number) > 9007199254740992.0)
    wrong(key, fmt::format("a whole number from {} to {}", least, most), *value);
  return static_cast<std::int64_t>(number);
}

double Config::number(const std::string& key, double fallback, double least, double most) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most))
    wrong(key, fmt::format("a number from {} to {}", least, most), *value);
  return number;
}

std::string Config::choice(const std::string& key, const std::string& fallback,
                           const std::vector<std::string>& choices) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string() ||
      std::find(choices.begin(), choices.end(), value->get<std::string>()) == choices.end())
    wrong(key, "one of " + join(choices, ", "), *value);
  return value->get<std::string>();
}

void Config::reject_unknown() const {
  for (const auto& [key, value] : values_.items())
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      throw Error(ErrorKind::config,
                  fmt::format("unknown key '{}'{}", printable(key), did_you_mean(key, known_)),
                  path_, "known keys: " + join(known_, ", "));
}

}  // namespace assay::micro
