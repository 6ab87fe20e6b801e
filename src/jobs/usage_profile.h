#pragma once

#include <limits>
#include <vector>

#include "jobs/job_state.h"

namespace assay::jobs {

inline constexpr WallTime kNever = std::numeric_limits<WallTime>::max();

/// How much of one resource (a node's devices, a quota) is used from now on, as a function of time.
class Profile {
 public:
  Profile(int capacity, WallTime now_ns) : capacity_(capacity), now_ns_(now_ns) {}

  [[nodiscard]] int capacity() const noexcept { return capacity_; }
  [[nodiscard]] int used_now() const noexcept { return used_now_; }
  [[nodiscard]] int free_now() const noexcept { return capacity_ - used_now_; }

  /// `amount` more is used in [from, to); less where it is negative. What is past is left out.
  void use(WallTime from_ns, WallTime to_ns, int amount);

  /// The least that is free in [from, to).
  [[nodiscard]] int least_free(WallTime from_ns, WallTime to_ns) const;

  /// Calls put(first, last) for every span of moments from which on `amount` is free for
  /// `length_ns`, both included, in order; the last one ends at kNever unless there is none.
  template <class Put>
  void starts(int amount, std::int64_t length_ns, Put put) const {
    WallTime free_since = now_ns_;
    bool is_free = capacity_ - used_now_ >= amount;
    int used = used_now_;
    const auto close = [&](WallTime end_ns) {
      if (!is_free) return;
      if (end_ns == kNever)
        put(free_since, kNever);
      else if (end_ns - free_since >= length_ns)
        put(free_since, end_ns - length_ns);
    };
    for (std::size_t i = 0; i < steps_.size();) {
      const WallTime at_ns = steps_[i].at_ns;
      for (; i < steps_.size() && steps_[i].at_ns == at_ns; ++i) used += steps_[i].change;
      const bool free_then = capacity_ - used >= amount;
      if (free_then == is_free) continue;
      close(at_ns);
      is_free = free_then;
      free_since = at_ns;
    }
    close(kNever);
  }

 private:
  struct Step {
    WallTime at_ns;
    int change;
  };
  void step(WallTime at_ns, int change);

  int capacity_;
  WallTime now_ns_;
  int used_now_ = 0;
  bool rises_ = false;       // something begins in future; else now is when least is free
  std::vector<Step> steps_;  // by time, all after now
};

}  // namespace assay::jobs
