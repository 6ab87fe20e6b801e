#include "launch/step_rates.h"

namespace assay::launch {

namespace {

constexpr std::int64_t kWindow = 30'000'000'000;

}  // namespace

std::optional<double> StepRates::rate(int node, std::int64_t step, std::int64_t mono_ns) {
  std::deque<Seen>& seen = nodes_[node];
  if (!seen.empty() && step < seen.back().step) seen.clear();
  if (seen.empty() || step > seen.back().step) seen.push_back({mono_ns, step});
  while (seen.size() > 2 && mono_ns - seen[1].mono_ns > kWindow) seen.pop_front();
  if (seen.size() < 2) return std::nullopt;
  // Since the last step counts, too, when it is longer than steps take: a rank that hangs slows.
  const double steps = static_cast<double>(seen.back().step - seen.front().step);
  const double until_last = static_cast<double>(seen.back().mono_ns - seen.front().mono_ns) * 1e-9;
  const double since_last = static_cast<double>(mono_ns - seen.back().mono_ns) * 1e-9;
  const double span = until_last + (since_last > 2 * until_last / steps ? since_last : 0);
  return span > 0 ? std::optional(steps / span) : std::nullopt;
}

}  // namespace assay::launch
