#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "automl/score.h"
#include "automl/worker_timeline.h"
#include "catalog/rule.h"
#include "catalog/rule_difference.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "core/metric.h"
#include "core/round_status.h"
#include "core/subprocess.h"
#include "judge/time_parts.h"
#include "plan/effective_settings.h"
#include "plan/plan.h"

namespace assay::judge {

enum class Validity { valid, invalid, incomplete };

constexpr auto enum_names(Validity /*validity*/) {
  using enum Validity;
  return std::to_array<EnumName<Validity>>(
      {{valid, "VALID"}, {invalid, "INVALID"}, {incomplete, "INCOMPLETE"}});
}
[[nodiscard]] std::string_view to_string(Validity validity) noexcept;  ///< "VALID" …

using catalog::Aspect;
using catalog::Severity;

/// A rule's finding, and what to do about it.
struct Finding {
  std::string rule;  ///< "min-steps"
  Severity severity = Severity::note;
  std::string reason;
  std::string advice;
  std::string where;                 ///< "round 2, rank 3 on node1", or empty
  std::vector<std::string> quote{};  ///< the end of the failed rank's log, safe to show
  Aspect aspect = Aspect::result;
};

/// The quality of the evidence in one respect.
enum class Soundness { ok, flawed, unknown };

constexpr auto enum_names(Soundness /*soundness*/) {
  using enum Soundness;
  return std::to_array<EnumName<Soundness>>({{ok, "ok"}, {flawed, "flawed"}, {unknown, "unknown"}});
}

struct AspectState {
  Soundness state = Soundness::unknown;
  std::string text{};  ///< one sentence without a full stop: what was found or checked
};

/// The three questions about a round's evidence, answered by the rules of these aspects: a violated
/// rule of at least severity warning makes it flawed (for integrity, any rule); unknown means that
/// no rule could ask.
struct EvidenceState {
  AspectState completeness;
  AspectState integrity;
  AspectState plausibility;
};

/// The origin of a number, best first.
enum class Origin {
  measured,
  estimated,  ///< from related measurements
  reported,   ///< by the workload
  claimed,    ///< only by the ranks' clocks
};

constexpr auto enum_names(Origin /*origin*/) {
  using enum Origin;
  return std::to_array<EnumName<Origin>>({{measured, "measured"},
                                          {estimated, "estimated"},
                                          {reported, "reported"},
                                          {claimed, "claimed"}});
}

/// The origin of a number made of two: no better than the worse of them.
[[nodiscard]] constexpr Origin worst(Origin a, Origin b) noexcept {
  return a < b ? b : a;
}

struct Metric {
  MetricInfo info;
  double value = 0;  ///< always finite; absent if it cannot be computed
  Origin origin = Origin::measured;
  std::string note;  ///< how it was computed, if not obvious ("denominator: measured peak")
  /// 95 % confidence interval over the round's steps, if there is one.
  std::optional<double> ci95_low{};
  std::optional<double> ci95_high{};
};

struct RankResult {
  int rank = 0;
  int node = 0;
  int local_rank = 0;
  std::string host;
  std::optional<ExitStatus> exit;  ///< nothing: did not end under supervision
  std::string ended_by;  ///< "itself", "assay: time limit", "assay: stall", "assay: stop", "lost"
  std::string log;       ///< relative to the run directory
  std::int64_t steps = 0;
  double samples = 0;
  std::optional<double> mean_step_s;
  std::optional<double> mean_own_s;      ///< the part without waiting for other ranks, if logged
  std::optional<double> relative_speed;  ///< to the median rank; below 1 means slower
  std::uint64_t malformed_lines = 0;
  std::uint64_t dropped_bytes = 0;  ///< of output: over the limit, or because the disk was full
  std::string bound{};              ///< CPUs, "0-3"; empty: not bound
  std::string ran_on{};             ///< CPUs on which a bound rank was seen
};

/// A period of the round, in seconds since its first rank was started.
struct Phase {
  std::string name;  ///< "init", "train", "evaluate"
  double start_s = 0;
  double end_s = 0;
};

/// How a part of a round's wall time was spent (docs/metrics.md, "Where the time went").
struct TimeShare {
  TimePart part = TimePart::unexplained;
  double seconds = 0;  ///< positive
};

struct Point {
  double t_s = 0;
  double value = 0;  ///< NaN: no measurement here, so a line is interrupted
};

/// Evidence over time, for charts, thinned to a bounded number of points. Not part of result.json.
struct Series {
  /// "throughput", "loss", "cpu_util", "device_util", "power", "memory", or a quality in EVALUATE
  std::string name;
  std::string label;  ///< "node 0", "rank 0", "dev0 on node1"
  std::string unit;
  std::vector<Point> points;
};

/// A significant value of a series: a target, or a value that nothing can exceed.
struct Level {
  std::string series;  ///< the series' name
  std::string name;    ///< "target", "best reachable"
  double value = 0;
};

/// A round's result in ais-bench's form.
struct AisRound {
  std::string train_result_info;  ///< the text printed by ais-bench; empty: results are missing
  std::string report{};           ///< its report lines for a job in a cloud, or empty
  /// Details for people: problems, the origin of each value, and what was not measured.
  Json details = Json::object();
};

/// An AutoML experiment according to its journal.
struct Experiment {
  automl::ExperimentRecord record;
  std::vector<automl::WorkerLine> workers;
};

/// An EVALUATE of the first rank that logs them.
struct EvaluationResult {
  double start_s = 0;  ///< on the round's axis; equal to the end if its duration is unknown
  double end_s = 0;
  std::optional<double> trained{};  ///< fraction of the round's samples trained before it
  bool trained_exactly = false;     ///< counted from every step's samples
  std::vector<std::pair<std::string, double>> values{};
};

struct RoundResult {
  int round = 0;        ///< 1-based
  bool warmup = false;  ///< runs before the rounds that count
  RoundStatus status = RoundStatus::not_run;
  std::string reason;   ///< for people, with the culprit: "rank 3 on node1: SIGSEGV"
  std::string started;  ///< ISO, UTC; empty when not run
  std::string ended;
  std::vector<RankResult> ranks;
  std::vector<Metric> metrics;  ///< in catalog order
  std::vector<Finding> findings;
  EvidenceState evidence{};
  Validity validity = Validity::incomplete;
  std::vector<Phase> phases;
  std::optional<Phase> steady{};   ///< "steady": from the first steady step to the last
  std::optional<double> wall_s{};  ///< from round_start to round_end, on the controller's clock
  /// Durations of the steady steps in order, in seconds, without stalls: one series for a job, the
  /// mean of its ranks; one per process when processes work independently. Not part of result.json.
  std::vector<std::vector<double>> steady_steps{};
  std::vector<TimeShare> time_shares{};         ///< each part once, in order; their sum is `wall_s`
  std::vector<EvaluationResult> evaluations{};  ///< in order; not part of result.json
  std::optional<double> train_samples{};        ///< per epoch, as FINISHED reports it
  std::vector<Series> series;
  std::vector<Level> levels{};  ///< for the series; not part of result.json
  /// Each node's command, hashes of program, code and image, data, environment.
  Json executed = Json::array();
  std::optional<AisRound> ais{};  ///< for an ais-bench workload; its record is in result.json
  std::optional<Experiment> experiment{};  ///< for an AutoML case; not part of result.json
};

/// One metric over the rounds that count.
struct Summary {
  MetricInfo info;
  Origin origin = Origin::measured;  ///< the worst one of the rounds
  int n = 0;
  double median = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  std::optional<double> stddev;    ///< n ≥ 2
  std::optional<double> cv;        ///< n ≥ 2
  std::optional<double> ci95_low;  ///< of the mean, Student t; n ≥ 3
  std::optional<double> ci95_high;
  std::optional<double> olympic_mean;  ///< without best and worst; n ≥ 3
  std::string note;                    ///< what is missing, and how many rounds it needs
};

/// A case that was skipped. Its validity is INCOMPLETE, displayed as SKIPPED.
struct Skip {
  plan::SkipCause cause = plan::SkipCause::dependency;
  std::string reason;
};

/// How a hook's last run ended.
enum class HookVerdict { passed, failed, timed_out, not_run };

constexpr auto enum_names(HookVerdict /*verdict*/) {
  using enum HookVerdict;
  return std::to_array<EnumName<HookVerdict>>(
      {{passed, "passed"}, {failed, "failed"}, {timed_out, "timed_out"}, {not_run, "not_run"}});
}

struct HookResult {
  plan::Hook hook;
  HookVerdict verdict = HookVerdict::not_run;
  std::string reason{};             ///< why it failed, with the node; empty if it passed
  std::optional<double> seconds{};  ///< its duration
  std::string output{};             ///< its output folder, relative to the run directory
};

/// A grid of cases.
struct SweepGrid {
  plan::Sweep sweep;
  std::vector<std::size_t> cases{};  ///< its planned points: indices into RunResult::cases
  /// The metric for comparing its points: the headline of the first VALID one, or "".
  std::string headline{};
  /// Whether the headline covers all ranks together, so that it can be compared with their number.
  bool adds_up = false;
};

struct CaseResult {
  std::string name;
  std::string model;
  std::string framework;
  std::string hardware;
  int nodes = 1;
  int procs = 1;
  int repeats = 1;
  Validity validity = Validity::incomplete;
  std::vector<Finding> findings;    ///< about the case as a whole (spread over repeats, …)
  std::vector<RoundResult> rounds;  ///< those that count
  std::vector<RoundResult> warmup_rounds{};  ///< not in any statistic or verdict
  /// Why there was no further round, for a case that repeats until its result is certain.
  std::string repeats_ended{};
  std::vector<Summary> summary;
  std::string headline;  ///< the metric that represents the case in tables, or ""
  std::string beside{};  ///< the metric shown beside it ("best_flops"), or ""
  std::vector<plan::Setting> configuration{};  ///< effective, with the origin of each value
  std::vector<catalog::Rule> rules{};          ///< in force
  /// How the rules differ from the standard; nothing: not recorded.
  std::optional<std::vector<catalog::RuleDifference>> rule_changes{};

  std::optional<plan::SweepPoint> sweep{};
  std::optional<Skip> skipped{};
  std::vector<HookResult> hooks{};

  /// Whether a rule was relaxed; a verdict must then not be shown without saying so.
  [[nodiscard]] bool relaxed() const;
};

/// The findings about a run's seal (docs/evidence.md explains what they prove).
struct RunSeal {
  Soundness state = Soundness::unknown;  ///< unknown: no seal
  std::string text{};                    ///< one sentence without a full stop
  std::string public_key{};              ///< the signer's; empty unless the signature fits
  std::string fingerprint{};             ///< of that key
  std::string signed_at{};               ///< ISO, UTC, by the signer's clock
};

struct RunResult {
  static constexpr int kSchemaVersion = 1;
  std::string run_id;
  std::string suite;
  Validity validity = Validity::incomplete;
  std::vector<Finding> findings;  ///< about the run as a whole: its seal, journal and machine
  RunSeal seal;
  std::vector<CaseResult> cases;
  std::vector<SweepGrid> sweeps{};
  std::vector<HookResult> hooks{};   ///< around all cases
  Json system = Json::object();      ///< system.json: nodes and their hardware
  Json provenance = Json::object();  ///< versions, hashes, overrides
};

}  // namespace assay::judge
