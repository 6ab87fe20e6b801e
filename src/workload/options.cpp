#include "workload/options.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/text.h"

namespace assay::workload {
namespace {

const config::Node* given(const config::Node& mapping, const std::string& key) noexcept {
  const config::Node* node = mapping.is_mapping() ? mapping.find(key) : nullptr;
  return node == nullptr || node->is_null() ? nullptr : node;
}

// Always includes a point or an exponent, to distinguish it from a whole number.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// "1 … 100"; omits a limit that only rejects nonsense.
template <typename T>
std::string range_text(T min, T max) {
  constexpr double kAsGoodAsNone = 1e6;
  if (static_cast<double>(max) < kAsGoodAsNone) return fmt::format("{} … {}", min, max);
  return min == 0 ? std::string() : fmt::format("≥ {}", min);
}

std::string word(const std::string& text) {
  return text.empty() ? "''" : text;
}

}  // namespace

About per_rank(const char* one_line) {
  About about(one_line);
  about.per_rank = true;
  return about;
}

Options::Options(const std::string& path) : path_(path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(ErrorKind::config, "there is no such configuration file", path,
                "give a JSON object or YAML mapping, or leave --config out for the defaults");
  root_ = config::load_yaml(path);
  check_mapping();
}

Options Options::from_text(const std::string& text) {
  Options options;
  options.path_ = "configuration";
  options.root_ = config::parse_yaml(text, {"configuration", "configuration", false});
  options.check_mapping();
  return options;
}

void Options::set_defaults(const std::string& yaml) {
  defaults_ = config::parse_yaml(yaml, {"defaults", "defaults", false});
}

void Options::set(const std::string& key, const std::string& value) {
  root_ = root_.with({key}, config::Node::scalar(value, true, root_.source(), 0, 0));
}

void Options::check_mapping() const {
  if (!root_.is_null() && !root_.is_mapping())
    root_.fail("the configuration is not a mapping but " + root_.describe(),
               "write {\"key\": value, …}");
}

const config::Node* Options::find(const std::string& key) const {
  const config::Node* node = given(root_, key);
  return node != nullptr ? node : given(defaults_, key);
}

void Options::declare(const std::string& key, std::string value, std::string range, About about,
                      std::optional<config::Bounds> bounds) {
  declared_.push_back(
      {section_, key, std::move(value), std::move(range), std::move(about), std::move(bounds)});
}

std::string Options::terms() const {
  std::string text;
  for (const Option& option : declared_)
    if (!option.about.per_rank) text += fmt::format("{}: {}\n", option.key, option.value);
  return text;
}

bool Options::has(const std::string& key) const noexcept {
  return given(root_, key) != nullptr;
}

void Options::fail(const std::string& key, const std::string& message,
                   const std::string& advice) const {
  if (has(key)) root_.find(key)->fail(message, advice);
  throw Error(ErrorKind::config, message, path_, advice);
}

std::int64_t Options::integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                              std::int64_t max, About about) {
  const config::Bounds bounds{static_cast<double>(min), static_cast<double>(max), /*whole=*/true};
  const config::Node* node = find(key);
  std::int64_t value = fallback;
  if (node != nullptr) {
    bounds.check(*node, key);
    value = static_cast<std::int64_t>(node->number());
  }
  declare(key, std::to_string(value), range_text(min, max), std::move(about), bounds);
  return value;
}

std::optional<std::int64_t> Options::integer_or_auto(const std::string& key, std::int64_t fallback,
                                                     std::int64_t min, std::int64_t max,
                                                     About about) {
  const config::Node* node = find(key);
  std::optional<std::int64_t> value;
  if (node != nullptr && node->is_scalar() && node->text() == "auto")
    declare(key, "auto", range_text(min, max), std::move(about),
            config::Bounds{static_cast<double>(min), static_cast<double>(max), /*whole=*/true});
  else
    value = integer(key, fallback, min, max, std::move(about));
  declared_.back().range += declared_.back().range.empty() ? "or auto" : ", or auto";
  declared_.back().automatic = true;
  return value;
}

double Options::number(const std::string& key, double fallback, double min, double max,
                       About about) {
  const config::Bounds bounds{min, max};
  const config::Node* node = find(key);
  double value = fallback;
  if (node != nullptr) {
    bounds.check(*node, key);
    value = node->number();
  }
  declare(key, real_text(value), range_text(min, max), std::move(about), bounds);
  return value;
}

bool Options::flag(const std::string& key, bool fallback, About about) {
  const config::Node* node = find(key);
  const bool value = node == nullptr ? fallback : node->boolean();
  declare(key, value ? "true" : "false", "", std::move(about));
  return value;
}

std::string Options::text(const std::string& key, const std::string& fallback, About about) {
  const config::Node* node = find(key);
  std::string value = node == nullptr ? fallback : node->text();
  declare(key, word(value), "", std::move(about));
  return value;
}

std::string Options::choice(const std::string& key, const std::string& fallback,
                            const std::vector<std::string>& choices, About about) {
  const config::Node* node = find(key);
  std::string value = node == nullptr ? fallback : config::choice(*node, choices);
  config::Bounds bounds;
  bounds.choices = choices;
  declare(key, word(value), join(choices, ", "), std::move(about), std::move(bounds));
  return value;
}

std::vector<double> Options::numbers(const std::string& key, std::vector<double> fallback,
                                     double min, double max, About about) {
  config::Bounds bounds{min, max};
  bounds.is_list = true;
  const config::Node* node = find(key);
  std::vector<double> values = std::move(fallback);
  if (node != nullptr) {
    bounds.check(*node, key);
    values.clear();
    for (const config::Node& item : node->items()) values.push_back(item.number());
  }
  declare(key, fmt::format("{}", values), range_text(min, max), std::move(about), bounds);
  return values;
}

void Options::reject_unknown() const {
  std::vector<std::string> known;
  for (const Option& option : declared_) known.push_back(option.key);
  for (const config::Node* mapping : {&root_, &defaults_}) {
    if (!mapping->is_mapping()) continue;
    for (const config::Entry& entry : mapping->entries())
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        throw Error(
            ErrorKind::config,
            fmt::format("unknown key '{}'{}", printable(entry.key), did_you_mean(entry.key, known)),
            entry.where(), "known keys: " + join(known, ", "));
  }
}

}  // namespace assay::workload
