#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::plan {

/// A way in which the ranks of a case learn about each other (docs/rendezvous.md). The variables of
/// each are in rendezvous/environment.cpp, whose table has the same names.
struct RendezvousFlavor {
  std::string_view name;
  bool hostfile = false;    ///< its ranks get a hostfile
  bool rank_table = false;  ///< and HCCL's rank table
  bool ib_config = false;   ///< and a hostfile of InfiniBand addresses
};

[[nodiscard]] std::span<const RendezvousFlavor> rendezvous_flavors() noexcept;
[[nodiscard]] std::vector<std::string> rendezvous_names();

/// Whether one of `flavors` has the property: any_flavor(case.rendezvous,
/// &RendezvousFlavor::hostfile).
[[nodiscard]] bool any_flavor(const std::vector<std::string>& flavors,
                              bool RendezvousFlavor::*property) noexcept;
/// "mpi, horovod, dlws": those that have the property.
[[nodiscard]] std::string flavors_with(bool RendezvousFlavor::*property);

}  // namespace assay::plan
