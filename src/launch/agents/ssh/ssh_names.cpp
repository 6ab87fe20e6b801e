#include "launch/agents/ssh/ssh_names.h"

#include <algorithm>
#include <map>

#include "core/address.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::launch {

namespace {

// It may look names up (CanonicalizeHostname), and run commands (Match exec).
constexpr Nanoseconds kQueryLimit = std::chrono::seconds(5);
constexpr int kQueriesAtOnce = 16;

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

std::string query(const SshTarget& target) {
  CommandOptions options;
  options.timeout = kQueryLimit;
  try {
    const CommandResult result = run_command(ssh_query_argv(target), options);
    return result.ok() ? queried_host(result.out) : "";
  } catch (const Error&) {
    return {};  // the start will say what is wrong with ssh
  }
}

}  // namespace

std::vector<std::string> ssh_query_argv(const SshTarget& target) {
  std::vector<std::string> argv{"ssh", "-G"};
  if (!target.config.empty()) argv.insert(argv.end(), {"-F", target.config});
  for (const std::string& own : target.options) argv.insert(argv.end(), {"-o", own});
  if (!target.user.empty()) argv.insert(argv.end(), {"-l", target.user});
  if (target.port != 0) argv.insert(argv.end(), {"-p", std::to_string(target.port)});
  argv.insert(argv.end(), {"--", target.address});
  return argv;
}

std::string queried_host(std::string_view printed) {
  constexpr std::string_view kKey = "hostname ";
  for (const std::string_view line : split(printed, '\n'))
    if (line.starts_with(kKey)) return std::string(trim(line.substr(kKey.size())));
  return {};
}

void resolve_ssh_names(plan::Cluster& cluster) {
  const auto* options = std::get_if<plan::SshOptions>(&cluster.options);
  if (options == nullptr) return;
  std::vector<std::string> found(cluster.hosts.size());
  run_parallel(found.size(), kQueriesAtOnce, {}, [&](std::size_t i, const std::stop_token&) {
    const std::string known = cluster.address_of(cluster.hosts[i].name);
    found[i] = is_ip_address(known) ? known : query(ssh_target(*options, cluster.hosts[i]));
  });
  std::map<std::string, int> leading_there;
  for (const std::string& host : found) ++leading_there[host];
  for (std::size_t i = 0; i < found.size(); ++i) {
    plan::Host& host = cluster.hosts[i];
    const bool is_alias = !found[i].empty() && found[i] != to_lower(cluster.address_of(host.name));
    if (is_alias && !is_this_machine(found[i]) && leading_there[found[i]] == 1)
      host.reached = found[i];
  }
}

}  // namespace assay::launch
