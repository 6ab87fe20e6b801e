#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/resources.h"

namespace assay::judge {

namespace {

using telemetry::Column;

// An idle device has a low clock for other reasons.
constexpr double kWorking = 0.05;
// The precision of power meters and of the driver's control.
constexpr double kNearLimit = 0.97;

/// Seconds over all devices, and the observations in them.
struct ClockTimes {
  double known_s = 0;     ///< with known state of the limit
  double at_limit_s = 0;  ///< of these, at the limit
  double clocked_s = 0;   ///< with known clock and highest clock
  double ratio_s = 0;     ///< clock / highest clock, times seconds
  double clock_s = 0;     ///< MHz, times seconds
  double lost_s = 0;      ///< the shortfall from the highest clock while at the limit
  double lowest_limit_w = 1e300;
  double highest_limit_w = 0;
  double highest_clock = 0;
  bool by_driver = false;  ///< the driver reports when the limit slows the device
};

// By the driver's report if there is one, else by power near the limit; nothing if unknown.
std::optional<bool> at_limit(const telemetry::Row& row, ClockTimes& times) {
  const double capped = row[Column::power_capped];
  if (std::isfinite(capped)) {
    times.by_driver = true;
    return capped >= 0.5;
  }
  const double power = row[Column::power_w];
  const double limit = row[Column::power_limit_w];
  if (!std::isfinite(power) || !std::isfinite(limit) || limit <= 0) return std::nullopt;
  return power >= kNearLimit * limit;
}

bool works(const SourceRows& source, const Window& window) {
  double sum = 0;
  std::size_t count = 0;
  for (const stats::Sample& sample : source.column(Column::util)) {
    if (sample.t < window.start || sample.t > window.end) continue;
    sum += sample.value;
    ++count;
  }
  return count == 0 || sum >= kWorking * static_cast<double>(count);
}

// A sample holds until the next one, but not across a gap.
void add_times(const SourceRows& source, const Window& window, double interval, ClockTimes& times) {
  for (std::size_t i = 0; i < source.rows.size(); ++i) {
    const double next = i + 1 < source.t.size() ? source.t[i + 1] : source.t[i] + interval;
    const double held = std::min({next, source.t[i] + 2.5 * interval, window.end}) -
                        std::max(source.t[i], window.start);
    if (held <= 0) continue;
    const telemetry::Row& row = *source.rows[i];
    const std::optional<bool> limited = at_limit(row, times);
    if (limited) times.known_s += held;
    if (limited.value_or(false)) times.at_limit_s += held;
    if (const double limit = row[Column::power_limit_w]; limit > 0) {
      times.lowest_limit_w = std::min(times.lowest_limit_w, limit);
      times.highest_limit_w = std::max(times.highest_limit_w, limit);
    }
    const double clock = row[Column::clock_mhz];
    const double highest = row[Column::clock_max_mhz];
    if (!std::isfinite(clock) || !(highest > 0)) continue;
    const double ratio = clock / highest;
    times.clocked_s += held;
    times.ratio_s += ratio * held;
    times.clock_s += clock * held;
    times.highest_clock = std::max(times.highest_clock, highest);
    if (limited.value_or(false)) times.lost_s += std::max(0.0, 1 - ratio) * held;
  }
}

std::string limit_note(const ClockTimes& times) {
  std::string note = times.by_driver ? "by the driver's word" : "power within 3 % of the limit";
  if (times.highest_limit_w > 0)
    note += times.lowest_limit_w < times.highest_limit_w
                ? fmt::format("; limits of {} to {} W", format_number(times.lowest_limit_w),
                              format_number(times.highest_limit_w))
                : fmt::format("; limit {} W", format_number(times.highest_limit_w));
  return note + "; the device works as designed there";
}

}  // namespace

void compute_clocks(RoundContext& round, const Sources& sources) {
  const std::optional<Window>& window = round.steady ? round.steady : round.train;
  if (!window || window->length() <= 0) return;
  ClockTimes times;
  for (const auto& node : sources)
    for (const SourceRows& source : node)
      if (source.is_device() && works(source, *window))
        add_times(source, *window, round.evidence.telemetry_interval_s, times);
  if (times.known_s > 0)
    round.metrics.add("power_limit_share", times.at_limit_s / times.known_s, Origin::measured,
                      limit_note(times));
  if (times.clocked_s <= 0) return;
  round.metrics.add("clock_ratio", times.ratio_s / times.clocked_s, Origin::measured,
                    fmt::format("mean {:.0f} of {:.0f} MHz", times.clock_s / times.clocked_s,
                                times.highest_clock));
  if (times.known_s > 0)
    round.metrics.add("power_limit_loss", times.lost_s / times.clocked_s, Origin::estimated,
                      "what work bound by the clock alone loses; work that waits for memory or "
                      "data loses less");
}

}  // namespace assay::judge
