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

/// How many processes of a case's command are started, and what starts them.
enum class LaunchMode {
  per_rank,  ///< Assay starts every rank
  per_node,  ///< one command a node, which starts its ranks (torchrun)
  head,      ///< one command on node 0, which fans out by itself (mpirun, horovodrun)
};

constexpr auto enum_names(LaunchMode /*mode*/) {
  using enum LaunchMode;
  return std::to_array<EnumName<LaunchMode>>(
      {{per_rank, "per-rank"}, {per_node, "per-node"}, {head, "head"}});
}

/// What an output metric's match says.
enum class OutputKind {
  number,
  speed,  ///< of a progress bar, "1.50it/s" or "2.00s/it"; the metric's unit is "it/s"
};

constexpr auto enum_names(OutputKind /*kind*/) {
  using enum OutputKind;
  return std::to_array<EnumName<OutputKind>>({{number, "number"}, {speed, "speed"}});
}

/// A number read from the output of a command that does not emit PerfLog.
struct OutputMetric {
  std::string name;
  /// Regular expression (RE2) with one group, or with the groups `value` and `step`.
  std::string pattern;
  std::string unit;
  Better better = Better::neither;
  /// Over the matches of one rank: last, first, mean, median, min, max, sum.
  std::string reduce = "last";
  std::string across = "mean";  ///< over ranks: mean, sum, min, max, rank0
  OutputKind kind = OutputKind::number;
};

/// Quality that a training round must reach: metric of EVALUATE or FINISHED, and its bound.
struct Target {
  std::string metric;
  double value = 0;
  Better better = Better::higher;
};

struct Limits {
  Nanoseconds time = std::chrono::hours(24 * 7);  ///< of a whole round
  Nanoseconds stall = std::chrono::minutes(10);   ///< without a step or output from a rank; 0: off
  Nanoseconds grace = std::chrono::seconds(10);   ///< between SIGTERM and SIGKILL
  std::uint64_t output_bytes = 1ULL << 30;        ///< of log kept per rank (rotated beyond it)
};

/// What the ranks of a case run in; the agent stays outside.
struct Container {
  std::string runtime = "podman";  ///< podman, docker, apptainer, singularity, enroot
  std::string image;
  std::vector<std::string> runtime_options;        ///< of the runtime itself, before its "run"
  std::vector<std::string> options;                ///< of "run", after the vendor's
  std::vector<std::string> mounts;                 ///< "source:target[:ro]"
  std::string shm_size;                            ///< empty: the host's shared memory
  std::string user;                                ///< empty: the image's
  std::string pull = "missing";                    ///< missing, never, always
  std::string load;                                ///< archive on the node that holds the image
  Nanoseconds timeout = std::chrono::minutes(30);  ///< for pulling or loading
};

/// What becomes of a case's `config`.
enum class ConfigUse {
  none,     ///< it has none
  applied,  ///< the program is Assay's own: it takes every key, and refuses others
  offered,  ///< the command is told where config.json is; whether it reads it is its own affair
};

constexpr auto enum_names(ConfigUse /*use*/) {
  using enum ConfigUse;
  return std::to_array<EnumName<ConfigUse>>(
      {{none, "none"}, {applied, "applied"}, {offered, "offered"}});
}

/// A case is repeated until the 95 % confidence interval of its headline's mean is narrow.
struct RepeatUntil {
  double half_width = 0;  ///< of the interval, relative to the mean
  int min = 3;            ///< rounds at least
};

/// What the ranks of an AutoML experiment run, whatever the case is called.
inline constexpr const char* kAutomlWorkload = "automl-worker";

/// One axis of a grid of cases.
struct SweepDimension {
  std::string key;    ///< as in a suite: "config.batch_size", "env.OMP_NUM_THREADS", "procs"
  std::string label;  ///< "batch_size"; the key where two axes would share it
  std::vector<Json> values{};
};

/// A case of the suite that was a grid.
struct Sweep {
  std::string name;
  std::string origin{};  ///< "suite.yaml:9"
  std::vector<SweepDimension> dimensions{};
  int excluded = 0;  ///< points of the grid that its constraints leave out
};

/// Which point of which sweep a case is.
struct SweepPoint {
  std::string sweep;
  std::vector<Json> values{};  ///< one of each of the sweep's dimensions, in their order
};

/// What must be so for a case to be run: of another case, by its judged result so far.
struct Condition {
  std::string of;  ///< a case, or a sweep: then it must hold for every point
  /// One of them must be its verdict (VALID, INVALID, INCOMPLETE, SKIPPED); empty: the metric says.
  std::vector<std::string> verdicts{};
  std::string metric{};  ///< its median over rounds must be in the bounds
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

/// A command that is run before or after a case, or all of them.
struct Hook {
  std::string name;  ///< unique among the hooks of the same case (or of the run) and time
  HookTime when = HookTime::before;
  HookPlace on = HookPlace::controller;
  std::vector<std::string> command{};  ///< argv
  Nanoseconds time = std::chrono::minutes(10);
  bool required = true;  ///< false: when it fails, that is a warning and everything goes on
  std::string origin{};
};

/// Why a case was not run; the texts are those of the journal and of result.json.
enum class SkipCause {
  dependency,  ///< a case of its `after` did not complete, or was skipped itself
  condition,   ///< its `only_if` does not hold: it was not meant to run
  hook,        ///< a hook before it, or before all cases, failed
  nodes,       ///< fewer hosts than it needs could be had
};

constexpr auto enum_names(SkipCause /*cause*/) {
  using enum SkipCause;
  return std::to_array<EnumName<SkipCause>>(
      {{dependency, "dependency"}, {condition, "condition"}, {hook, "hook"}, {nodes, "nodes"}});
}

/// One case: what is run, how often, and how it is judged. Everything is resolved; nothing in it
/// refers to conf/ any more.
struct CasePlan {
  std::string name;  ///< unique in the plan; names the folder: the case key, or the user's name
  std::string model;
  std::string framework;
  std::string hardware;
  int nodes = 1;
  int procs = 1;  ///< per node
  /// Rounds that count; with `until`, the most there can be.
  int repeats = 1;
  std::optional<RepeatUntil> until;
  /// Rounds that are run before them and do not count. All rounds are numbered through from 1.
  int warmup_rounds = 0;
  LaunchMode launch = LaunchMode::per_rank;
  std::vector<std::string> rendezvous{"torchrun"};  ///< flavors, each once
  std::vector<std::string> command;  ///< argv; placeholders are expanded per rank (docs/suite.md)
  std::map<std::string, std::string> env;
  std::optional<Container> container;
  std::string workdir;                  ///< empty: the folder that assay was started in
  std::string data;                     ///< data path, or empty
  std::vector<std::string> data_paths;  ///< `data` and what the configuration names, as given
  bool drop_caches = false;             ///< the page cache of every node, before each round
  Bind bind;                            ///< of the ranks to the CPUs of their node
  Json config = Json::object();         ///< written as config.json for the ranks
  std::map<std::string, std::string> config_origin;  ///< key → "file:line" that decided it
  ConfigUse config_use = ConfigUse::none;
  /// Settings that the command takes from files of its own: recorded, never handed to it.
  Json declared = Json::object();
  /// Who decided the other values, by their keys in a suite ("limits.time", "env.A"): "file:line",
  /// "--set …", "--repeat 3", a file of conf/, or "built in". Empty in plans of version 0.1.
  std::map<std::string, std::string> origin;
  std::vector<OutputMetric> metrics;
  std::optional<Target> target;
  std::optional<double> peak_flops;  ///< of one device, FLOP/s: MFU's denominator
  std::string peak_flops_origin;     ///< "conf/vendors/nvidia.yaml:31", "suite", or empty
  int warmup_steps = 0;              ///< steps left out of step-time statistics
  /// Set for an AutoML experiment. Its ranks are workers, independent of each other: the round
  /// goes on without those that are lost. Empty for an ordinary case.
  std::optional<automl::ExperimentSettings> automl;
  Limits limits;
  std::vector<catalog::Rule> rules;  ///< in force, with the case's overrides
  /// How they differ from those that the program was built with; nothing in plans that were made
  /// before this was recorded.
  std::optional<std::vector<catalog::RuleDifference>> rule_changes;
  std::string headline;  ///< metric that stands for the case; empty: by rank
  std::optional<SweepPoint> sweep{};
  /// Cases that are run before it and whose rounds must all have completed; never a sweep's name.
  std::vector<std::string> after{};
  std::vector<Condition> only_if{};  ///< all of them
  std::vector<Hook> hooks{};

  [[nodiscard]] int world_size() const noexcept { return nodes * procs; }
  /// The number of the last round that there can be.
  [[nodiscard]] int rounds() const noexcept;
  [[nodiscard]] bool is_warmup(int round) const noexcept { return round <= warmup_rounds; }
  /// For progress: "round 2/3", "warm-up round 1/1", "round 4 of at most 20".
  [[nodiscard]] std::string round_text(int round) const;
  [[nodiscard]] bool meets_by(std::string_view flavor) const noexcept;
  /// Whether one of its flavors of rendezvous has the property.
  [[nodiscard]] bool meets_with(bool RendezvousFlavor::*property) const noexcept {
    return any_flavor(rendezvous, property);
  }
};

struct Host {
  std::string name;
  int slots = 0;                          ///< 0: not limited
  std::string server_id{};                ///< in rank tables; empty: the name
  std::vector<std::string> device_ips{};  ///< of device 0, 1, …; "a,b" where a device has two
  std::string super_pod{};                ///< super-pod that the host belongs to, or empty
  std::vector<std::string> super_device_ids{};  ///< of device 0, 1, … in its super-pod
  std::string ib_addr{};                        ///< on InfiniBand; empty: the name
  SshAccess ssh{};                              ///< what differs for this host
  /// Variables of whatever runs there, in front of the case's own: what is another on every host.
  std::map<std::string, std::string> env{};
  /// Where its name leads, when that is an alias of ssh_config; empty: it is none.
  std::string reached{};
};

struct Cluster {
  LauncherOptions options;                     ///< of the launcher, which its type names
  LauncherTraits traits = traits_of(options);  ///< what it can do with them
  std::vector<Host> hosts;                     ///< empty: this machine
  std::string master_addr;                     ///< empty: host 0
  int master_port = 0;                         ///< 0: a free port is chosen for every round
  int retries = 0;    ///< how often a round whose agents were lost is run again
  int min_nodes = 0;  ///< with fewer hosts nothing is run; 0: as many as the smallest case needs
  /// Form of HCCL rank tables: 1.0, 1.2, cloud, lab; empty: 1.2 where hosts have super-pods.
  std::string rank_table;

  void use_launcher(LauncherOptions launcher_options) {
    traits = traits_of(launcher_options);
    options = std::move(launcher_options);
  }
  [[nodiscard]] std::string launcher() const { return launcher_name(options); }
  /// The host of that name, or nullptr.
  [[nodiscard]] const Host* find_host(std::string_view host) const noexcept;
  /// Under which other machines reach a host: where an alias of ssh_config leads, else its
  /// `address` where it has one, else its name without the user before it.
  [[nodiscard]] std::string address_of(const std::string& host) const;
};

struct Telemetry {
  Nanoseconds interval = std::chrono::seconds(1);
  bool enabled = true;
  /// Where every agent offers its metrics to Prometheus, "127.0.0.1:9400"; empty: nowhere.
  std::string prometheus;
};

/// A case of the suite that is not run on these machines.
struct LeftOut {
  std::string name;
  std::string reason;  ///< "needs 2 devices, there is 1"
};

/// What the cases are held against, as it was when the run was planned: the result can be computed
/// again without the file.
struct PlanBaseline {
  std::string file;    ///< as it was named
  std::string sha256;  ///< of `text`
  std::string text;    ///< of the whole file; baseline::parse() reads it
};

/// The whole run, as stored in plan.json: the only thing that launching and judging read.
struct Plan {
  static constexpr int kSchemaVersion = 2;  ///< 1: every case has all of its rules; still read
  std::string run_id;                       ///< "run20261115T101500Z-3f2a"
  std::string suite;                        ///< suite name
  std::string suite_file;
  std::string suite_sha256;
  std::string created;  ///< ISO, UTC
  std::string assay_version;
  std::vector<std::string> overrides;  ///< --set, --only, --repeat as given
  std::optional<Challenge> challenge;  ///< that the run answers; its seed is in the case's config
  std::string vendor;
  Json vendor_data = Json::object();  ///< the vendor's catalog entry (telemetry source, …)
  Cluster cluster;
  Telemetry telemetry;
  std::map<std::string, std::string> submission;  ///< who hands the result in, for MLPerf logs
  std::optional<PlanBaseline> baseline{};
  std::vector<CasePlan> cases;  ///< in the order in which they are run
  std::vector<LeftOut> left_out;
  std::vector<Sweep> sweeps{};  ///< those of which there are cases
  std::vector<Hook> hooks{};    ///< around all cases

  [[nodiscard]] const CasePlan* find_case(std::string_view name) const noexcept;
};

[[nodiscard]] Json to_json(const Plan& plan);
/// Throws Error of kind config at `where` when a field is missing or of the wrong type.
[[nodiscard]] Plan plan_from_json(const Json& json, const std::string& where);

}  // namespace assay::plan
