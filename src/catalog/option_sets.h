#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/bounds.h"
#include "config/node.h"

namespace assay::catalog {

/// The options of a workload's program.
struct OptionSet {
  config::Node defaults;               ///< a mapping
  std::vector<std::string> automatic;  ///< whole numbers that may also be the word "auto"
  std::map<std::string, config::Bounds>
      bounds;  ///< for options that restrict the values of their type

  /// Whether `value` is the word "auto" for a number that allows it.
  [[nodiscard]] bool is_auto(const std::string& key, const config::Node& value) const;
  /// Throws Error of kind config at a value that the program would refuse for the option `key`.
  void check(const std::string& key, const config::Node& value) const;
};

/// Keyed by the workload's name in its program. Programs write them (`--options-yaml`);
/// conf/options/PROGRAM.yaml stores them.
using OptionSets = std::map<std::string, OptionSet>;

/// Adds the options of one file: {TASK: {options: {KEY: DEFAULT}, ranges: {KEY: [least, most] or
/// [words]}, auto: [KEY], workloads: {NAME: {what differs}}}}. Throws Error of kind config, also
/// for a name that already exists.
void load_options(const std::filesystem::path& path, const std::string& display, OptionSets& sets);

/// `base` overridden by `stronger`, with the keys of both, those of `base` first. Ignores nulls.
[[nodiscard]] config::Node overlaid(const config::Node& base, const config::Node& stronger);

}  // namespace assay::catalog
