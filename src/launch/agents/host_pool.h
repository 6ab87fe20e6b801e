#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay::launch {

/// Which host is which node: a case takes the first nodes, and hosts further down the list step in
/// for those that cannot be had. Pure.
class HostPool {
 public:
  explicit HostPool(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {}

  /// In node order; those behind the nodes that are used are spare.
  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }

  /// Everybody may be asked again.
  void begin() { gone_.clear(); }
  /// The host of `node` cannot be had: another one that is not among the first `needed` takes its
  /// place, and it takes that one's. Gives where the other one came from; nothing: nobody is left.
  [[nodiscard]] std::optional<int> replace(int node, int needed);

 private:
  std::vector<std::string> hosts_;
  std::set<std::string> gone_;
};

}  // namespace assay::launch
