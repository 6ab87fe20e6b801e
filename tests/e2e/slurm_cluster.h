#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "e2e/harness.h"
#include "ports.h"

namespace assay::e2e {

/// What Slurm remembers of jobs that have ended.
enum class SlurmMemory {
  minutes,    ///< slurmctld's own, which is what a site without accounting has
  accounting  ///< a real slurmdbd with a MariaDB; slurmctld forgets jobs after two seconds
};

/// A real Slurm on this machine: munged, slurmctld and one slurmd per node, each with files and
/// ports of its own below `folder`. SLURM_CONF is set to it while the object lives. Needs root.
class SlurmCluster {
 public:
  /// Nodes are said to have so many processors, whatever this machine has.
  SlurmCluster(const fs::path& folder, int nodes, int processors = 2,
               SlurmMemory memory = SlurmMemory::minutes);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  /// Why there can be none (not root, not installed).
  [[nodiscard]] const std::string& missing() const { return missing_; }
  /// Why it does not start though it is installed. Empty: it runs.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// Daemons by name: "munged", "slurmctld", "n1" …
  void kill(const std::string& daemon);
  void restart(const std::string& daemon);
  void signal(const std::string& daemon, int number);
  /// Ids of jobs that are not finished.
  [[nodiscard]] static std::vector<std::string> jobs();

 private:
  void start(const std::string& name, std::vector<std::string> argv);
  void start_accounting();

  fs::path folder_;
  testing::ReservedPorts ports_;
  std::optional<testing::ReservedPorts> accounting_ports_;  ///< MariaDB's, then slurmdbd's
  std::string missing_;
  std::string broken_;
  std::map<std::string, std::vector<std::string>> commands_;
  std::map<std::string, pid_t> daemons_;
};

/// Tests on a cluster of four nodes; checks that no allocation is left behind.
class SlurmTest : public AssayTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  SlurmCluster cluster_{folder_, 4};
};

}  // namespace assay::e2e
