#include "launch/ssh/ssh_command.h"

#include <fmt/format.h>

#include "core/text.h"
#include "launch/launcher.h"

namespace assay::launch {

namespace {

void take(const Json& from, const char* key, std::string& to) {
  if (from.contains(key)) to = from[key].get<std::string>();
}

// "~/x" stays unquoted up to the slash, so that the shell there finds the home.
std::string quote_path(const std::string& path) {
  if (path.starts_with("~/")) return "~/" + shell_quote(path.substr(2));
  return shell_quote(path);
}

}  // namespace

SshTarget ssh_target(const plan::Cluster& cluster, const plan::Host& host) {
  SshTarget target;
  target.name = host.name;
  for (const Json* options : {&cluster.options, &host.ssh}) {
    take(*options, "address", target.address);
    take(*options, "user", target.user);
    take(*options, "identity", target.identity);
    take(*options, "jump", target.jump);
    take(*options, "config", target.config);
    take(*options, "known_hosts", target.known_hosts);
    take(*options, "cache", target.cache);
    if (options->contains("port")) target.port = (*options)["port"].get<int>();
    if (options->contains("accept_new_keys"))
      target.accept_new_keys = (*options)["accept_new_keys"].get<bool>();
    if (options->contains("options"))
      target.options = (*options)["options"].get<std::vector<std::string>>();
    if (options->contains("connect_timeout_s"))
      target.connect_timeout_s = (*options)["connect_timeout_s"].get<int>();
  }
  if (target.address.empty()) target.address = host.name;
  const auto at = target.cache.find("{host}");
  if (at != std::string::npos) target.cache.replace(at, 6, host.name);
  return target;
}

std::vector<std::string> ssh_argv(const SshTarget& target, const std::string& control_path,
                                  const std::string& command) {
  std::vector<std::string> argv{"ssh", "-T"};
  const auto option = [&](const std::string& text) {
    argv.emplace_back("-o");
    argv.push_back(text);
  };
  if (!target.config.empty()) argv.insert(argv.end(), {"-F", target.config});
  option("BatchMode=yes");
  option(fmt::format("ConnectTimeout={}", target.connect_timeout_s));
  // A cut link is noticed after 15 s, whether anything is sent or not.
  option("ServerAliveInterval=5");
  option("ServerAliveCountMax=3");
  option(std::string("StrictHostKeyChecking=") + (target.accept_new_keys ? "accept-new" : "yes"));
  if (!target.known_hosts.empty()) option("UserKnownHostsFile=" + target.known_hosts);
  if (!control_path.empty()) {
    option("ControlMaster=auto");
    option("ControlPath=" + control_path);
    // The agent's own ssh is the connection that others share; it ends with the agent.
    option("ControlPersist=no");
  }
  // Otherwise every one of many clients may rewrite known_hosts, after more signatures to check.
  option("UpdateHostKeys=no");
  for (const std::string& own : target.options) option(own);
  if (!target.user.empty()) argv.insert(argv.end(), {"-l", target.user});
  if (target.port != 0) argv.insert(argv.end(), {"-p", std::to_string(target.port)});
  if (!target.identity.empty()) {
    argv.insert(argv.end(), {"-i", target.identity});
    option("IdentitiesOnly=yes");
  }
  if (!target.jump.empty()) argv.insert(argv.end(), {"-J", target.jump});
  argv.insert(argv.end(), {"--", target.address, command});
  return argv;
}

bool may_pass(const std::string& words) {
  const auto say = [&words](const char* sign) { return words.find(sign) != std::string::npos; };
  // A host where nobody listens refuses instead: that does not pass.
  if (say("Connection refused") || say("Permission denied") || say("Host key verification failed"))
    return false;
  for (const char* sign : {"kex_exchange_identification", "ssh_exchange_identification",
                           "Exceeded MaxStartups", "Not allowed at this time",
                           // All that OpenSSH 9.6 says when it is turned away.
                           "Connection closed by ",
                           // What the kernel says for seconds after a link has come back.
                           "No route to host"})
    if (say(sign)) return true;
  return false;
}

std::string remote_programs(const SshTarget& target, const std::string& sha256) {
  return quote_path(target.cache + "/bin-" + sha256.substr(0, 16));
}

std::string start_command(const SshTarget& target, const Bundle& bundle, int node) {
  // In the user's login shell this is one word after another without '!' or newlines, so that csh
  // passes it on, too; sh does the work. The first newline ends what a login shell's start-up files
  // printed without one. Another agent may install the same bundle meanwhile: the
  // rename fails for the slower one, which then uses what is there.
  const std::string script = fmt::format(
      "echo; d={}; touch -c \"$d\" 2> /dev/null; if [ -x \"$d/assay-agent\" ]; then :; else "
      "t=\"$d.$$\"; "
      "mkdir -p \"$t\" && echo {} && head -c {} > \"$t/bundle.tar\" && "
      "echo \"{}  $t/bundle.tar\" | sha256sum -c - > /dev/null && "
      "tar -xf \"$t/bundle.tar\" -C \"$t\" && rm -f \"$t/bundle.tar\" && "
      "{{ \"$t/assay-agent\" --version > /dev/null || {{ rm -rf \"$t\"; echo \"the programs cannot "
      "be "
      "executed in $d (this is $(uname -m); is it mounted noexec? see cluster.ssh.cache)\" >&2; "
      "exit 97; }}; }} && "
      "{{ mv -T \"$t\" \"$d\" 2> /dev/null || rm -rf \"$t\"; }} || {{ rm -rf \"$t\"; "
      "echo \"the programs could not be put into $d (disk full, or no permission?)\" >&2; "
      "exit 96; }}; fi; exec \"$d/assay-agent\" --node {}",
      remote_programs(target, bundle.sha256), kSendBundle, bundle.size, bundle.sha256, node);
  return "exec /bin/sh -c " + shell_quote(script);
}

}  // namespace assay::launch
