#pragma once

#include <filesystem>
#include <memory>

#include "core/json_fields.h"

// What launch/ makes of the options, which it defines.
namespace assay::launch {
class Backend;
struct BackendContext;
class Launcher;
}  // namespace assay::launch

namespace assay::plan {

struct Cluster;
struct Plan;

/// What a launcher can do, as data: nothing outside the place that makes a launcher asks for its
/// name. Recorded in the plan.
struct LauncherTraits {
  bool starts_agents = true;   ///< false: a service starts what its jobs run
  bool one_machine = false;    ///< every node is this machine: ranks meet on the loopback
  bool one_clock = false;      ///< controller and ranks share CLOCK_MONOTONIC
  bool shares_files = false;   ///< agents write into the run directory; nothing is collected
  bool chooses_hosts = false;  ///< a scheduler does: the suite's hosts are stand-ins
  bool has_queue = false;      ///< a whole run can be left to it, as a batch job

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
