#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/stamp.h"

namespace assay::judge {

/// A number found for an output metric, and its time.
struct OutputPoint {
  double value = 0;
  Stamp at{};                   ///< of the last PerfLog event before it
  std::int64_t step = kNoTime;  ///< given by the line, or by the last STEP_END
};

/// The numbers found for an output metric in one rank's log, in order and of any quantity: beyond
/// 2^22, only every second, fourth, … is kept for the median; everything else stays exact.
class OutputValues {
 public:
  OutputValues() = default;
  OutputValues(std::initializer_list<double> values);

  void add(const OutputPoint& point);
  void add(double value) { add(OutputPoint{value}); }
  /// Records a match that is not a number: `text` in that line of the log.
  void add_unreadable(std::uint64_t line, std::string_view text);

  /// `how` is first, last, min, max, mean, median or sum; returns nothing without a number.
  [[nodiscard]] std::optional<double> reduced(std::string_view how) const;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return last_step_; }  ///< or kNoTime
  /// All of them, or every 2^n-th.
  [[nodiscard]] const std::vector<double>& kept() const noexcept { return kept_; }
  /// Evenly thinned to at most kMaxPoints, for a curve.
  [[nodiscard]] const std::vector<OutputPoint>& points() const noexcept { return points_; }
  static constexpr std::size_t kMaxPoints = 1200;

  [[nodiscard]] std::uint64_t unreadable() const noexcept { return unreadable_; }
  [[nodiscard]] std::uint64_t first_unreadable_line() const noexcept {
    return first_unreadable_line_;
  }
  [[nodiscard]] const std::string& first_unreadable() const noexcept { return first_unreadable_; }

 private:
  std::uint64_t count_ = 0;
  double first_ = 0;
  double last_ = 0;
  double min_ = 0;
  double max_ = 0;
  double sum_ = 0;
  double lost_ = 0;  // rounding error of sum_
  std::int64_t last_step_ = kNoTime;
  std::vector<double> kept_;
  std::uint64_t kept_every_ = 1;
  std::vector<OutputPoint> points_;
  std::uint64_t points_every_ = 1;
  std::uint64_t unreadable_ = 0;
  std::uint64_t first_unreadable_line_ = 0;
  std::string first_unreadable_;
};

/// Reduces the numbers of several ranks, like OutputValues::reduced.
[[nodiscard]] std::optional<double> reduce(std::string_view how, const std::vector<double>& values);

}  // namespace assay::judge
