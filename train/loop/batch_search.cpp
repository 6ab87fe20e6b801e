#include "train/loop/batch_search.h"

#include <algorithm>

#include <fmt/format.h>

namespace assay::train {

BatchChoice search_batch(const TryBatch& try_batch, const BatchLimits& limits,
                         const std::function<double()>& clock) {
  const double begin = clock();
  const auto fits = [&](const std::optional<BatchTrial>& trial) {
    return trial && trial->memory_share <= limits.memory_share;
  };
  const auto rate = [](std::int64_t rows, const BatchTrial& trial) {
    return static_cast<double>(rows) / std::max(trial.seconds, 1e-9);
  };
  std::int64_t rows =
      std::clamp<std::int64_t>(limits.first, 1, std::max<std::int64_t>(1, limits.most));
  std::optional<BatchTrial> best = try_batch(rows);
  const bool shrunk = !fits(best);
  while (!fits(best) && rows > 1) best = try_batch(rows /= 2);
  if (shrunk) return {rows, fmt::format("{} do not fit into the memory", 2 * rows)};
  for (;;) {
    const std::int64_t next = 2 * rows;
    if (next > limits.most) return {rows, fmt::format("the data have {} for a rank", limits.most)};
    if (clock() - begin > limits.seconds)
      return {rows, fmt::format("trials took {:.0f} s", limits.seconds)};
    const std::optional<BatchTrial> trial = try_batch(next);
    if (!fits(trial)) return {rows, fmt::format("{} do not fit into the memory", next)};
    const double gain = rate(next, *trial) / rate(rows, *best) - 1;
    if (gain < limits.gain) return {rows, fmt::format("{} are {:+.1f} % faster", next, 100 * gain)};
    rows = next;
    best = trial;
  }
}

}  // namespace assay::train
