#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/cpu_set.h"

namespace assay::agent {

/// A CPU's position in its machine.
struct CpuPlace {
  int cpu = 0;
  int core = 0;  ///< the lowest CPU of the same core
  int numa = 0;
};

/// The places of the `usable` CPUs according to sysfs below `root`, sorted by NUMA node, then by
/// core. A CPU that sysfs does not describe is a core of its own on NUMA node 0.
[[nodiscard]] std::vector<CpuPlace> cpu_places(const CpuSet& usable,
                                               const std::filesystem::path& root = "/");

/// The CPUs and memory that a rank is bound to.
struct RankBinding {
  CpuSet cpus;
  std::optional<int> memory{};  ///< the NUMA node preferred for its memory
};

/// The bindings of a node's ranks, by local rank; empty for BindMode::none. Ranks share CPUs when
/// there are fewer CPUs than ranks. Throws Error of kind environment for a list that has CPUs not
/// among `places`, or fewer entries than ranks. Pure.
[[nodiscard]] std::vector<RankBinding> bind_ranks(const Bind& bind,
                                                  const std::vector<CpuPlace>& places,
                                                  std::size_t ranks);

/// Binds this thread, and whatever it starts, while it lives; then restores the previous CPUs and
/// memory policy.
class BoundHere {
 public:
  /// Throws Error of kind environment when the kernel refuses the CPUs. A refused memory policy, as
  /// in many containers, is not an error.
  explicit BoundHere(const RankBinding& binding);
  ~BoundHere();
  BoundHere(const BoundHere&) = delete;
  BoundHere& operator=(const BoundHere&) = delete;

 private:
  CpuSet before_;
  bool memory_ = false;
};

}  // namespace assay::agent
