#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json_fields.h"

namespace assay::entry {

// `ssh` within a round: assay-agent under the name of ssh, first in the PATH of the round's
// programs. A host of the round is reached through the node's agent and the controller
// (agent/ssh_relay.h), without a port, a key or an sshd; any other host by the real ssh.

// In the folder that kSshFolderVariable names.
inline constexpr const char* kSshSocket = "agent";
inline constexpr const char* kSshHosts = "hosts.json";  ///< name → node

/// What is said to the agent first: FrameKind::command.
struct RemoteCommand {
  std::string host{};
  std::string command{};  ///< for a shell; empty: a shell that reads its input

  static void fields(auto& self, auto&& field) {
    field("host", self.host);
    field.optional("command", self.command);
  }
};

/// A call of ssh, as far as it matters within a round.
struct SshCall {
  std::string user{};  ///< empty: not said
  std::string host{};  ///< empty: there is none ("ssh -V")
  std::vector<std::string> command{};
  bool no_input = false;    ///< -n
  bool background = false;  ///< -f
  std::string foreign{};    ///< an option that only a real connection has: "-L"; empty: none
};

/// Reads ssh's arguments, without its name, as OpenSSH does. Options that say how to connect
/// (ports, keys, configurations) are taken and mean nothing. Pure.
[[nodiscard]] SshCall read_ssh_call(const std::vector<std::string>& arguments);

/// Does what `ssh ARGUMENTS` does. Gives the exit code: the command's, or 255.
[[nodiscard]] int run_round_ssh(const std::vector<std::string>& arguments);

}  // namespace assay::entry
