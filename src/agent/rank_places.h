#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <sys/types.h>

#include "core/cpu_set.h"

namespace assay::agent {

/// Records where the threads of bound ranks run by looking every few seconds, less often where a
/// look takes long.
class RankPlaces {
 public:
  /// Looks at everything below the processes in `ranks` (rank → process). Does nothing if the last
  /// look was only a moment ago.
  void look(std::int64_t mono_ns, const std::map<int, pid_t>& ranks);
  /// The CPUs on which a thread of the rank was seen; empty when nobody looked.
  [[nodiscard]] CpuSet seen(int rank) const;

 private:
  std::map<int, CpuSet> seen_;
  std::int64_t next_ns_ = 0;
};

/// The CPUs on which a process's threads last ran.
[[nodiscard]] CpuSet last_cpus(pid_t pid);

}  // namespace assay::agent
