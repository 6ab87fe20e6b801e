#pragma once

#include <algorithm>
#include <limits>

namespace assay::automl {

/// How long workers may take, by what earlier epochs took. Seconds.
class Pace {
 public:
  /// `longest`: without a batch, however long epochs are.
  explicit Pace(double longest) : longest_(longest) {}

  /// An epoch of a model of so many operations a sample; all epochs have the same samples.
  void tell(double seconds, double operations) {
    epoch_s_ = std::max(epoch_s_, seconds);
    if (operations > 0) rate_ = std::max(rate_, seconds / operations);
  }

  /// Without a batch: ten times the longest epoch so far, but at least kLeast, and never more than
  /// `longest`.
  [[nodiscard]] double without_batch() const {
    return epoch_s_ > 0 ? std::min(longest_, std::max(kLeast, kFactor * epoch_s_)) : longest_;
  }
  /// Without an epoch, of a model of so many operations a sample: ten times what the slowest epoch
  /// so far would take with them, but at least `longest`; infinity before the first.
  [[nodiscard]] double without_epoch(double operations) const {
    return rate_ > 0 ? std::max(longest_, kFactor * rate_ * operations)
                     : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr double kFactor = 10;  // a machine may be loaded, and models differ
  static constexpr double kLeast = 120;  // data and device of a worker that has just come
  double longest_;
  double epoch_s_ = 0;
  double rate_ = 0;  // of the slowest epoch
};

}  // namespace assay::automl
