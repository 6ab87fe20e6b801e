#include "launch/agents/ssh/ssh_command.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "launch/agents/launcher.h"

namespace assay::launch {

namespace {

// "~/x" stays unquoted up to the slash, so that the shell there finds the home.
std::string quote_path(const std::string& path) {
  if (path.starts_with("~/")) return "~/" + shell_quote(path.substr(2));
  return shell_quote(path);
}

std::string folder_name(const std::string& sha256) {
  return "bin-" + sha256.substr(0, 16);
}

// What came was checked by its hash; at each start a checksum shows what was damaged since, for a
// seventh of a hash's time, which counts where many hosts start. Of larger bundles the sizes are
// compared, which shows a copy that was cut.
constexpr std::uint64_t kCheckedBytes = 64U << 20;

/// Prints what the files of the folder that it runs in are.
std::string list_programs(const Bundle& bundle) {
  return std::string("find . -type f -name '[a-zA-Z0-9_]*' -exec ") +
         (bundle.size <= kCheckedBytes ? "cksum" : "wc -c") + " {} + | sort";
}

/// Gets the bundle as the file $p: beside $d, where what a broken connection left is taken up by
/// the next start, or within $t while another start has that one. What is whole but has another
/// hash is thrown away, and so is what fills the disk.
std::string receive_bundle(const Bundle& bundle) {
  return fmt::format(
      "{{ p=\"$t/bundle.tar\"; if ( : >> \"$d.part\" ) 2> /dev/null; then exec 8>> \"$d.part\"; "
      "flock -n 8 2> /dev/null && [ -e \"$d.part\" ] && p=\"$d.part\"; fi; "
      "h=$(wc -c 2> /dev/null < \"$p\" || echo 0); "
      "if [ \"$h\" -eq {0} ] && echo \"{2}  $p\" | sha256sum -c - > /dev/null 2>&1; then :; else "
      "[ \"$h\" -lt {0} ] || {{ : > \"$p\"; h=0; }}; echo {1} $h && "
      "{{ head -c $(({0} - h)) >> \"$p\" || {{ rm -f \"$p\"; false; }}; }} && "
      "{{ [ \"$(wc -c < \"$p\")\" -eq {0} ] || {{ rm -rf \"$t\"; echo \"the programs came only in "
      "part; "
      "the next start goes on from there\" >&2; exit 98; }}; }} && "
      "{{ echo \"{2}  $p\" | sha256sum -c - > /dev/null || {{ rm -f \"$p\"; false; }}; }}; fi; }}",
      bundle.size, kSendBundle, bundle.sha256);
}

enum class Packed { removed, kept };

/// Sets $d, and sees to it that the bundle's programs are there. Another agent may install the same
/// bundle meanwhile: the rename fails for the slower one, which then uses what is there.
std::string provide_programs(const SshTarget& target, const Bundle& bundle, Packed packed) {
  return fmt::format(
      "d={}; touch -c \"$d\" 2> /dev/null; l=$(cd \"$d\" 2> /dev/null && {}); "
      "if [ -x \"$d/assay-agent\" ] && [ \"$l\" = \"$(cat \"$d/.files\" 2> /dev/null)\" ]; then :; "
      "else mv -T \"$d\" \"$d.bad.$$\" 2> /dev/null && rm -rf \"$d.bad.$$\"; t=\"$d.$$\"; "
      "mkdir -p \"$t\" && {} && "
      "tar -xf \"$p\" -C \"$t\" && {} && "
      "{{ \"$t/assay-agent\" --version > /dev/null || {{ rm -rf \"$t\"; echo \"the programs cannot "
      "be "
      "executed in $d (this is $(uname -m); is it mounted noexec? see cluster.ssh.cache)\" >&2; "
      "exit 97; }}; }} && (cd \"$t\" && {} > .files.new && mv .files.new .files) && "
      "{{ mv -T \"$t\" \"$d\" 2> /dev/null || rm -rf \"$t\"; }} || {{ rm -rf \"$t\"; "
      "echo \"the programs could not be put into $d (disk full, or no permission?)\" >&2; "
      "exit 96; }}; exec 8>&-; fi; ",
      remote_programs(target, bundle.sha256), list_programs(bundle), receive_bundle(bundle),
      // A copy within $t goes with it.
      packed == Packed::kept ? "rm -f \"$t/bundle.tar\"" : "rm -f \"$p\"", list_programs(bundle));
}

/// Becomes the agent of the bundle where that is in place and as it was put there.
std::string use_programs(const SshTarget& target, const Bundle& bundle, int node) {
  return fmt::format(
      "d={}; if [ -x \"$d/assay-agent\" ] && "
      "[ \"$(cd \"$d\" && {})\" = \"$(cat \"$d/.files\" 2> /dev/null)\" ]; then "
      "touch -c \"$d\"; exec \"$d/assay-agent\" --node {}; fi; ",
      remote_programs(target, bundle.sha256), list_programs(bundle), node);
}

// In the user's login shell this is one word after another without '!' or newlines, so that csh
// passes it on, too; sh does the work. The first newline ends what a login shell's start-up files
// printed without one.
std::string as_command(const std::string& script) {
  return "exec /bin/sh -c " + shell_quote("echo; " + script);
}

}  // namespace

SshTarget ssh_target(const plan::SshOptions& options, const plan::Host& host) {
  SshTarget target{options, host.name};
  const auto prefer = [](const auto& own, auto& to) {
    if (own != std::remove_cvref_t<decltype(own)>{}) to = own;
  };
  prefer(host.ssh.address.empty() ? host.name : host.ssh.address, target.address);
  prefer(host.ssh.user, target.user);
  prefer(host.ssh.port, target.port);
  prefer(host.ssh.identity, target.identity);
  prefer(host.ssh.jump, target.jump);
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
  if (!control_path.empty() && !target.user_control) {
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

bool is_transient(const std::string& error_text) {
  const auto has = [&](const char* sign) { return error_text.find(sign) != std::string::npos; };
  // A host without a listening sshd refuses instead, which is not transient.
  if (has("Connection refused") || has("Permission denied") || has("Host key verification failed"))
    return false;
  for (const char* sign : {"kex_exchange_identification", "ssh_exchange_identification",
                           "Exceeded MaxStartups", "Not allowed at this time",
                           // All that OpenSSH 9.6 prints when it is turned away.
                           "Connection closed by ",
                           // What the kernel reports for seconds after a link has come back.
                           "No route to host"})
    if (has(sign)) return true;
  return false;
}

std::string remote_programs(const SshTarget& target, const std::string& sha256) {
  return quote_path(target.cache + "/" + folder_name(sha256));
}

std::string part_file(const SshTarget& target, const std::string& sha256) {
  return target.cache + "/" + folder_name(sha256) + ".part";
}

std::string start_command(const SshTarget& target, const Bundle& bundle, int node,
                          const Bundle& rather) {
  return as_command((rather.sha256.empty() ? "" : use_programs(target, rather, node)) +
                    provide_programs(target, bundle, Packed::removed) +
                    fmt::format("exec \"$d/assay-agent\" --node {}", node));
}

std::string install_command(const SshTarget& target, const Bundle& bundle, int node) {
  const Json said{{"node", node}, {"type", kInstalled}};
  return as_command(provide_programs(target, bundle, Packed::kept) + "echo " +
                    shell_quote(dump_line(said)));
}

}  // namespace assay::launch
