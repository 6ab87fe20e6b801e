#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "automl/cholesky.h"
#include "automl/descriptor.h"
#include "core/json.h"

namespace assay::automl {

/// What the process expects of an architecture, in units of the measured values.
struct Prediction {
  double mean = 0;
  double deviation = 0;  ///< of the function itself, without the noise of a measurement
};

/// A Gaussian process over architectures. An architecture is seen as its edit distances to up to
/// `kLandmarks` architectures of the history, and the covariance is Matérn 5/2 of those vectors,
/// which is positive definite for any set of them; one kernel serves fit and prediction,
/// and the noise stands on the whole diagonal (docs/automl.md).
///
/// Up to `kExactPoints` points a prediction is conditioned on all of them, by one factor that grows
/// with them. With more it is conditioned on the `kNeighbors` that are nearest to it, whichever of
/// all points they are: memory stays linear in the history (docs/automl.md has the error).
///
/// Every distinct descriptor that was ever added stays, measured or not: what is under way counts
/// with the median of what was measured, what failed with the worst. The covariance does not depend
/// on values, so that a result that arrives changes no row of the factor.
///
/// Larger values are better. One thread at a time, predictions included (they refit when it is
/// due).
class GaussianProcess {
 public:
  static constexpr std::size_t kLandmarks = 32;
  /// Landmarks and hyper-parameters are chosen anew each time that the points have grown by half,
  /// up to this many; from then on rows are only appended.
  static constexpr std::size_t kLastRefit = 1024;
  /// Hyper-parameters are fitted to at most this many points, evenly spread over the history.
  static constexpr std::size_t kFitSample = 200;
  static constexpr std::size_t kExactPoints = 2048;
  static constexpr std::size_t kNeighbors = 256;

  enum class Status : std::uint8_t { pending, measured, failed };

  GaussianProcess() = default;
  /// Sets another limit than kExactPoints.
  explicit GaussianProcess(std::size_t exact) : exact_(exact) {}

  /// The point of this descriptor: a new one, pending, or the one that is already there.
  std::size_t add(const Descriptor& descriptor);
  [[nodiscard]] std::optional<std::size_t> find(const Descriptor& descriptor) const;
  /// A finite measurement; several of one point are averaged.
  void measure(std::size_t point, double value);
  /// Counts as the worst until a measurement arrives.
  void fail(std::size_t point);

  /// Predictions for all `descriptors`, in batches. Without any measurement: mean 0, deviation 1.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const Descriptor* const> descriptors);

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] std::size_t measured() const noexcept { return measured_; }
  [[nodiscard]] Status status(std::size_t point) const { return points_[point].status; }
  /// The mean of the point's measurements, or what stands in for it.
  [[nodiscard]] double value(std::size_t point) const;
  [[nodiscard]] double best() const;  ///< the largest measured value; needs one

  /// What a fit has found; with it, the process that is restored predicts the same.
  [[nodiscard]] Json save() const;
  /// After the same points were added in the same order. Throws Error of kind config at `where`.
  void restore(const Json& json, const std::string& where);

 private:
  struct Point {
    Descriptor descriptor;
    double sum = 0;
    int count = 0;
    Status status = Status::pending;
  };

  void refresh();
  void refit();
  void choose_landmarks();
  void fit_hyperparameters();
  void rebuild();
  void append_rows();
  void update_values();
  struct Neighborhood;
  void predict_from_all(std::span<const Descriptor* const> descriptors,
                        std::span<Prediction> result) const;
  [[nodiscard]] Prediction predict_from_nearest(const Descriptor& descriptor,
                                                Neighborhood& memory) const;
  void embed(const Descriptor& descriptor, std::span<double> features) const;
  [[nodiscard]] double covariance(const double* a, const double* b) const noexcept;

  std::vector<Point> points_;
  std::unordered_map<std::uint64_t, std::size_t> by_hash_;
  std::size_t measured_ = 0;

  std::vector<std::size_t> landmark_points_;
  std::vector<double> features_;  // one row of landmark_points_.size() per point
  double length_ = 1;
  double noise_ = 1e-2;  // relative to the signal's variance
  std::size_t next_refit_ = 2;
  std::size_t exact_ = kExactPoints;
  Cholesky factor_;  // of the first exact_ points

  bool values_changed_ = true;
  std::vector<double> weights_;  // A⁻¹ (y - mean), of the points in the factor
  double mean_ = 0;
  double variance_ = 1;
  double pending_value_ = 0;
  double failed_value_ = 0;
};

}  // namespace assay::automl
