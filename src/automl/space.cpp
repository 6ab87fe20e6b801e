#include "automl/space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::automl {

namespace {

[[noreturn]] void reject(const std::string& name, const std::string& message,
                         const std::string& where) {
  throw Error(ErrorKind::config, fmt::format("parameter '{}': {}", name, message), where,
              "a parameter is uniform or loguniform (low, high, step) or choice (options)");
}

const Parameter* find(const std::vector<Parameter>& parameters, const std::string& name) {
  for (const Parameter& p : parameters) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

std::size_t option_index(const Parameter& choice, const Json& option, const std::string& name,
                         const std::string& where) {
  const auto at = std::find(choice.options.begin(), choice.options.end(), option);
  if (at == choice.options.end()) {
    reject(name, fmt::format("'{}' has no option {}", choice.name, dump_line(option)), where);
  }
  return static_cast<std::size_t>(at - choice.options.begin());
}

double number(const Json& item, const char* key, const std::string& name,
              const std::string& where) {
  if (!item.contains(key) || !item[key].is_number()) {
    reject(name, fmt::format("'{}' is missing or not a number", key), where);
  }
  return item[key].get<double>();
}

}  // namespace

Space::Space(std::vector<Parameter> parameters, const std::string& where) {
  if (parameters.empty()) {
    throw Error(ErrorKind::config, "the search space is empty", where, "name a parameter");
  }
  for (Parameter& p : parameters) {
    if (p.name.empty()) reject(p.name, "has no name", where);
    if (find(parameters_, p.name) != nullptr) reject(p.name, "is there twice", where);
    if (p.kind == Parameter::Kind::choice) {
      if (p.options.empty()) reject(p.name, "has no options", where);
    } else {
      if (!std::isfinite(p.low) || !std::isfinite(p.high) || !(p.low < p.high)) {
        reject(p.name, fmt::format("the range from {} to {} is empty", p.low, p.high), where);
      }
      if (p.kind == Parameter::Kind::log_uniform && !(p.low > 0)) {
        reject(p.name, fmt::format("a logarithmic range must begin above 0, not at {}", p.low),
               where);
      }
      if (!(p.step >= 0) || p.step > p.high - p.low) {
        reject(p.name, fmt::format("a step of {} does not fit the range", p.step), where);
      }
    }
    if (!p.when.empty()) {
      const Parameter* choice = find(parameters_, p.when);
      if (choice == nullptr || choice->kind != Parameter::Kind::choice) {
        reject(p.name, fmt::format("'{}' is not a choice before it", p.when), where);
      }
      const bool known = std::all_of(p.when_options.begin(), p.when_options.end(),
                                     [&](std::size_t i) { return i < choice->options.size(); });
      if (p.when_options.empty() || !known) {
        reject(p.name, fmt::format("needs options of '{}'", p.when), where);
      }
    }
    parameters_.push_back(std::move(p));
  }
}

Space Space::parse(const Json& json, const std::string& where) {
  if (!json.is_object()) {
    throw Error(ErrorKind::config, "a search space is an object of parameters", where);
  }
  const std::vector<std::string> keys{"type", "low", "high", "step", "options", "when"};
  std::vector<Parameter> parameters;
  for (const auto& [name, item] : json.items()) {
    if (!item.is_object()) reject(name, "is not an object", where);
    for (const auto& [key, value] : item.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        reject(name, fmt::format("unknown key '{}'{}", key, did_you_mean(key, keys)), where);
      }
    }
    Parameter p;
    p.name = name;
    const Json type = item.contains("type") ? item["type"] : Json();
    if (type == "choice") {
      p.kind = Parameter::Kind::choice;
      if (!item.contains("options") || !item["options"].is_array()) {
        reject(name, "'options' is missing or not a list", where);
      }
      const Json& options = item["options"];
      p.options.assign(options.begin(), options.end());
    } else if (type == "uniform" || type == "loguniform") {
      p.kind = type == "uniform" ? Parameter::Kind::uniform : Parameter::Kind::log_uniform;
      p.low = number(item, "low", name, where);
      p.high = number(item, "high", name, where);
      if (item.contains("step")) p.step = number(item, "step", name, where);
    } else {
      reject(name, "'type' must be uniform, loguniform or choice, not " + dump_line(type), where);
    }
    if (item.contains("when")) {
      const Json& when = item["when"];
      if (!when.is_object() || when.size() != 1 || !when.begin().value().is_array()) {
        reject(name, "'when' must be {choice: [options]}", where);
      }
      p.when = when.begin().key();
      const Parameter* choice = find(parameters, p.when);
      if (choice == nullptr) {
        reject(name, fmt::format("'{}' is not a choice before it", p.when), where);
      }
      const Json& options = when.begin().value();
      for (const Json& option : options) {
        p.when_options.push_back(option_index(*choice, option, name, where));
      }
    }
    parameters.push_back(std::move(p));
  }
  return Space(std::move(parameters), where);
}

bool Space::exists(const Parameter& parameter, const Point& point) const {
  if (parameter.when.empty()) return true;
  const auto found = point.find(parameter.when);
  if (found == point.end()) return false;
  const auto chosen = static_cast<std::size_t>(found->second);
  return std::find(parameter.when_options.begin(), parameter.when_options.end(), chosen) !=
         parameter.when_options.end();
}

Json Space::values(const Point& point) const {
  Json json = Json::object();
  for (const Parameter& p : parameters_) {
    const auto found = point.find(p.name);
    if (found == point.end()) continue;
    json[p.name] = p.kind == Parameter::Kind::choice
                       ? p.options[static_cast<std::size_t>(found->second)]
                       : Json(found->second);
  }
  return json;
}

void Space::check(const Point& point, const std::string& where) const {
  std::size_t expected = 0;
  for (const Parameter& p : parameters_) {
    if (!exists(p, point)) continue;
    ++expected;
    const auto found = point.find(p.name);
    if (found == point.end()) reject(p.name, "has no value", where);
    const double value = found->second;
    const bool is_choice = p.kind == Parameter::Kind::choice;
    const double high = is_choice ? static_cast<double>(p.options.size()) - 1 : p.high;
    if (!(value >= (is_choice ? 0 : p.low) && value <= high) ||
        (is_choice && value != std::floor(value))) {
      reject(p.name, fmt::format("{} is outside of its range", value), where);
    }
  }
  if (expected != point.size()) {
    throw Error(ErrorKind::config, "the point has values for parameters that do not exist in it",
                where);
  }
}

double settle(const Parameter& p, double value) {
  if (p.step > 0) {
    const double steps = std::floor((p.high - p.low) / p.step + 1e-9);
    return p.low + p.step * std::clamp(std::round((value - p.low) / p.step), 0.0, steps);
  }
  return std::clamp(value, p.low, p.high);
}

bool holds(const Parameter& parameter, const Json& value) {
  if (parameter.kind == Parameter::Kind::choice)
    return std::ranges::find(parameter.options, value) != parameter.options.end();
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return std::abs(settle(parameter, number) - number) <= 1e-9 * std::max(1.0, std::abs(number));
}

}  // namespace assay::automl
