#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/case_settings.h"
#include "catalog/option_sets.h"
#include "catalog/rule.h"
#include "catalog/shipped_rules.h"
#include "config/node.h"
#include "core/json.h"
#include "telemetry/device_source.h"

namespace assay::catalog {

/// A kind of device, as named by the third field of a case key.
struct Hardware {
  std::string name;  ///< "A100"
  std::string description;
  std::map<std::string, double> peak_flops;  ///< dense FLOP/s of one device, by precision
  std::optional<std::uint64_t> memory_bytes;
  std::string origin;  ///< "conf/vendors/nvidia.yaml:31"
  /// RE2 pattern found in the query's name for such a device. Empty: this name, as a word.
  std::string device_name{};
};

/// How to list a machine's devices.
struct DeviceQuery {
  std::vector<std::string> command;  ///< argv
  std::string pattern;               ///< RE2; each match in the output is a device
  std::vector<std::string> fields;   ///< names of the groups: index, name, memory_total, …
};

struct Vendor {
  std::string name;  ///< "nvidia"; also the file's base name
  std::string description;
  std::string visible_devices;                 ///< environment variable, or empty
  std::vector<std::string> container_options;  ///< for docker/podman run
  std::optional<DeviceQuery> query;
  /// argv of the command, with {bindir}, that prints the devices' state as JSON; empty: none.
  std::vector<std::string> state{};
  /// Sources in order of preference. Commands may contain {bindir}, {interval_ms} and {interval_s}.
  std::vector<telemetry::DeviceSource> samples;
  std::map<std::string, Hardware> hardware;
  std::string origin;
  config::Node node;  ///< the file; null if made by the program

  [[nodiscard]] const Hardware* find_hardware(const std::string& hardware_name) const;
  /// The type of a device with that name in the query; nullptr when none or several match.
  [[nodiscard]] const Hardware* hardware_of_device(const std::string& device_name) const;
};

/// Defaults for one combination; empty or 0 matches everything.
struct ConfigOverride {
  std::string vendor;
  std::string hardware;
  int nodes = 0;
  int procs = 0;
  config::Node config;  ///< a mapping; its nulls are ignored

  [[nodiscard]] bool matches(const std::string& vendor_name, const std::string& hardware_name,
                             int node_count, int proc_count) const;
  [[nodiscard]] int specificity() const;  ///< the number of conditions
};

struct Workload {
  std::string name;  ///< "matmul"; also the file's base name
  std::string description;
  std::vector<std::string> frameworks;  ///< without versions; the first is the default
  std::vector<std::string> command;     ///< argv, with placeholders
  std::string launch = "per-rank";      ///< per-rank, per-node or head
  /// The defaults of its `options`, overridden by its own. They determine the type of each key.
  config::Node config;
  /// The options that its program declares: it refuses other keys, and values that these do not
  /// allow. Nothing: it declares none.
  std::optional<OptionSet> options;
  std::vector<std::string> fixed;         ///< config keys that must not be changed
  std::vector<std::string> data_keys;     ///< config keys that are data paths on every node
  std::vector<ConfigOverride> overrides;  ///< in file order
  std::map<std::string, std::string> env;
  std::optional<TargetSetting> target;
  std::optional<int> warmup_steps;
  LimitSettings limits;
  std::vector<RuleChange> rules;
  config::Node headline;  ///< the metric that represents a case; null: by rank
  std::string origin;
};

/// The folders of configuration: Assay's own first, then those that override it. A file in a later
/// folder replaces one of the same name in an earlier folder, and a rule replaces one of the same
/// id.
using ConfDirs = std::vector<std::filesystem::path>;

/// The content of conf/; every list is sorted by name (rules: by file, then in file order).
struct Catalog {
  ConfDirs conf_dirs;
  std::vector<Vendor> vendors;
  std::vector<Workload> workloads;
  std::vector<Rule> rules;
  RuleStandard standard;  ///< shipped_rules(), independent of this conf/

  [[nodiscard]] const Vendor* find_vendor(const std::string& name) const;
  [[nodiscard]] const Workload* find_workload(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> vendor_names() const;
  [[nodiscard]] std::vector<std::string> workload_names() const;
};

/// Reads vendors/*.yaml, options/*.yaml (if any), workloads/*.yaml and rules/*.yaml. Throws Error
/// of kind config for the first mistake.
[[nodiscard]] Catalog load_catalog(const ConfDirs& conf_dirs);

/// The YAML files in effect for one part ("suites"), by name without suffix.
[[nodiscard]] std::map<std::string, std::filesystem::path> conf_files(const ConfDirs& conf_dirs,
                                                                      const std::string& part);

/// A file's name for people: conf/PART/NAME.yaml for Assay's own, else its path.
[[nodiscard]] std::string conf_name(const ConfDirs& conf_dirs, const std::filesystem::path& file);

/// Only $ASSAY_CONF, if set; else find_conf_dir() of this program, the site's /etc/assay and the
/// user's $XDG_CONFIG_HOME/assay (~/.config/assay), as far as they exist.
[[nodiscard]] ConfDirs find_conf_dirs();

/// $ASSAY_CONF; else ../share/assay/conf or ../../share/assay/conf relative to the executable's
/// folder; else the nearest folder above the executable with conf/vendors. Throws Error of kind
/// environment that lists the searched places.
[[nodiscard]] std::filesystem::path find_conf_dir(const std::filesystem::path& executable,
                                                  const char* assay_conf);

// Each loads one file; `display` is as in config::load_yaml.
[[nodiscard]] Vendor load_vendor(const std::filesystem::path& path, const std::string& display);
[[nodiscard]] Workload load_workload(const std::filesystem::path& path, const std::string& display,
                                     const OptionSets& options);
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& path,
                                           const std::string& display);
/// The rules in the content of a rules file.
[[nodiscard]] std::vector<Rule> read_rules(const config::Node& file);

/// Compiles the vendor's patterns and checks its fields, units and placeholders. Separate from
/// loading, because it takes a millisecond per pattern and a run needs only one vendor; make_plan
/// does it.
void check_vendor(const Vendor& vendor);

/// plan.json's description of a vendor, {name, description, visible_devices, container: {options},
/// query, state: {command}, samples: [DeviceSource], hardware}, with the placeholders in `paths`
/// expanded.
[[nodiscard]] Json to_json(const Vendor& vendor, const std::map<std::string, std::string>& paths);

/// Replaces {name} only for the names in `values`; other placeholders, {{ and }} stay for a later
/// expansion.
[[nodiscard]] std::string expand_some(const std::string& text,
                                      const std::map<std::string, std::string>& values);

}  // namespace assay::catalog
