#include "launch/agents/start_advice.h"

#include <array>

namespace assay::launch {

namespace {

struct Advice {
  std::string_view sign;
  std::string_view text;
};

constexpr std::string_view kLoginShell =
    "ssh gets there, but the login shell did not run the agent: 'ssh HOST true' shows it; look at "
    "the files that it reads there (.bashrc, .profile, /etc/profile.d) for exit, exec, read or set "
    "-e, and whether it is a restricted shell";

// The first that fits; what names a cause comes before what only follows from it.
constexpr std::array kAdvice{
    Advice{"REMOTE HOST IDENTIFICATION HAS CHANGED",
           "the host has another key than known_hosts says: find out why; if the machine was "
           "reinstalled, remove the old key with 'ssh-keygen -R HOST'"},
    Advice{"Host key verification failed",
           "the host's key is not in known_hosts: connect once by hand with 'ssh HOST' and compare "
           "it, or set cluster.ssh.accept_new_keys: true"},
    Advice{"Permission denied",
           "ssh gets there, but is not let in without a question: check user and key "
           "(cluster.ssh.user, identity), and that the key is in the host's authorized_keys or an "
           "agent holds it"},
    Advice{"Too many authentication failures",
           "the agent offers too many keys: name one with cluster.ssh.identity"},
    Advice{"Could not resolve hostname",
           "no such name: correct it, or give the host an 'address' in cluster.hosts"},
    Advice{"Connection refused",
           "nothing listens there: check that sshd runs and that the port is right "
           "(cluster.ssh.port, or 'port' of the host)"},
    Advice{"No route to host", "the host is down or the network does not lead there"},
    Advice{"Network is unreachable", "this machine has no network that leads there"},
    Advice{"Connection timed out",
           "nothing answers: the host is down, or a firewall drops the connection"},
    Advice{"Operation timed out",
           "nothing answers: the host is down, or a firewall drops the connection"},
    Advice{"cannot be executed",
           "let programs be executed there: another folder with cluster.ssh.cache, or programs for "
           "that architecture"},
    Advice{"could not be put into",
           "free some space there, or name another folder with cluster.ssh.cache"},
    Advice{"sha256sum: not found", "install coreutils on the host"},
    Advice{"tar: not found", "install tar on the host"},
    Advice{"allows sftp connections only",
           "the account may only transfer files there: take another user (cluster.ssh.user)"},
    Advice{"said nothing more",
           "something there stops or blocks new processes: look at the host's load, disks and "
           "drivers"},
    Advice{"came only in part",
           "the link is slow or broken: the next start goes on where this one stopped; "
           "cluster.ssh.connect_timeout gives it more time"},
    Advice{"restricted", kLoginShell},
    Advice{"no word from ssh", kLoginShell},
    Advice{"ended with exit 0",
           "ssh gets there, but another command was run than the agent: see ForceCommand in the "
           "host's sshd_config, command= of the key in its authorized_keys, and whether the login "
           "shell's files there (.bashrc, .profile, /etc/profile.d) end with exit"},
};

}  // namespace

namespace {

// ssh gives the exit code of what it started, and 255 for its own failures. Programs that fail say
// why; a shell that its own files end says nothing.
bool ended_without_a_word(std::string_view said) {
  constexpr std::string_view kEnded = "ended with exit ";
  for (auto at = said.find(kEnded); at != std::string_view::npos; at = said.find(kEnded, at + 1)) {
    const std::string_view rest = said.substr(at + kEnded.size());
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (rest.substr(0, digits) != "255" && (digits == rest.size() || rest[digits] == ';'))
      return true;
  }
  return false;
}

}  // namespace

std::string start_advice(std::string_view said) {
  for (const auto& [sign, text] : kAdvice)
    if (said.find(sign) != std::string_view::npos) return std::string(text);
  if (ended_without_a_word(said)) return std::string(kLoginShell);
  return "check that the hosts are reachable and that assay-agent runs there";
}

}  // namespace assay::launch
