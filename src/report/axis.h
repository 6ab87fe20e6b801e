#pragma once

#include <string>
#include <vector>

namespace assay::report {

/// An axis whose ends are ticks at round numbers.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;

  /// 0 at `low`, 1 at `high`; values outside are clamped.
  [[nodiscard]] double at(double value) const;
};

/// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them, covering low..high. Equal or
/// non-finite ends give an axis around the value.
[[nodiscard]] Axis nice_axis(double low, double high, int wanted);

/// Seconds from 0 to exactly `end`; ticks at steps that read well on a clock (1, 2, 5, 10, 15, 30
/// s, 1, 2, 5 min …).
[[nodiscard]] Axis time_axis(double end, int wanted);

/// A tick as text, with just the decimals that the step between ticks needs.
[[nodiscard]] std::string tick_text(double value, const Axis& axis);

/// "0", "30 s", "2:30 min", "1:05 h": a tick of a time axis.
[[nodiscard]] std::string time_text(double seconds, const Axis& axis);

}  // namespace assay::report
