#pragma once

#include <filesystem>
#include <memory>

#include "core/json_fields.h"

// Made from the options; defined in launch/.
namespace assay::launch {
class Backend;
struct BackendContext;
class Launcher;
}  // namespace assay::launch

namespace assay::plan {

struct Cluster;
struct Plan;

/// A launcher's abilities as data: outside the place that makes a launcher, nothing asks for its
/// name. Recorded in the plan.
struct LauncherTraits {
  bool starts_agents = true;   ///< false: a service starts whatever its jobs run
  bool one_machine = false;    ///< every node is this machine; ranks meet on the loopback
  bool one_clock = false;      ///< controller and ranks share CLOCK_MONOTONIC
  bool shares_files = false;   ///< agents write into the run directory, so nothing is collected
  bool chooses_hosts = false;  ///< a scheduler does, and the suite's hosts are stand-ins
  bool has_queue = false;      ///< it can run a whole run as a batch job

  bool operator==(const LauncherTraits&) const = default;

  static void fields(auto& self, auto&& field) {
    field("starts_agents", self.starts_agents);
    field("one_machine", self.one_machine);
    field("one_clock", self.one_clock);
    field("shares_files", self.shares_files);
    field("chooses_hosts", self.chooses_hosts);
    field("has_queue", self.has_queue);
  }
};

}  // namespace assay::plan
