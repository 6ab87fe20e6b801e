#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/cpu_set.h"

namespace assay::agent {

/// Where a CPU lies in its machine.
struct CpuPlace {
  int cpu = 0;
  int core = 0;  ///< the lowest CPU of the same core
  int numa = 0;
};

/// The places of `usable` CPUs, as sysfs below `root` tells them; what it does not tell is a core
/// of its own on NUMA node 0. By NUMA node, then by core.
[[nodiscard]] std::vector<CpuPlace> cpu_places(const CpuSet& usable,
                                               const std::filesystem::path& root = "/");

/// What one rank is bound to.
struct RankBinding {
  CpuSet cpus;
  std::optional<int> memory{};  ///< the NUMA node that its memory is taken from first
};

/// Pure: the bindings of a node's ranks, by local rank; empty for BindMode::none. Ranks share CPUs
/// where there are fewer than ranks. Throws Error of kind environment for a list with CPUs that are
/// not among `places`, or with fewer entries than ranks.
[[nodiscard]] std::vector<RankBinding> bind_ranks(const Bind& bind,
                                                  const std::vector<CpuPlace>& places,
                                                  std::size_t ranks);

/// While it lives, this thread is bound, and so is whatever it starts. CPUs and memory are as
/// before afterwards.
class BoundHere {
 public:
  /// Throws Error of kind environment when the kernel refuses the CPUs. That it refuses a memory
  /// policy, as in many containers, is no error.
  explicit BoundHere(const RankBinding& binding);
  ~BoundHere();
  BoundHere(const BoundHere&) = delete;
  BoundHere& operator=(const BoundHere&) = delete;

 private:
  CpuSet before_;
  bool memory_ = false;
};

}  // namespace assay::agent
