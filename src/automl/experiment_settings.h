#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "automl/graph.h"
#include "automl/morphism.h"
#include "automl/space.h"
#include "automl/worker_protocol.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::automl {

/// What an experiment does: the resolved form of a case's `automl:` (docs/suite.md). Stored in
/// plan.json and in the experiment's journal.
struct ExperimentSettings {
  Json start = "resnet20";        ///< resnet8, resnet20, resnet50, or AIPerf's graph file itself
  int classes = 10;               ///< of the start models that are named
  Json data{{"data", "glyphs"}};  ///< keys of an image workload's configuration
  std::string precision = "fp32";
  Json space = default_space();  ///< as Space::parse takes it; null: `hyper` for every trial
  Hyper hyper;                   ///< of the first trial, and of what is not in the space
  std::vector<int> epochs{15, 30, 45, 60};  ///< at most, of round 0, 1, …; the last for all further
  std::optional<Patience> patience;         ///< nothing: AIPerf's, which grows with the round
  Nanoseconds max_duration = std::chrono::hours(12);
  Nanoseconds min_duration{0};  ///< asked for: a shorter experiment is not valid
  std::int64_t max_trials = 99'999;
  Nanoseconds trial_limit = std::chrono::hours(24);
  int attempts = 3;                                 ///< of a trial whose workers are lost
  Nanoseconds silence = std::chrono::seconds(30);   ///< after which a worker counts as lost
  Nanoseconds progress = std::chrono::minutes(30);  ///< without a batch: it hangs (pace.h)
  std::uint64_t seed = 1;
  Limits limits;
  int candidates = 100;
  bool inherit = true;  ///< children begin with their parents' weights
  std::uint64_t weights_bytes = std::uint64_t{16} << 30;  ///< kept of all trials together
  std::string address;        ///< of the coordinator, as workers reach it; empty: found out
  int devices_per_trial = 1;  ///< ranks of a node that train one trial together: one worker
  int workers = 1;            ///< planned: the length of a round

  static void fields(auto& self, auto&& field) {
    field("start", self.start);
    field("classes", self.classes);
    field("data", self.data);
    field("precision", self.precision);
    field("space", self.space);
    field("hyper", self.hyper);
    field("epochs", self.epochs);
    field.optional("patience", self.patience);
    field("max_duration_ns", self.max_duration);
    field("min_duration_ns", self.min_duration);
    field("max_trials", self.max_trials);
    field("trial_limit_ns", self.trial_limit);
    field("attempts", self.attempts);
    field("silence_ns", self.silence);
    field.optional("progress_ns", self.progress);
    field("seed", self.seed);
    field("limits", self.limits);
    field("candidates", self.candidates);
    field("inherit", self.inherit);
    field("weights_bytes", self.weights_bytes);
    field("address", self.address);
    field.optional("devices_per_trial", self.devices_per_trial);
    field("workers", self.workers);
  }

  [[nodiscard]] static Json default_space();
  [[nodiscard]] Graph start_graph(const std::string& where = {}) const;
  [[nodiscard]] int epochs_of_round(std::int64_t round) const;
  [[nodiscard]] Patience patience_of_trial(std::int64_t round) const;
  /// The hyper-parameters of a point: those of `hyper` where the space has no such parameter.
  [[nodiscard]] Hyper at(const Space& parameters, const Point& point) const;
};

/// Hyper-parameters that a space may hold.
[[nodiscard]] const std::vector<std::string>& hyper_names();

/// Throws Error of kind config at `where` for what cannot work: a space that leaves what a worker
/// takes, a start model beyond the limits.
void check(const ExperimentSettings& settings, const std::string& where);

[[nodiscard]] Json to_json(const ExperimentSettings& settings);
/// Throws Error of kind config at `where`.
[[nodiscard]] ExperimentSettings settings_from_json(const Json& json, const std::string& where);

}  // namespace assay::automl
