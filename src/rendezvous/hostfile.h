#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace assay::rendezvous {

enum class HostfileForm {
  openmpi,  ///< "host slots=n"
  mpich,    ///< "host:n", of MPICH and Intel MPI
  horovod,  ///< as openmpi, within what horovodrun takes: no blank line, no comment, no IPv6
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
  int slots = 0;  ///< processes; 0 when a file does not give a number

  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// One line a host, in order. Throws Error of kind config for a name that the form cannot hold, a
/// host that is listed twice, or one without slots.
[[nodiscard]] std::string render_hostfile(const std::vector<HostSlots>& hosts, HostfileForm form);

/// Reads a hostfile back. Without a form, each line may be "host slots=n", "host:n" or a bare
/// "host"; blank lines and comments are ignored. With a form, the file must be what the form's
/// programs read. Throws Error of kind config at "where:line".
[[nodiscard]] std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& where,
                                                    std::optional<HostfileForm> form = {});

}  // namespace assay::rendezvous
