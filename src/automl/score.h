#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "automl/graph.h"
#include "automl/trial_status.h"
#include "core/json.h"

namespace assay::automl {

/// Operations for one sample of the graph that is trained (trained_graph.h).
struct SampleOperations {
  std::int64_t aiperf_train = 0;     ///< forward and backward, as AIPerf counts
  std::int64_t aiperf_validate = 0;  ///< forward
  std::int64_t exact_train = 0;      ///< what is executed (operations.h)
  std::int64_t exact_validate = 0;

  static void fields(auto& self, auto&& field) {
    field("aiperf_train", self.aiperf_train);
    field("aiperf_validate", self.aiperf_validate);
    field("exact_train", self.exact_train);
    field("exact_validate", self.exact_validate);
  }
  friend bool operator==(const SampleOperations&, const SampleOperations&) = default;
};
[[nodiscard]] SampleOperations count_operations(const Graph& trained);

/// What the weights of a trial's last attempt began with.
struct InheritedRecord {
  std::int64_t tensors = 0;  ///< of the parent, or made so that its function stays; 0: all fresh
  std::int64_t of = 0;
  std::string sha256;  ///< of the parent's weights
};

/// How the detail of an experiment begins that failed because all its workers are gone, not by
/// itself: it can be gone on with.
inline constexpr const char* kNoWorkerLeft = "no worker is left";

/// Why a worker left that nobody saw leave: the experiment was resumed.
inline constexpr const char* kCoordinatorEnded = "coordinator ended";

/// Weights that are not kept (any more).
struct LostWeights {
  std::int64_t trial = 0;
  std::string reason;
  double at_s = 0;
  bool displaced = false;  ///< by those of better trials, as `weights` of the suite asks for
};

/// One trial, from all its events.
struct TrialRecord {
  std::int64_t id = 0;
  std::int64_t parent = -1;
  Json operations = Json::array();  ///< morphisms from the parent
  Json hyper = Json::object();
  std::optional<double> predicted;  ///< accuracy, by the Gaussian process
  std::optional<double> predicted_deviation;
  double search_s = 0;
  std::int64_t parameters = 0;
  int layers = 0;
  SampleOperations per_sample;
  int attempts = 0;
  int worker = -1;  ///< rank of the last attempt
  std::string host;
  TrialStatus status = TrialStatus::waiting;
  std::string reason;
  std::optional<double> accuracy;  ///< the best epoch of any attempt
  int epochs = 0;                  ///< complete ones, of the last attempt
  double trained = 0;              ///< samples, all attempts
  double validated = 0;
  std::optional<double> started_s;  ///< since the experiment began, as all times here
  std::optional<double> ended_s;
  double wait_s = 0;                           ///< of its worker, before it
  double setup_s = 0;                          ///< of its worker: model, weights, data
  std::optional<InheritedRecord> inherited{};  ///< nothing where it was not said
  /// Held-out loss of every epoch of the last attempt, and when.
  std::vector<std::pair<double, double>> losses{};
};

/// One worker from joining to leaving.
struct WorkerRecord {
  int rank = 0;
  std::string host;
  std::string device;
  double joined_s = 0;
  std::optional<double> left_s;
  std::string reason;  ///< why it left
  double busy_s = 0;   ///< with at least one trial in its hands
  int trials = 0;
};

/// The score up to a moment.
struct ScorePoint {
  double t_s = 0;
  double operations = 0;  ///< AIPerf's count of what was trained and validated until then
  double operations_exact = 0;
  double ops = 0;  ///< operations / t_s
  double ops_exact = 0;
  double error = 1;  ///< 1 − best accuracy so far, at least half a validated sample
  double score = 0;  ///< −ln(error) · ops
  double score_exact = 0;
};

/// Everything that reports and rules need to know about an experiment.
struct ExperimentRecord {
  Json settings = Json::object();
  double elapsed_s = 0;  ///< of its last event; goes on across resume, without the pause
  std::optional<ExperimentEnd> ended;  ///< nothing when no end was recorded
  std::string detail;                  ///< why, for people
  int resumed = 0;
  double resumed_s = 0;               ///< how long it had gone on when it was last resumed
  std::vector<TrialRecord> trials;    ///< by id
  std::vector<WorkerRecord> workers;  ///< in the order of joining
  std::vector<ScorePoint> points;     ///< at multiples of score_step()
  ScorePoint final;                   ///< at elapsed_s
  /// When its accuracy first was what the data allow, within a sample (data_ceiling).
  std::optional<double> ceiling_s;
  std::optional<std::int64_t> best;  ///< the trial of the largest accuracy, the first of equals
  std::vector<LostWeights> weights_lost;
  std::optional<double> idle_share;  ///< of the planned workers' time
  std::optional<double> wait_share;  ///< workers' waits between trials / their trials' time

  /// Trials of that status.
  [[nodiscard]] std::ptrdiff_t count(TrialStatus status) const {
    return std::ranges::count(trials, status, &TrialRecord::status);
  }
};

/// The best accuracy that the experiment's held-out data allow, by its settings: 1, and less where
/// generated data have labels that are wrong.
[[nodiscard]] double data_ceiling(const Json& settings);

/// The seconds between points: 0.1 h, as AIPerf has it. Where that gives fewer than 20 points, the
/// largest of 180, 120, 60, 30, 15, 10, 5, 2 and 1 s that gives 20, or else 1 s.
[[nodiscard]] double score_step(double elapsed_s);

/// The record of an experiment, from its journal's events (docs/automl.md). Finished work counts,
/// also that of trials which were lost, failed or cut off: operations up to their last report, and
/// their accuracy if it was measured. Pure; fields of a wrong type are ignored.
[[nodiscard]] ExperimentRecord record_of(const std::vector<Json>& events);

}  // namespace assay::automl
