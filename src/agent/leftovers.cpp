#include "agent/leftovers.h"

#include <algorithm>
#include <utility>

namespace assay::agent {

namespace {

// How long a rank's helpers (data loaders, resource trackers) may take to follow it themselves.
constexpr std::int64_t kPatience = 500'000'000;
constexpr std::int64_t kGrace = 1'000'000'000;
constexpr std::int64_t kUnkillableAfter = 10'000'000'000;

}  // namespace

Leftovers::Action Leftovers::next(std::int64_t mono_ns, std::size_t left,
                                  std::optional<std::int64_t> kill_at_ns) {
  // A process that a rank's shell left gets the rest of the grace too: it may write a checkpoint.
  if (kill_at_ns && mono_ns < *kill_at_ns)
    return std::exchange(signalled_, true) ? Action::wait : Action::ask;
  const std::int64_t waited = mono_ns - std::max(since_ns_, kill_at_ns.value_or(since_ns_));
  if (waited > kUnkillableAfter) return Action::give_up;
  if (kill_at_ns) return Action::kill;
  if (waited < kPatience) return Action::wait;
  if (!std::exchange(signalled_, true)) noteworthy_ = static_cast<int>(left);
  return waited < kPatience + kGrace ? Action::terminate : Action::kill;
}

bool Leftovers::patient(std::int64_t mono_ns) const noexcept {
  return mono_ns - since_ns_ < kPatience;
}

}  // namespace assay::agent
