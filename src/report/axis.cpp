#include "report/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"

namespace assay::report {

namespace {

double nice_step(double raw) {
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

double Axis::at(double value) const {
  if (!(high > low) || !std::isfinite(value)) return 0;
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

Axis nice_axis(double low, double high, int wanted) {
  if (!std::isfinite(low) || !std::isfinite(high)) {
    low = 0;
    high = 1;
  }
  if (low > high) std::swap(low, high);
  if (high - low < std::max(std::abs(low), std::abs(high)) * 1e-9 || high == low) {
    const double room = high == 0 ? 1 : std::abs(high) * 0.5;
    low -= low == 0 ? 0 : room;
    high += room;
  }
  const double step = nice_step((high - low) / std::max(1, wanted));
  Axis axis;
  axis.low = std::floor(low / step + 1e-9) * step;
  axis.high = std::ceil(high / step - 1e-9) * step;
  if (!(step > 0) || !std::isfinite(axis.low) || !std::isfinite(axis.high)) return {0, 1, {0, 1}};
  const auto count = static_cast<int>(std::llround((axis.high - axis.low) / step));
  for (int i = 0; i <= count && i < 64; ++i) {
    const double tick = axis.low + i * step;
    axis.ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  }
  return axis;
}

Axis time_axis(double end, int wanted) {
  static constexpr std::array<double, 17> kSteps{
      1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200};
  if (!std::isfinite(end) || end <= 0) end = 1;
  const double raw = end / std::max(1, wanted);
  double step = 0;
  if (raw < 1) {
    step = nice_step(raw);
  } else {
    for (const double candidate : kSteps) {
      step = candidate;
      if (candidate >= raw) break;
    }
    if (step < raw) step = std::ceil(raw / 86400) * 86400;
  }
  Axis axis{0, end, {}};
  for (int i = 0; i * step <= end * (1 + 1e-9) && i < 64; ++i) axis.ticks.push_back(i * step);
  return axis;
}

std::string tick_text(double value, const Axis& axis) {
  if (axis.ticks.size() < 2) return format_number(value);
  const double step = axis.ticks[1] - axis.ticks[0];
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  if (largest >= 1e9 || step < 1e-4) return value == 0 ? "0" : fmt::format("{:.3g}", value);
  if (step >= 1) {
    std::string digits = fmt::format("{:.0f}", std::abs(value));
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(static_cast<std::size_t>(at), ",");
    return value < 0 ? "-" + digits : digits;
  }
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return value == 0 ? "0" : fmt::format("{:.{}f}", value, decimals);
}

std::string time_text(double seconds, const Axis& axis) {
  if (seconds == 0) return "0";
  const double step = axis.ticks.size() < 2 ? seconds : axis.ticks[1] - axis.ticks[0];
  if (step < 1) {
    if (axis.high < 1) return format_number(seconds * 1000) + " ms";
    const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
    return fmt::format("{:.{}f} s", seconds, decimals);
  }
  const auto whole = std::llround(seconds);
  if (axis.high < 120) return fmt::format("{} s", whole);
  if (axis.high < 7200) {
    if (std::llround(step) % 60 == 0) return fmt::format("{} min", whole / 60);
    return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  }
  if (std::llround(step) % 3600 == 0) return fmt::format("{} h", whole / 3600);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

}  // namespace assay::report
