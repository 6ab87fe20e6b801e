#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <sys/types.h>

#include "core/cpu_set.h"

namespace assay::agent {

/// Where the threads of bound ranks ran, by looking at them every few seconds, and less often where
/// a look takes long.
class RankPlaces {
 public:
  /// Looks at everything below these processes: rank → its process. Does nothing when the last look
  /// was a moment ago.
  void look(std::int64_t mono_ns, const std::map<int, pid_t>& ranks);
  /// The CPUs on which a thread of the rank was seen; empty: it was never looked at.
  [[nodiscard]] CpuSet seen(int rank) const;

 private:
  std::map<int, CpuSet> seen_;
  std::int64_t next_ns_ = 0;
};

/// The CPUs on which the threads of a process ran last.
[[nodiscard]] CpuSet last_cpus(pid_t pid);

}  // namespace assay::agent
