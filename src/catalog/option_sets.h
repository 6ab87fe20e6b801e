#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/bounds.h"
#include "config/node.h"

namespace assay::catalog {

/// The options of a program's workload.
struct OptionSet {
  config::Node defaults;               ///< a mapping
  std::vector<std::string> automatic;  ///< whole numbers that may also be the word auto
  std::map<std::string, config::Bounds>
      bounds;  ///< of options that not every value of their type fits

  /// Whether it is the word auto for a number that may be that.
  [[nodiscard]] bool is_auto(const std::string& key, const config::Node& value) const;
  /// Throws Error of kind config at a value of the option `key` that its program would refuse.
  void check(const std::string& key, const config::Node& value) const;
};

/// By the workload's name in its program. Programs write them (`--options-yaml`);
/// conf/options/PROGRAM.yaml keeps them.
using OptionSets = std::map<std::string, OptionSet>;

/// Adds those of one file: {TASK: {options: {KEY: DEFAULT}, ranges: {KEY: [least, most] or
/// [words]}, auto: [KEY], workloads: {NAME: {what differs}}}}. Throws Error of kind config, also
/// for a name that is there already.
void load_options(const std::filesystem::path& path, const std::string& display, OptionSets& sets);

/// `base` with the values of `stronger`: the keys of both, those of `base` first. Nulls are
/// ignored.
[[nodiscard]] config::Node overlaid(const config::Node& base, const config::Node& stronger);

}  // namespace assay::catalog
