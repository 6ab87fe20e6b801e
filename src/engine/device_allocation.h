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

  /// Whether its nodes are known and have so many devices at all, free or not.
  [[nodiscard]] bool can_ever_take(const jobs::Placement& placement) const;
  /// Of each of its nodes the lowest ones that are free. Nothing where one has not enough of them,
  /// or is not known; then nothing is taken.
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
