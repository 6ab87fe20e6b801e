#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace assay::launch {

/// How many steps a second the ranks of nodes make, for onlookers: over the last half minute, or
/// over as much as there is. Pure.
class StepRates {
 public:
  /// Notes that `node` is at `step`, and gives its rate; nothing: not known yet. A step that goes
  /// back begins anew.
  [[nodiscard]] std::optional<double> rate(int node, std::int64_t step, std::int64_t mono_ns);

 private:
  struct Seen {
    std::int64_t mono_ns = 0;
    std::int64_t step = 0;
  };
  std::map<int, std::deque<Seen>> nodes_;  // where the step changed
};

}  // namespace assay::launch
