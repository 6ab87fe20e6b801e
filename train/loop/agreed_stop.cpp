#include "train/loop/agreed_stop.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <signal.h>

#include "core/time.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

// A sum of three numbers takes some 0.2 ms, and on devices the time until they have nothing to do:
// seldom enough that no training sees it, often enough for any grace period.
constexpr std::int64_t kBetweenNs = 500'000'000;

}  // namespace

bool AgreedStop::wanted_after(std::int64_t step) {
  if (!together_) return workload::stop_signal() != 0;
  if (step >= next_) ask(step);
  return agreed_;
}

bool AgreedStop::wanted_at_end() {
  if (!together_) return workload::stop_signal() != 0;
  if (!agreed_) ask(next_);
  return agreed_;
}

void AgreedStop::ask(std::int64_t step) {
  const int own = workload::stop_signal();
  const bool term = own == SIGTERM;
  const std::int64_t since = asked_at_ < 0 ? 0 : mono_now_ns() - asked_ns_;
  std::vector<std::int64_t> sums{term ? 1 : 0, own != 0 && !term ? 1 : 0, since};
  sums = all_.sum(std::move(sums));
  agreed_ = sums[0] + sums[1] > 0;
  if (agreed_) workload::ask_to_stop(sums[0] > 0 ? SIGTERM : SIGINT);
  // All ranks compute the same from the same sums. Steps may become slower: by and by only.
  const std::int64_t steps = asked_at_ < 0 ? 1 : std::max<std::int64_t>(1, step - asked_at_);
  const std::int64_t each = std::max<std::int64_t>(1, sums[2] / all_.world_size() / steps);
  next_ = step + (asked_at_ < 0 ? 1 : std::clamp<std::int64_t>(kBetweenNs / each, 1, 2 * steps));
  asked_at_ = step;
  asked_ns_ = mono_now_ns();
}

}  // namespace assay::train
