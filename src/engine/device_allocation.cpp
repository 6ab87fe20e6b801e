#include "engine/device_allocation.h"

#include <algorithm>
#include <limits>

namespace assay::engine {

std::set<int> DeviceAllocation::used(const std::string& node) const {
  std::set<int> out;
  for (const auto& [execution, devices] : taken_)
    if (const auto found = devices.find(node); found != devices.end())
      out.insert(found->second.begin(), found->second.end());
  return out;
}

std::optional<DeviceAllocation::Devices> DeviceAllocation::take(const Execution& execution,
                                                                const jobs::Placement& placement) {
  std::set<int> taken;
  int most = 0;
  int capacity = std::numeric_limits<int>::max();
  for (const jobs::NodeShare& share : placement) {
    const auto found = capacity_.find(share.node);
    if (found == capacity_.end()) return std::nullopt;
    capacity = std::min(capacity, found->second);
    most = std::max(most, share.devices);
    taken.merge(used(share.node));
  }
  std::vector<int> free;
  for (int i = 0; i < capacity && static_cast<int>(free.size()) < most; ++i)
    if (!taken.contains(i)) free.push_back(i);
  if (static_cast<int>(free.size()) < most) return std::nullopt;
  Devices devices;
  for (const jobs::NodeShare& share : placement)
    devices[share.node].assign(free.begin(), free.begin() + share.devices);
  taken_[execution] = devices;
  return devices;
}

void DeviceAllocation::restore(const Execution& execution, const Devices& devices) {
  taken_[execution] = devices;
}

void DeviceAllocation::release(const Execution& execution) {
  taken_.erase(execution);
}

DeviceAllocation::Devices DeviceAllocation::of(const Execution& execution) const {
  const auto found = taken_.find(execution);
  return found == taken_.end() ? Devices{} : found->second;
}

}  // namespace assay::engine
