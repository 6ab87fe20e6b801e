#include "train/loop/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/text.h"

namespace assay::train {

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

void Options::check_mapping() const {
  if (!root_.is_null() && !root_.is_mapping())
    root_.fail("the configuration is not a mapping but " + root_.describe(),
               "write {\"key\": value, …}");
}

const config::Node* Options::find(const std::string& key) {
  known_.push_back(key);
  values_.emplace_back();
  if (!root_.is_mapping()) return nullptr;
  const config::Node* node = root_.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

// After find() of the same key.
template <typename T>
T Options::note(const std::string& key, T value) {
  const auto place = std::find(known_.begin(), known_.end(), key) - known_.begin();
  values_[static_cast<std::size_t>(place)] = fmt::format("{}", value);
  return value;
}

std::string Options::terms() const {
  constexpr std::array<std::string_view, 10> own{
      "path",   "vocabulary",     "checkpoint",     "threads",        "loader_threads",
      "device", "loader_buffers", "join_timeout_s", "peer_timeout_s", "collective_timeout_s"};
  std::string text;
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (std::find(own.begin(), own.end(), known_[i]) == own.end())
      text += fmt::format("{}: {}\n", known_[i], values_[i]);
  return text;
}

bool Options::has(const std::string& key) const noexcept {
  return root_.is_mapping() && root_.find(key) != nullptr && !root_.find(key)->is_null();
}

void Options::fail(const std::string& key, const std::string& message,
                   const std::string& advice) const {
  if (has(key)) root_.find(key)->fail(message, advice);
  throw Error(ErrorKind::config, message, path_, advice);
}

std::int64_t Options::integer(const std::string& key, std::int64_t fallback, std::int64_t least,
                              std::int64_t most) {
  const config::Node* node = find(key);
  if (node == nullptr) return note(key, fallback);
  // A JSON writer may give 1e3 or 5.0 for a whole number.
  const double value = node->is_scalar() && node->is_plain() ? node->number() : -1;
  if (!node->is_scalar() || !node->is_plain() || value != std::floor(value) ||
      value < static_cast<double>(least) || value > static_cast<double>(most))
    node->fail(fmt::format("'{}' must be a whole number from {} to {}, not {}", key, least, most,
                           node->describe()));
  return note(key, static_cast<std::int64_t>(value));
}

double Options::number(const std::string& key, double fallback, double least, double most) {
  const config::Node* node = find(key);
  if (node == nullptr) return note(key, fallback);
  const double value = node->number();
  if (!(value >= least && value <= most))
    node->fail(fmt::format("'{}' must be a number from {} to {}, not {}", key, least, most,
                           node->describe()));
  return note(key, value);
}

bool Options::flag(const std::string& key, bool fallback) {
  const config::Node* node = find(key);
  return note(key, node == nullptr ? fallback : node->boolean());
}

std::string Options::text(const std::string& key, const std::string& fallback) {
  const config::Node* node = find(key);
  return note(key, node == nullptr ? fallback : node->text());
}

std::string Options::choice(const std::string& key, const std::string& fallback,
                            const std::vector<std::string>& choices) {
  const config::Node* node = find(key);
  return note(key, node == nullptr ? fallback : config::choice(*node, choices));
}

std::vector<double> Options::numbers(const std::string& key, std::vector<double> fallback,
                                     double least, double most) {
  const config::Node* node = find(key);
  if (node == nullptr) return note(key, std::move(fallback));
  std::vector<double> values;
  for (const config::Node& item : node->items()) {
    const double value = item.number();
    if (!(value >= least && value <= most))
      item.fail(fmt::format("'{}' must hold numbers from {} to {}, not {}", key, least, most,
                            item.describe()));
    values.push_back(value);
  }
  return note(key, std::move(values));
}

void Options::reject_unknown() const {
  if (!root_.is_mapping()) return;
  for (const config::Entry& entry : root_.entries())
    if (std::find(known_.begin(), known_.end(), entry.key) == known_.end())
      throw Error(
          ErrorKind::config,
          fmt::format("unknown key '{}'{}", printable(entry.key), did_you_mean(entry.key, known_)),
          entry.where(), "known keys: " + join(known_, ", "));
}

}  // namespace assay::train
