#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json_fields.h"

namespace assay::entry {

// `ssh` within a round: assay-agent under the name ssh, first in the PATH of the round's programs.
// It reaches the round's hosts through the node's agent and the controller (agent/ssh_relay.h),
// without a port, a key or an sshd, and any other host through the real ssh.

// In the folder named by kSshFolderVariable.
inline constexpr const char* kSshSocket = "agent";
inline constexpr const char* kSshHosts = "hosts.json";  ///< name → node

/// The first frame to the agent: FrameKind::command.
struct RemoteCommand {
  std::string host{};
  std::string command{};  ///< for a shell; empty: a shell that reads its input

  static void fields(auto& self, auto&& field) {
    field("host", self.host);
    field.optional("command", self.command);
  }
};

/// An ssh call, as far as it matters within a round.
struct SshCall {
  std::string user{};  ///< empty: not given
  std::string host{};  ///< empty: none ("ssh -V")
  std::vector<std::string> command{};
  bool no_input = false;    ///< -n
  bool background = false;  ///< -f
  std::string foreign{};    ///< an option that needs a real connection: "-L"; empty: none
};

/// Reads ssh's arguments, without the program's name, as OpenSSH does. Accepts and ignores options
/// for connecting (ports, keys, configurations). Pure.
[[nodiscard]] SshCall read_ssh_call(const std::vector<std::string>& arguments);

/// Does what `ssh ARGUMENTS` does. Returns the command's exit code, or 255.
[[nodiscard]] int run_round_ssh(const std::vector<std::string>& arguments);

}  // namespace assay::entry
