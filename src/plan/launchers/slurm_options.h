#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "config/node.h"
#include "plan/launchers/launcher_traits.h"

namespace assay::plan {

struct CasePlan;

/// Values for the options of the same name of salloc and sbatch; empty: not given.
struct SlurmRequest {
  std::string partition, account, qos, reservation, constraint, nodelist, exclude, gres, time;

  bool operator==(const SlurmRequest&) const = default;
  /// Calls `f(name, text)` for each of these.
  template <class Self, class F>
  static void each_plain(Self& self, F&& f) {
    f("partition", self.partition);
    f("account", self.account);
    f("qos", self.qos);
    f("reservation", self.reservation);
    f("constraint", self.constraint);
    f("nodelist", self.nodelist);
    f("exclude", self.exclude);
    f("gres", self.gres);
    f("time", self.time);
  }
};

/// A component of a heterogeneous job: a number of nodes of one kind.
struct SlurmComponent : SlurmRequest {
  int nodes = 1;
  std::vector<std::string> extra{};

  bool operator==(const SlurmComponent&) const = default;
  static void fields(auto& self, auto&& field) {
    field("nodes", self.nodes);
    each_plain(self, [&](const char* key, auto& text) { field.optional(key, text); });
    field.optional("extra", self.extra);
  }
};

/// `cluster.slurm` of a suite. Every argument for Slurm's command lines has been checked.
struct SlurmOptions : SlurmRequest {
  static constexpr const char* kName = "slurm";
  static constexpr const char* kDescription =
      "nodes that Slurm allocates, or has allocated; one srun carries all agents";

  bool exclusive = true;           ///< a benchmark on shared nodes measures its neighbors
  bool shared = true;              ///< the nodes see the run directory and the programs
  std::vector<std::string> extra;  ///< further arguments for salloc and sbatch
  /// The components of a heterogeneous job, whose nodes form the run in this order; each inherits
  /// what it leaves unset. Empty: an ordinary job.
  std::vector<SlurmComponent> components{};
  /// Connects ranks that srun itself starts: "pmix", "pmi2" …; empty: agents start them.
  std::string mpi;
  std::vector<std::string> step;  ///< further arguments for the srun that starts ranks
  Nanoseconds wait = std::chrono::minutes(10);  ///< how long the job may stay pending

  [[nodiscard]] static const std::vector<std::string>& keys();
  [[nodiscard]] static SlurmOptions read(const config::Node& node);
  /// The agents' step has one task per node, which mpirun would trust over its hostfile.
  [[nodiscard]] std::map<std::string, std::string> node_variables(const CasePlan& plan) const;
  [[nodiscard]] LauncherTraits traits() const {
    return {.shares_files = shared, .chooses_hosts = true, .has_queue = true};
  }
  [[nodiscard]] std::unique_ptr<launch::Launcher> make_launcher(
      const Cluster& cluster, const std::filesystem::path& bindir) const;
  /// With `mpi`, makes srun start a case's ranks, in a command on the first node.
  void adapt(const config::Node& node, CasePlan& plan) const;
  bool operator==(const SlurmOptions&) const = default;

  static void fields(auto& self, auto&& field) {
    each_plain(self, [&](const char* key, auto& text) { field.optional(key, text); });
    field.optional("exclusive", self.exclusive);
    field.optional("shared", self.shared);
    field.optional("extra", self.extra);
    field.optional("components", self.components);
    field.optional("mpi", self.mpi);
    field.optional("step", self.step);
    field.optional("wait_ns", self.wait);
  }
};

}  // namespace assay::plan
