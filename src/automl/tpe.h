#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "automl/seeded_random.h"
#include "automl/space.h"

namespace assay::automl {

struct TpeOptions {
  std::uint64_t seed = 1;
  int startup = 10;          ///< random points before the first informed one
  int candidates = 24;       ///< drawn from the good points' density per parameter
  double good_share = 0.15;  ///< of the points that count as good, at most 25
};

/// The tree-structured Parzen estimator (Bergstra et al. 2011) for hyper-parameters. Points are
/// split into the best and the rest. For each parameter, candidates are drawn from the density of
/// the best, and the one with the largest ratio of the best's density to the rest's wins.
/// Conditions are honored because a parameter is estimated from the points in which it exists.
/// Smaller values are better.
///
/// Deterministic for a seed and a sequence of calls, also across save and restore. One thread at a
/// time.
class Tpe {
 public:
  struct Trial {
    Point point;
    std::optional<double> value;  ///< nothing while it is under way, and when it failed
    bool failed = false;          ///< counts among the rest
  };

  Tpe(Space space, TpeOptions options);

  struct Proposal {
    std::int64_t id = 0;
    Point point;
  };
  [[nodiscard]] Proposal propose();
  /// A trial with a point of the caller's own, such as the defaults. Throws Error of kind config
  /// when the point is not one of the space.
  Proposal enqueue(Point point);
  /// Throws Error of kind round_failed for a value that is not finite, of kind internal for a trial
  /// that does not exist or has a result.
  void tell(std::int64_t id, double value);
  void tell_failed(std::int64_t id);

  [[nodiscard]] const Space& space() const noexcept { return space_; }
  [[nodiscard]] const std::vector<Trial>& trials() const noexcept { return trials_; }
  [[nodiscard]] std::optional<std::int64_t> best() const;

  [[nodiscard]] Json save() const;
  /// Throws Error of kind config at `where`.
  [[nodiscard]] static Tpe restore(Space space, TpeOptions options, const Json& json,
                                   const std::string& where);

 private:
  struct Split {
    std::vector<std::size_t> good;
    std::vector<std::size_t> rest;
  };
  [[nodiscard]] Split split() const;
  [[nodiscard]] double draw(const Parameter& parameter, Random& random) const;
  [[nodiscard]] double pick(const Parameter& parameter, const Split& split, Random& random) const;
  Trial& pending(std::int64_t id);

  Space space_;
  TpeOptions options_;
  std::vector<Trial> trials_;
};

}  // namespace assay::automl
