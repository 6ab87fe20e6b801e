#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace assay::rendezvous {

enum class HostfileForm {
  openmpi,  ///< "host slots=n"
  mpich,    ///< "host:n", for MPICH and Intel MPI
  horovod,  ///< as openmpi, but only what horovodrun takes: no blank line, comment or IPv6
  ib,       ///< as horovod, with the hosts' InfiniBand names: ib_config
};

constexpr auto enum_names(HostfileForm /*value*/) {
  using enum HostfileForm;
  return std::to_array<EnumName<HostfileForm>>(
      {{openmpi, "openmpi"}, {mpich, "mpich"}, {horovod, "horovod"}, {ib, "ib"}});
}

/// One line of a hostfile.
struct HostSlots {
  std::string host;
  int slots = 0;  ///< processes; 0 if the file has no number

  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// One line per host, in order. Throws Error of kind config for a name that the form cannot
/// express, a host listed twice, or one without slots.
[[nodiscard]] std::string render_hostfile(const std::vector<HostSlots>& hosts, HostfileForm form);

/// Parses a hostfile. Without a form, each line may be "host slots=n", "host:n" or just "host";
/// blank lines and comments are ignored. With a form, the file must be valid for that form's
/// programs. Throws Error of kind config at "where:line".
[[nodiscard]] std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& where,
                                                    std::optional<HostfileForm> form = {});

}  // namespace assay::rendezvous
