#include "engine/device_allocation.h"

#include <algorithm>

namespace assay::engine {

std::set<int> DeviceAllocation::used(const std::string& node) const {
  std::set<int> out;
  for (const auto& [execution, devices] : taken_)
    if (const auto found = devices.find(node); found != devices.end())
      out.insert(found->second.begin(), found->second.end());
  return out;
}

bool DeviceAllocation::can_ever_take(const jobs::Placement& placement) const {
  return std::ranges::all_of(placement, [this](const jobs::NodeShare& share) {
    const auto capacity = capacity_.find(share.node);
    return capacity != capacity_.end() && share.devices <= capacity->second;
  });
}

std::optional<DeviceAllocation::Devices> DeviceAllocation::take(const Execution& execution,
                                                                const jobs::Placement& placement) {
  Devices devices;
  for (const jobs::NodeShare& share : placement) {
    const auto capacity = capacity_.find(share.node);
    if (capacity == capacity_.end()) return std::nullopt;
    const std::set<int> others = used(share.node);
    std::vector<int>& own = devices[share.node];
    for (int i = 0; i < capacity->second && static_cast<int>(own.size()) < share.devices; ++i)
      if (!others.contains(i)) own.push_back(i);
    if (static_cast<int>(own.size()) < share.devices) return std::nullopt;
  }
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
