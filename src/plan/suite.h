#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "automl/experiment_settings.h"
#include "catalog/case_settings.h"
#include "config/node.h"
#include "core/processors.h"
#include "plan/plan.h"
#include "plan/repeats.h"

namespace assay::plan {

/// The devices that a case needs; without them the case is left out.
struct CaseNeeds {
  int devices = 0;        ///< at least
  std::string precision;  ///< for matrix products on them; empty: any
  std::string lacks;      ///< a precision that they must lack; empty: none
};

/// A case as written in the suite, before the workload's part is merged in.
struct SuiteCase {
  std::string name;
  std::string model;
  std::string framework;
  std::string hardware;
  int nodes = 1;
  int procs = 1;
  bool procs_by_devices = false;  ///< `procs: devices`: with_devices() fills in the number
  int repeats = 1;
  std::optional<RepeatUntil> until;
  std::optional<CaseNeeds> needs;
  std::vector<std::string> command;  ///< empty: the workload's
  std::optional<automl::ExperimentSettings> automl;
  std::optional<std::string> launch;
  std::vector<std::string> rendezvous;  ///< empty: torchrun
  std::optional<Container> container;
  std::string data;
  config::Node config;    ///< a mapping, or null
  config::Node declared;  ///< the same
  config::Node env;       ///< a mapping of text, or null
  std::string workdir;
  std::vector<OutputMetric> metrics;
  std::optional<catalog::TargetSetting> target;
  std::optional<double> peak_flops;
  std::string peak_flops_origin;
  std::optional<int> warmup_steps;
  std::optional<int> warmup_rounds;
  std::optional<bool> drop_caches;
  std::optional<Bind> bind;
  catalog::LimitSettings limits;
  std::vector<catalog::RuleChange> rules;
  std::optional<SweepPoint> point;  ///< set by expand_sweeps()
  std::vector<config::Node> after;  ///< names of cases or sweeps
  std::vector<Condition> only_if;
  std::vector<config::Node> only_if_nodes;  ///< where each one was written
  std::vector<Hook> hooks;
  config::Node node;  ///< where the case was written
};

struct SuiteDefaults {
  catalog::LimitSettings limits;
  config::Node env;
  std::vector<catalog::RuleChange> rules;
  std::optional<Repeats> repeats;
  std::optional<int> warmup_steps;
  std::optional<int> warmup_rounds;
  std::optional<bool> drop_caches;
  std::optional<Bind> bind;
};

/// A suite file, checked as far as possible without the catalog.
struct Suite {
  std::string name;
  std::string description;
  std::string file;
  std::string sha256;  ///< of the file's bytes
  std::string vendor = kProcessors;
  config::Node vendor_node;  ///< where the vendor was named; null: the default applies
  Cluster cluster;
  Telemetry telemetry;
  std::map<std::string, std::string> submission;
  config::Node baseline;               ///< the file for the plan to read; null: none
  std::optional<Container> container;  ///< for every case without its own
  SuiteDefaults defaults;
  std::vector<SuiteCase> cases;
  std::vector<Sweep> sweeps;  ///< set by expand_sweeps(); before that, cases may be grids
  std::vector<Hook> hooks;
  config::Node root;  ///< the whole document, for --set
};

/// Throws Error of kind config at file:line:column of the first mistake.
[[nodiscard]] Suite load_suite(const std::filesystem::path& path);
[[nodiscard]] Suite parse_suite(std::string_view yaml, const std::string& file);

/// Like parse_suite, for a document that was changed after parsing.
[[nodiscard]] Suite read_suite(const config::Node& root);

/// Every key allowed in a suite, by its place: "" (top level), "cluster", "cluster.hosts",
/// "cluster.ssh", "cluster.slurm", "telemetry", "submission", "defaults", "repeats", "limits",
/// "case", "needs", "automl", "automl.hyper", "automl.limits", "automl.patience", "metric",
/// "target", "rule", "only_if", "hooks", "hook".
[[nodiscard]] const std::map<std::string, std::vector<std::string>>& suite_keys();

/// A mapping of environment variables. Throws Error of kind config at the first wrong one.
[[nodiscard]] std::map<std::string, std::string> read_variables(const config::Node& node);

}  // namespace assay::plan
