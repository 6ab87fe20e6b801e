#include "launch/agents/ssh/ssh_launcher.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kFirstPause = std::chrono::milliseconds(250);
constexpr const char* kSshKeepsBytes = "33554432";
constexpr Nanoseconds kMaxRetryPause = std::chrono::seconds(2);
constexpr int kSharingHosts = 3;
constexpr std::uint64_t kSharingBytes = 16U << 20;

// On its host: the third word of its name (core/process_name.h). Empty: not known.
std::string pid_of(const agent::Hello& hello) {
  if (hello.processes.empty()) return {};
  const auto words = split(hello.processes.front(), ':');
  return words.size() == 4 && parse_number<int>(words[2], 2) ? std::string(words[2]) : "";
}

}  // namespace

SshLauncher::SshLauncher(const plan::Cluster& cluster, const plan::SshOptions& options,
                         fs::path bindir)
    : Launcher(cluster), bundles_(options.bundles), bindir_(std::move(bindir)) {
  for (const plan::Host& host : cluster.hosts) targets_.push_back(ssh_target(options, host));
  bundle_.sha256 = "<hash>";
}

void SshLauncher::do_prepare(const plan::Plan& plan) {
  if (!find_program("ssh"))
    throw Error(ErrorKind::environment, "ssh is not installed", {},
                "install the package 'openssh-client'");
  // ssh frees and takes its buffers for every packet; with glibc's thresholds most of its time in a
  // transfer goes into page faults. The user's own settings stay.
  for (const char* threshold : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"})
    ::setenv(threshold, kSshKeepsBytes, /*overwrite=*/0);
  bundle_ = make_bundle(bindir_, programs_of(plan));
  if (shares(plan, bundle_)) {
    programs_ = std::move(bundle_);
    bundle_ = make_bundle(bindir_, {"assay-agent"});
  }
  // Socket paths are limited to 108 bytes: a short folder that only this user can enter.
  sockets_.emplace("/tmp", "assay-ssh");
  control_path_ = (sockets_->path() / "%C").string();
}

// It costs a port on the hosts, so by itself only where ranks of several hosts open some anyway,
// and where it saves the controller's link enough.
bool SshLauncher::shares(const plan::Plan& plan, const Bundle& programs) const {
  if (bundles_ == plan::SshBundles::direct || programs_of(plan).size() < 2) return false;
  if (bundles_ == plan::SshBundles::tree) return true;
  const bool together = std::ranges::any_of(
      plan.cases, [](const plan::CasePlan& one) { return one.nodes >= kSharingHosts; });
  return together && programs.size >= kSharingBytes;
}

std::vector<std::string> SshLauncher::do_hosts(const plan::Plan& /*plan*/) const {
  std::vector<std::string> names;
  for (const SshTarget& target : targets_) names.push_back(target.name);
  return names;
}

const SshTarget& SshLauncher::target(const std::string& host) const {
  const auto found = std::ranges::find(targets_, host, &SshTarget::name);
  if (found == targets_.end())
    throw Error(ErrorKind::internal, "the host '" + host + "' is not part of the cluster");
  return *found;
}

std::vector<ChannelCommand> SshLauncher::do_render(const std::vector<std::string>& hosts) const {
  std::vector<ChannelCommand> commands;
  for (int node = 0; node < static_cast<int>(hosts.size()); ++node) {
    const SshTarget& to = target(hosts[static_cast<std::size_t>(node)]);
    commands.push_back({ssh_argv(to, control_path_, start_command(to, bundle_, node, programs_)),
                        {node},
                        "host " + to.name,
                        bundle_.file});
  }
  return commands;
}

fs::path SshLauncher::do_remote_dir(const NodePlace& place) const {
  return fs::path(target(place.host).cache) / "runs" / place.run_dir.filename() / place.folder();
}

bool SshLauncher::is_complete(const agent::Hello& hello) const {
  return programs_.sha256.empty() ||
         fs::path(part_file({}, programs_.sha256)).stem() == fs::path(hello.bindir).filename();
}

fs::path SshLauncher::do_programs_dir(const agent::Hello& hello) const {
  if (is_complete(hello)) return hello.bindir;
  // Beside the folder of the agent, which came alone.
  return fs::path(hello.bindir).parent_path() / fs::path(part_file({}, programs_.sha256)).stem();
}

std::optional<Launcher::MissingPrograms> SshLauncher::do_missing_programs(
    const std::string& host, int node, const agent::Hello& hello) const {
  if (is_complete(hello)) return std::nullopt;
  const SshTarget& to = target(host);
  return MissingPrograms{
      programs_, at_home(part_file(to, programs_.sha256), hello),
      ChannelCommand{ssh_argv(to, control_path_, install_command(to, programs_, node)),
                     {node},
                     "host " + to.name,
                     programs_.file}};
}

std::vector<std::string> SshLauncher::do_agent_command(const std::string& host,
                                                       const agent::Hello& hello,
                                                       const std::vector<std::string>& args) const {
  const SshTarget& to = target(host);
  // An agent that never came may have been started from either.
  const std::string folder =
      hello.bindir.empty() ? remote_programs(to, bundle_.sha256) : shell_quote(hello.bindir);
  const std::string program = folder + "/assay-agent";
  std::string command = "exec " + program + " " + shell_join(args);
  // Whoever cleans caches may have removed it while the agent that was started from it serves.
  if (const std::string pid = pid_of(hello); !pid.empty())
    command = "exec /bin/sh -c " +
              shell_quote(fmt::format("p={}; [ -x \"$p\" ] || p=/proc/{}/exe; exec \"$p\" {}",
                                      program, pid, shell_join(args)));
  return ssh_argv(to, control_path_, command);
}

std::vector<std::string> SshLauncher::do_shell_command(const std::string& host,
                                                       const std::string& command) const {
  return ssh_argv(target(host), "", command);
}

int SshLauncher::longest_connect_s() const {
  int longest = 0;
  for (const SshTarget& to : targets_) longest = std::max(longest, to.connect_timeout_s);
  return longest;
}

std::optional<Nanoseconds> SshLauncher::do_retry_pause(const std::string& reason, int attempt,
                                                       Nanoseconds since) const {
  if (!is_transient(reason)) return std::nullopt;
  const Nanoseconds pause =
      std::min<Nanoseconds>(kFirstPause * (1 << std::min(attempt, 8)), kMaxRetryPause);
  if (since + pause > std::chrono::seconds(longest_connect_s())) return std::nullopt;
  return pause;
}

Nanoseconds SshLauncher::do_start_limit() const {
  // A first start copies the programs: 1 MiB a second over a slow link, and with many hosts the
  // controller's link is shared, 64 MiB a second.
  const std::uint64_t all = bundle_.size * targets_.size();
  return std::chrono::seconds(longest_connect_s() + 20) + std::chrono::seconds(bundle_.size >> 20) +
         std::chrono::seconds(all >> 26);
}

}  // namespace assay::launch

std::unique_ptr<assay::launch::Launcher> assay::plan::SshOptions::make_launcher(
    const Cluster& cluster, const std::filesystem::path& bindir) const {
  return std::make_unique<launch::SshLauncher>(cluster, *this, bindir);
}
