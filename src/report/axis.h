#pragma once

#include <string>
#include <vector>

namespace assay::report {

/// An axis that begins and ends at ticks with round numbers.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;

  /// Maps `low` to 0 and `high` to 1; clamps values outside.
  [[nodiscard]] double at(double value) const;
};

/// An axis over low..high with about `wanted` steps of 1, 2 or 5 times a power of ten. Equal or
/// non-finite ends give an axis around the value.
[[nodiscard]] Axis nice_axis(double low, double high, int wanted);

/// An axis from 0 to exactly `end` seconds, with steps that suit a clock (1, 2, 5, 10, 15, 30 s, 1,
/// 2, 5 min …).
[[nodiscard]] Axis time_axis(double end, int wanted);

/// A tick's text, with only the decimals that the step between ticks needs.
[[nodiscard]] std::string tick_text(double value, const Axis& axis);

/// A time axis's tick: "0", "30 s", "2:30 min", "1:05 h".
[[nodiscard]] std::string time_text(double seconds, const Axis& axis);

}  // namespace assay::report
