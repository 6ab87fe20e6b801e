#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "automl/experiment_settings.h"
#include "automl/score.h"
#include "automl/search.h"
#include "automl/tpe.h"

namespace assay::automl {

/// One trial to come: an architecture and its hyper-parameters.
struct Planned {
  Proposal proposal;
  Point point;  ///< of the space; empty without a space
  Hyper hyper;
  SampleOperations per_sample;
  std::int64_t known_results = 0;  ///< when it was proposed
  double search_s = 0;             ///< what it took; 0 when it was not measured
};

/// Decides what is tried next: the searches for architectures and for hyper-parameters, side by
/// side. Deterministic for the settings and the sequence of calls. One thread at a time.
class Planner {
 public:
  /// Throws Error of kind config for settings that make no sense.
  explicit Planner(const ExperimentSettings& settings);

  /// Throws Error of kind config when no further architecture is found within the limits.
  [[nodiscard]] Planned propose();
  /// The trial's best accuracy.
  void tell(std::int64_t trial, double accuracy);
  void tell_failed(std::int64_t trial, const std::string& reason);

  /// Repeats the calls that an experiment's journal holds, on a new object, and returns what it had
  /// proposed. Proposals that were under way at its end are for propose() to make, with what was
  /// known when they began: later results wait until then. Throws Error of kind config at `where`
  /// for a journal that does not fit.
  std::vector<Planned> replay(const std::vector<Json>& events, const std::string& where);
  /// Results that it was told, those that wait included.
  [[nodiscard]] std::int64_t told() const noexcept {
    return results_ + static_cast<std::int64_t>(later_.size());
  }
  /// Proposals of a replayed journal that are still to be made.
  [[nodiscard]] int under_way() const noexcept { return static_cast<int>(begun_.size()); }

  [[nodiscard]] const Search& search() const noexcept { return search_; }

 private:
  struct Result {
    std::int64_t trial = 0;
    std::optional<double> accuracy{};  ///< nothing: it failed
    std::string reason{};
  };
  void take(Result result);
  void learn(const Result& result);
  void learn_until(std::int64_t known);
  [[nodiscard]] Planned plan(Proposal proposal, Point point) const;

  ExperimentSettings settings_;
  std::optional<Space> space_;
  Search search_;
  std::optional<Tpe> tpe_;
  std::int64_t results_ = 0;
  std::deque<std::int64_t> begun_;  // proposals of the journal to make again: results known to each
  std::deque<Result> later_;        // that came after the first of them had begun
};

}  // namespace assay::automl
