#include "launch/agents/host_pool.h"

#include <utility>

namespace assay::launch {

std::optional<int> HostPool::replace(int node, int needed) {
  std::string& out = hosts_.at(static_cast<std::size_t>(node));
  gone_.insert(out);
  for (std::size_t i = static_cast<std::size_t>(needed); i < hosts_.size(); ++i) {
    if (gone_.contains(hosts_[i])) continue;
    std::swap(out, hosts_[i]);
    return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace assay::launch
