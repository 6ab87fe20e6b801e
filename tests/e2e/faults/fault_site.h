#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "e2e/harness.h"

namespace assay::e2e {

/// Two nodes of one launcher, and the ways in which they fail. Nodes are numbered from 0, as in the
/// rounds on them.
class FaultSite {
 public:
  virtual ~FaultSite() = default;

  /// Why there can be none on this machine; empty: it is there.
  [[nodiscard]] virtual std::string missing() const { return {}; }
  /// "cluster:" of a suite.
  [[nodiscard]] virtual std::string cluster() const = 0;
  [[nodiscard]] virtual std::string host(int node) const = 0;
  /// Living processes of the node's agent: itself ("assay-agent") or its guardian.
  [[nodiscard]] virtual std::vector<pid_t> agents(int node, const std::string& half) const = 0;

  /// Nothing reaches the node or leaves it until restore_link(), and nobody is told.
  virtual void cut_link(int /*node*/) {}
  virtual void restore_link(int /*node*/) {}
  /// What the node runs from now on sees a wall clock that is off, when its programs are dynamic.
  virtual void set_clock_wrong(int /*node*/, int /*offset_s*/) {}
};

enum class Launcher { local, ssh, head, slurm, slurm_head };

/// The folder below which the agent of a node writes, when the site's files go to `folder` and the
/// results to folder/results. Known before the site is there: what is mounted later is not seen by
/// hosts, which have mounts of their own.
[[nodiscard]] fs::path disk_of(Launcher launcher, const fs::path& folder, int node);

/// Files go to `folder`. `head` is the site of ssh, and `slurm_head` that of slurm: what differs is
/// who starts the ranks.
[[nodiscard]] std::unique_ptr<FaultSite> make_site(Launcher launcher, const fs::path& folder);

}  // namespace assay::e2e
