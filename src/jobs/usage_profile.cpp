#include "jobs/usage_profile.h"

#include <algorithm>

namespace assay::jobs {

void Profile::use(WallTime from_ns, WallTime to_ns, int amount) {
  if (to_ns <= now_ns_ || to_ns <= from_ns) return;
  if (from_ns <= now_ns_)
    used_now_ += amount;
  else
    step(from_ns, amount);
  if (to_ns != kNever) step(to_ns, -amount);
}

void Profile::step(WallTime at_ns, int change) {
  rises_ = rises_ || change > 0;
  const auto place = std::ranges::upper_bound(steps_, at_ns, {}, &Step::at_ns);
  steps_.insert(place, {at_ns, change});
}

int Profile::least_free(WallTime from_ns, WallTime to_ns) const {
  int used = used_now_;
  if (!rises_ && from_ns <= now_ns_) return capacity_ - used;
  std::size_t i = 0;
  for (; i < steps_.size() && steps_[i].at_ns <= from_ns; ++i) used += steps_[i].change;
  int most = used;
  while (i < steps_.size() && steps_[i].at_ns < to_ns) {
    const WallTime at_ns = steps_[i].at_ns;
    for (; i < steps_.size() && steps_[i].at_ns == at_ns; ++i) used += steps_[i].change;
    most = std::max(most, used);
  }
  return capacity_ - most;
}

}  // namespace assay::jobs
