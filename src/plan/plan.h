#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "automl/experiment_settings.h"
#include "catalog/rule.h"
#include "catalog/rule_difference.h"
#include "core/challenge.h"
#include "core/cpu_set.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "core/metric.h"
#include "core/rendezvous_flavor.h"
#include "core/time.h"
#include "plan/launcher_options.h"

namespace assay::plan {

/// How many processes are started for a case's command, and by what.
enum class LaunchMode {
  per_rank,  ///< Assay starts every rank
  per_node,  ///< one command per node, which starts its ranks (torchrun)
  head,      ///< one command on node 0, which fans out by itself (mpirun, horovodrun)
};

constexpr auto enum_names(LaunchMode /*mode*/) {
  using enum LaunchMode;
  return std::to_array<EnumName<LaunchMode>>(
      {{per_rank, "per-rank"}, {per_node, "per-node"}, {head, "head"}});
}

/// The meaning of an output metric's match.
enum class OutputKind {
  number,
  speed,  ///< a progress bar's, "1.50it/s" or "2.00s/it"; the unit is "it/s"
};

constexpr auto enum_names(OutputKind /*kind*/) {
  using enum OutputKind;
  return std::to_array<EnumName<OutputKind>>({{number, "number"}, {speed, "speed"}});
}

/// A number read from the output of a command that does not write PerfLog.
struct OutputMetric {
  std::string name;
  /// Regular expression (RE2) with a single group, or with the groups `value` and `step`.
  std::string pattern;
  std::string unit;
  Better better = Better::neither;
  /// Over one rank's matches: last, first, mean, median, min, max, sum.
  std::string reduce = "last";
  std::string across = "mean";  ///< over ranks: mean, sum, min, max, rank0
  OutputKind kind = OutputKind::number;
};

/// The quality that a training round must reach: a metric of EVALUATE or FINISHED, and its bound.
struct Target {
  std::string metric;
  double value = 0;
  Better better = Better::higher;
};

struct Limits {
  Nanoseconds time = std::chrono::hours(24 * 7);  ///< for a whole round
  Nanoseconds stall = std::chrono::minutes(10);   ///< without a step or output of a rank; 0: off
  Nanoseconds grace = std::chrono::seconds(10);   ///< between SIGTERM and SIGKILL
  std::uint64_t output_bytes = 1ULL << 30;        ///< log kept per rank (rotated beyond it)
};

/// The container of a case's ranks; the agent stays outside.
struct Container {
  std::string runtime = "podman";  ///< podman, docker, apptainer, singularity, enroot
  std::string image;
  std::vector<std::string> runtime_options;        ///< for the runtime itself, before its "run"
  std::vector<std::string> options;                ///< for "run", after the vendor's
  std::vector<std::string> mounts;                 ///< "source:target[:ro]"
  std::string shm_size;                            ///< empty: the host's shared memory
  std::string user;                                ///< empty: the image's
  std::string pull = "missing";                    ///< missing, never, always
  std::string load;                                ///< image archive on the node
  Nanoseconds timeout = std::chrono::minutes(30);  ///< for pulling or loading
};

/// How a case's `config` is used.
enum class ConfigUse {
  none,     ///< it has none
  applied,  ///< Assay's own program takes every key and refuses unknown ones
  offered,  ///< the command learns where config.json is; reading it is its choice
};

constexpr auto enum_names(ConfigUse /*use*/) {
  using enum ConfigUse;
  return std::to_array<EnumName<ConfigUse>>(
      {{none, "none"}, {applied, "applied"}, {offered, "offered"}});
}

/// Repeats a case until the 95 % confidence interval of its headline's mean is narrow.
struct RepeatUntil {
  double half_width = 0;  ///< of the interval, relative to the mean
  int min = 3;            ///< at least so many rounds
};

/// The workload that an AutoML experiment's ranks run, whatever the case's name.
inline constexpr const char* kAutomlWorkload = "automl-worker";

/// One axis of a grid of cases.
struct SweepDimension {
  std::string key;    ///< as in a suite: "config.batch_size", "env.OMP_NUM_THREADS", "procs"
  std::string label;  ///< "batch_size"; the key if two axes would share it
  std::vector<Json> values{};
};

/// A case of the suite that stood for a grid.
struct Sweep {
  std::string name;
  std::string origin{};  ///< "suite.yaml:9"
  std::vector<SweepDimension> dimensions{};
  int excluded = 0;  ///< grid points left out by its constraints
};

/// The sweep and point that a case comes from.
struct SweepPoint {
  std::string sweep;
  std::vector<Json> values{};  ///< one per dimension of the sweep, in their order
};

/// A precondition for running a case, on the judged result of another case so far.
struct Condition {
  std::string of;  ///< a case, or a sweep, for which every point must satisfy it
  /// Allowed verdicts (VALID, INVALID, INCOMPLETE, SKIPPED); empty: the metric decides.
  std::vector<std::string> verdicts{};
  std::string metric{};  ///< its median over rounds must lie within the bounds
  std::optional<double> min{};
  std::optional<double> max{};
  std::string origin{};

  /// "verdict of 'warm' is VALID", "steady_throughput of 'train' ≥ 100".
  [[nodiscard]] std::string text() const;
};

enum class HookTime { before, after };

constexpr auto enum_names(HookTime /*time*/) {
  using enum HookTime;
  return std::to_array<EnumName<HookTime>>({{before, "before"}, {after, "after"}});
}

enum class HookPlace {
  controller,  ///< once, where assay runs
  nodes,       ///< once on every node
};

constexpr auto enum_names(HookPlace /*place*/) {
  using enum HookPlace;
  return std::to_array<EnumName<HookPlace>>({{controller, "controller"}, {nodes, "nodes"}});
}

/// A command that runs before or after a case, or before or after all of them.
struct Hook {
  std::string name;  ///< unique among hooks of the same case (or run) and time
  HookTime when = HookTime::before;
  HookPlace on = HookPlace::controller;
  std::vector<std::string> command{};  ///< argv
  Nanoseconds time = std::chrono::minutes(10);
  bool required = true;  ///< false: its failure is a warning, and everything goes on
  std::string origin{};
};

/// Why a case did not run; the texts appear in the journal and in result.json.
enum class SkipCause {
  dependency,  ///< a case of its `after` did not complete or was itself skipped
  condition,   ///< its `only_if` does not hold, so it was not meant to run
  hook,        ///< a hook before it, or before all cases, failed
  nodes,       ///< fewer hosts than it needs were available
};

constexpr auto enum_names(SkipCause /*cause*/) {
  using enum SkipCause;
  return std::to_array<EnumName<SkipCause>>(
      {{dependency, "dependency"}, {condition, "condition"}, {hook, "hook"}, {nodes, "nodes"}});
}

/// One case: what runs, how often, and how it is judged. Everything is resolved; nothing refers to
/// conf/ any more.
struct CasePlan {
  std::string name;  ///< unique in the plan; also the folder: the case key or the user's name
  std::string model;
  std::string framework;
  std::string hardware;
  int nodes = 1;
  int procs = 1;  ///< per node
  /// Rounds that count; with `until`, their maximum.
  int repeats = 1;
  std::optional<RepeatUntil> until;
  /// Rounds run before those, which do not count. Numbering from 1 includes them.
  int warmup_rounds = 0;
  LaunchMode launch = LaunchMode::per_rank;
  std::vector<std::string> rendezvous{"torchrun"};  ///< flavors, each once
  std::vector<std::string> command;  ///< argv; placeholders are expanded per rank (docs/suite.md)
  std::map<std::string, std::string> env;
  std::optional<Container> container;
  std::string workdir;                  ///< empty: the folder in which assay was started
  std::string data;                     ///< data path, or empty
  std::vector<std::string> data_paths;  ///< `data` and paths from the configuration, as given
  bool drop_caches = false;             ///< drops every node's page cache before each round
  Bind bind;                            ///< binds the ranks to CPUs of their node
  Json config = Json::object();         ///< written as config.json for the ranks
  std::map<std::string, std::string> config_origin;  ///< key → "file:line" that decided it
  ConfigUse config_use = ConfigUse::none;
  /// Settings that the command reads from its own files: recorded, never passed to it.
  Json declared = Json::object();
  /// The origins of the other values, by their keys in a suite ("limits.time", "env.A"):
  /// "file:line", "--set …", "--repeat 3", a file of conf/, or "built in". Empty in plans of
  /// version 0.1.
  std::map<std::string, std::string> origin;
  std::vector<OutputMetric> metrics;
  std::optional<Target> target;
  std::optional<double> peak_flops;  ///< of one device, in FLOP/s: MFU's denominator
  std::string peak_flops_origin;     ///< "conf/vendors/nvidia.yaml:31", "suite", or empty
  int warmup_steps = 0;              ///< steps left out of step-time statistics
  /// Set for an AutoML experiment. Its ranks are workers, independent of each other: the round goes
  /// on when some are lost. Empty for an ordinary case.
  std::optional<automl::ExperimentSettings> automl;
  Limits limits;
  std::vector<catalog::Rule> rules;  ///< in force, including the case's overrides
  /// How they differ from the rules that the program was built with; nothing in plans made before
  /// this was recorded.
  std::optional<std::vector<catalog::RuleDifference>> rule_changes;
  std::string headline;  ///< the case's representative metric; empty: chosen by rank
  std::optional<SweepPoint> sweep{};
  /// Cases to run first, whose rounds must all have completed; never a sweep's name.
  std::vector<std::string> after{};
  std::vector<Condition> only_if{};  ///< all must hold
  std::vector<Hook> hooks{};

  [[nodiscard]] int world_size() const noexcept { return nodes * procs; }
  /// The number of the last possible round.
  [[nodiscard]] int rounds() const noexcept;
  [[nodiscard]] bool is_warmup(int round) const noexcept { return round <= warmup_rounds; }
  /// For progress: "round 2/3", "warm-up round 1/1", "round 4 of at most 20".
  [[nodiscard]] std::string round_text(int round) const;
  [[nodiscard]] bool meets_by(std::string_view flavor) const noexcept;
  /// Whether one of its rendezvous flavors has the property.
  [[nodiscard]] bool meets_with(bool RendezvousFlavor::*property) const noexcept {
    return any_flavor(rendezvous, property);
  }
};

struct Host {
  std::string name;
  int slots = 0;                          ///< 0: not limited
  std::string server_id{};                ///< in rank tables; empty: the name
  std::vector<std::string> device_ips{};  ///< for devices 0, 1, …; "a,b" for a device with two
  std::string super_pod{};                ///< the host's super-pod, or empty
  std::vector<std::string> super_device_ids{};  ///< of devices 0, 1, … in the super-pod
  std::string ib_addr{};                        ///< on InfiniBand; empty: the name
  SshAccess ssh{};                              ///< settings that differ for this host
  /// Variables for everything that runs there, placed before the case's: they differ between hosts.
  std::map<std::string, std::string> env{};
  /// The host that its name, an alias of ssh_config, leads to; empty: not an alias.
  std::string reached{};
};

struct Cluster {
  LauncherOptions options;                     ///< the launcher's; their type names it
  LauncherTraits traits = traits_of(options);  ///< the launcher's abilities with them
  std::vector<Host> hosts;                     ///< empty: this machine
  std::string master_addr;                     ///< empty: host 0
  int master_port = 0;                         ///< 0: a free port for every round
  int retries = 0;                             ///< reruns of a round whose agents were lost
  int min_nodes = 0;  ///< with fewer hosts nothing runs; 0: what the smallest case needs
  /// Form of HCCL rank tables: 1.0, 1.2, cloud, lab; empty: 1.2 if hosts have super-pods.
  std::string rank_table;

  void use_launcher(LauncherOptions launcher_options) {
    traits = traits_of(launcher_options);
    options = std::move(launcher_options);
  }
  [[nodiscard]] std::string launcher() const { return launcher_name(options); }
  /// The host with that name, or nullptr.
  [[nodiscard]] const Host* find_host(std::string_view host) const noexcept;
  /// The address at which other machines reach a host: what an ssh_config alias leads to, else its
  /// `address`, else its name without a user.
  [[nodiscard]] std::string address_of(const std::string& host) const;
};

struct Telemetry {
  Nanoseconds interval = std::chrono::seconds(1);
  bool enabled = true;
  /// The address at which every agent offers metrics to Prometheus, "127.0.0.1:9400"; empty: none.
  std::string prometheus;
};

/// A case of the suite that does not run on these machines.
struct LeftOut {
  std::string name;
  std::string reason;  ///< "needs 2 devices, there is 1"
};

/// The baseline for the cases, as it was at planning time, so that the result can be recomputed
/// without the file.
struct PlanBaseline {
  std::string file;    ///< as named by the user
  std::string sha256;  ///< of `text`
  std::string text;    ///< the whole file's, for baseline::parse()
};

/// The whole run, as stored in plan.json: the only input to launching and judging.
struct Plan {
  static constexpr int kSchemaVersion = 2;  ///< 1: every case lists all of its rules; still read
  std::string run_id;                       ///< "run20261115T101500Z-3f2a"
  std::string suite;                        ///< suite name
  std::string suite_file;
  std::string suite_sha256;
  std::string created;  ///< ISO, UTC
  std::string assay_version;
  std::vector<std::string> overrides;  ///< --set, --only, --repeat as given
  std::optional<Challenge> challenge;  ///< answered by this run; its seed is in the case's config
  std::string vendor;
  Json vendor_data = Json::object();  ///< the vendor's catalog entry (telemetry source, …)
  Cluster cluster;
  Telemetry telemetry;
  std::map<std::string, std::string> submission;  ///< the submitter, for MLPerf logs
  std::optional<PlanBaseline> baseline{};
  std::vector<CasePlan> cases;  ///< in execution order
  std::vector<LeftOut> left_out;
  std::vector<Sweep> sweeps{};  ///< those that have cases
  std::vector<Hook> hooks{};    ///< around all cases

  [[nodiscard]] const CasePlan* find_case(std::string_view name) const noexcept;
};

[[nodiscard]] Json to_json(const Plan& plan);
/// Throws Error of kind config at `where` when a field is missing or of the wrong type.
[[nodiscard]] Plan plan_from_json(const Json& json, const std::string& where);

}  // namespace assay::plan
