#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"

namespace assay::agent {

/// Where this process can create control groups (version 2).
struct CgroupPlace {
  std::filesystem::path mount;   ///< "/sys/fs/cgroup"; empty if none
  std::filesystem::path folder;  ///< this process's, at or below the mount
  std::string problem;           ///< why no group can be created there; empty if one can
};

/// Reads /proc/self and tries by creating a group and removing it.
[[nodiscard]] CgroupPlace cgroup_place();

/// A control group for the processes of a round. They stay in it whatever they do with their
/// sessions, parents and environments, so sweep_cgroups() can find the rest even when the agent and
/// its guardian were both killed. Its name identifies the owner: the agent's pid and start time in
/// its pid namespace, the run and the round. Does nothing where no group can be created: the
/// round's other guard (agent/guardian.h) then works alone.
class RoundCgroup {
 public:
  RoundCgroup(std::string_view round_id, const CgroupPlace& place);
  RoundCgroup(const RoundCgroup&) = delete;
  RoundCgroup& operator=(const RoundCgroup&) = delete;
  /// Removes the group if it is empty; a group with processes stays for a sweep.
  ~RoundCgroup();

  /// For SpawnOptions::cgroup; -1 without a group.
  [[nodiscard]] int procs() const noexcept { return procs_.get(); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  UniqueFd procs_;
};

/// Kills the processes in groups whose agent is gone and in groups of `round_id` (empty: no
/// particular round), and removes these groups. Returns the number of processes killed. Leaves
/// other pid namespaces' groups alone: whether their agents live cannot be known.
int sweep_cgroups(const CgroupPlace& place, std::string_view round_id = {});

}  // namespace assay::agent
