#pragma once

#include <string>
#include <vector>

#include "launch/bundle.h"
#include "plan/plan.h"

namespace assay::launch {

/// How one host is reached. Empty or 0: as the user's ssh_config says.
struct SshTarget {
  std::string name;     ///< the suite's
  std::string address;  ///< what ssh is told; the name by default
  std::string user;
  int port = 0;
  std::string identity;
  std::string jump;
  std::string config;       ///< ssh_config to use instead of the user's
  std::string known_hosts;  ///< instead of the user's
  bool accept_new_keys = false;
  int connect_timeout_s = 10;
  std::vector<std::string> options{};    ///< further ones, "Name=value"; those of Assay win
  std::string cache = "~/.cache/assay";  ///< on the node; {host} is the host's name
};

/// The cluster's settings with the host's own over them.
[[nodiscard]] SshTarget ssh_target(const plan::Cluster& cluster, const plan::Host& host);

/// Pure: ssh without any question, with host keys checked, that runs `command` in the login shell
/// there. `control_path` is the socket of the connection that commands to the host share: the first
/// of them, which is the agent's, opens it, and it ends with it; empty: none.
[[nodiscard]] std::vector<std::string> ssh_argv(const SshTarget& target,
                                                const std::string& control_path,
                                                const std::string& command);

/// Pure: whether ssh's words mean trouble that may pass, before any key was exchanged: the server,
/// or a jump host, has too many connections that are not logged in yet (MaxStartups) and turned
/// this one away, or the way there is not known at the moment.
[[nodiscard]] bool may_pass(const std::string& words);

/// Pure: the folder of the bundle's programs on the node, for a POSIX shell.
[[nodiscard]] std::string remote_programs(const SshTarget& target, const std::string& sha256);

/// Pure: the shell command that becomes the agent of `node`. Where the programs are not there it
/// asks for the bundle (kSendBundle), checks its hash, and puts it in place in one step.
[[nodiscard]] std::string start_command(const SshTarget& target, const Bundle& bundle, int node);

}  // namespace assay::launch
