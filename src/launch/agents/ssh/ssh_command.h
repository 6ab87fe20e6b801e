#pragma once

#include <string>
#include <vector>

#include "launch/agents/bundle.h"
#include "plan/plan.h"

namespace assay::launch {

/// How one host is reached; `address` and `cache` are resolved.
struct SshTarget : plan::SshOptions {
  std::string name;  ///< the suite's
};

/// The cluster's options with the host's own over them.
[[nodiscard]] SshTarget ssh_target(const plan::SshOptions& options, const plan::Host& host);

/// Pure: ssh without any question, with host keys checked, that runs `command` in the login shell
/// there. `control_path` is the socket of the connection that commands to the host share: the first
/// of them, which is the agent's, opens it, and it ends with it; empty: none.
[[nodiscard]] std::vector<std::string> ssh_argv(const SshTarget& target,
                                                const std::string& control_path,
                                                const std::string& command);

/// Pure: whether ssh's error text means trouble that may pass, before any key was exchanged: the
/// server, or a jump host, has too many connections that are not logged in yet (MaxStartups) and
/// turned this one away, or the way there is not known at the moment.
[[nodiscard]] bool is_transient(const std::string& error_text);

/// Pure: the folder of the bundle's programs on the node, for a POSIX shell.
[[nodiscard]] std::string remote_programs(const SshTarget& target, const std::string& sha256);

/// Pure: the shell command that becomes the agent of `node`. Where the programs are not there it
/// asks for the bundle (kSendBundle), checks its hash, and puts it in place in one step. `rather`
/// is a bundle with more programs: where that is in place, the agent is taken from it; it is not
/// asked for. Empty: there is none.
[[nodiscard]] std::string start_command(const SshTarget& target, const Bundle& bundle, int node,
                                        const Bundle& rather = {});

/// Pure: the shell command that puts the bundle in place as start_command() does, keeps the packed
/// file (part_file()) and says kInstalled as `node`.
[[nodiscard]] std::string install_command(const SshTarget& target, const Bundle& bundle, int node);

/// Pure: where the packed programs lie on the node while they come.
[[nodiscard]] std::string part_file(const SshTarget& target, const std::string& sha256);

}  // namespace assay::launch
