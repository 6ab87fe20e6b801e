#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace assay::engine {

/// Which devices of which node belong to which execution. No device belongs to two. Not
/// thread-safe.
class DeviceAllocation {
 public:
  using Devices = std::map<std::string, std::vector<int>>;  ///< by node, ascending

  /// `devices` by node.
  explicit DeviceAllocation(std::map<std::string, int> devices) : capacity_(std::move(devices)) {}

  /// The lowest ones that are free on all of its nodes: ranks are told by one variable, which is
  /// the same everywhere. Nothing where there are not enough of them, or a node is not known; then
  /// nothing is taken.
  [[nodiscard]] std::optional<Devices> take(const Execution& execution,
                                            const jobs::Placement& placement);
  /// What an execution has from before a restart.
  void restore(const Execution& execution, const Devices& devices);
  void release(const Execution& execution);
  [[nodiscard]] Devices of(const Execution& execution) const;

 private:
  [[nodiscard]] std::set<int> used(const std::string& node) const;

  std::map<std::string, int> capacity_;
  std::map<Execution, Devices> taken_;
};

}  // namespace assay::engine
