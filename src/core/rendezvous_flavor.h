#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A way in which the ranks of a case learn about each other (docs/rendezvous.md). The values of
/// its variables come from rendezvous/environment.cpp, whose table has the same names.
struct RendezvousFlavor {
  std::string_view name;
  /// The variables that tell a process where it is in its job, how to find the others and which
  /// devices it has, separated by blanks; "DLWS_*" matches every name with that beginning.
  std::string_view places;
  bool hostfile = false;    ///< its ranks get a hostfile
  bool rank_table = false;  ///< and an HCCL rank table
  bool ib_config = false;   ///< and a hostfile of InfiniBand addresses
};

[[nodiscard]] std::span<const RendezvousFlavor> rendezvous_flavors() noexcept;
[[nodiscard]] std::vector<std::string> rendezvous_names();

/// Whether any of `flavors` has the property: any_flavor(case.rendezvous,
/// &RendezvousFlavor::hostfile).
[[nodiscard]] bool any_flavor(const std::vector<std::string>& flavors,
                              bool RendezvousFlavor::*property) noexcept;
/// The flavors that have the property: "mpi, horovod, dlws".
[[nodiscard]] std::string flavors_with(bool RendezvousFlavor::*property);

/// Whether Assay itself sets this variable for a process: one of Assay's own, or a place of any
/// flavor, whether or not the case asks for it. Any other value would send the process, and the
/// evidence with it, to another place. Pure.
[[nodiscard]] bool is_place_variable(std::string_view name);

}  // namespace assay
