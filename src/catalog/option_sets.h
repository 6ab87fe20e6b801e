#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/node.h"

namespace assay::catalog {

/// The options of programs' workloads with their defaults, by the workload's name in its program:
/// mappings. Programs write them (`--options-yaml`); conf/options/PROGRAM.yaml keeps them.
using OptionSets = std::map<std::string, config::Node>;

/// Adds those of one file: {TASK: {options: {KEY: DEFAULT}, workloads: {NAME: {what differs}}}}.
/// Throws Error of kind config, also for a name that is there already.
void load_options(const std::filesystem::path& path, const std::string& display, OptionSets& sets);

/// `base` with the values of `stronger`: the keys of both, those of `base` first. Nulls are
/// ignored.
[[nodiscard]] config::Node overlaid(const config::Node& base, const config::Node& stronger);

}  // namespace assay::catalog
