#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"

namespace assay::agent {

/// Where control groups (version 2) can be made by this process.
struct CgroupPlace {
  std::filesystem::path mount;   ///< "/sys/fs/cgroup"; empty: there is none
  std::filesystem::path folder;  ///< of this process, at or below the mount
  std::string problem;           ///< why no group can be made there; empty: it can
};

/// Looks at /proc/self, and tries by making a group and removing it.
[[nodiscard]] CgroupPlace cgroup_place();

/// A group of its own for the processes of a round. Whatever these do with their sessions, parents
/// and environments, they stay in it, so that what is left when the agent and its guardian were
/// both killed can still be found, by sweep_cgroups(). Its name says whose it is: the agent's pid
/// and start time in its pid namespace, the run and the round. Where no group can be made, nothing
/// happens: what guards the round otherwise (agent/guardian.h) does so alone.
class RoundCgroup {
 public:
  RoundCgroup(std::string_view round_id, const CgroupPlace& place);
  RoundCgroup(const RoundCgroup&) = delete;
  RoundCgroup& operator=(const RoundCgroup&) = delete;
  /// Removes it when nothing is left in it; a group with processes stays for a sweep.
  ~RoundCgroup();

  /// For SpawnOptions::cgroup; -1: there is none.
  [[nodiscard]] int procs() const noexcept { return procs_.get(); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  UniqueFd procs_;
};

/// Kills what is left in groups whose agent is gone, and in those of `round_id` whoever made them
/// (empty: of no round in particular), and removes them. Gives the number of processes that were
/// killed. Groups of other pid namespaces are left alone: whether their agents live cannot be told.
int sweep_cgroups(const CgroupPlace& place, std::string_view round_id = {});

}  // namespace assay::agent
