#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::rendezvous {

enum class HostfileForm {
  openmpi,  ///< "host slots=n"
  mpich,    ///< "host:n", of MPICH and Intel MPI
  horovod,  ///< as openmpi, within what horovodrun takes: no blank line, no comment, no IPv6
  ib,       ///< as horovod, with the hosts' InfiniBand names: ib_config
};

/// "openmpi", "mpich", "horovod", "ib".
[[nodiscard]] std::string_view to_string(HostfileForm form) noexcept;
[[nodiscard]] std::optional<HostfileForm> parse_hostfile_form(std::string_view text) noexcept;
[[nodiscard]] const std::vector<std::string>& hostfile_form_names();

/// One line of a hostfile.
struct HostSlots {
  std::string host;
  int slots = 0;  ///< processes; 0 when a file does not say how many

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
