#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A way in which the ranks of a case learn about each other (docs/rendezvous.md). What its
/// variables say is in rendezvous/environment.cpp, whose table has the same names.
struct RendezvousFlavor {
  std::string_view name;
  /// Names of its variables that say a process where it is in its job, how it finds the others and
  /// which devices are its own, with blanks between; "DLWS_*" are all that begin so.
  std::string_view places;
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

/// Whether Assay itself says this to a process: a place of any flavor, whichever a case asks for,
/// or one of its own. Another value would send the process to another place, and the evidence with
/// it. Pure.
[[nodiscard]] bool is_place_variable(std::string_view name);

}  // namespace assay
