#include "commands/platform/job_engine.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include "catalog/catalog.h"
#include "commands/suites/find_devices.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "engine/embedded_engine.h"
#include "engine/nodes_file.h"
#include "engine/placed_suite.h"
#include "engine/slurm_engine.h"
#include "entry/run_as_user.h"
#include "launch/agents/bundle.h"
#include "launch/agents/ssh/ssh_command.h"
#include "plan/cluster.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

engine::EmbeddedNode this_machine(const catalog::Catalog& catalog) {
  engine::EmbeddedNode node;
  node.name = host_name();
  const std::vector<plan::DeviceSearch> searches = search_devices(catalog, "", false);
  const plan::DeviceSearch* best = plan::best_search(searches);
  if (best == nullptr) {
    node.devices = usable_processors();
    return node;
  }
  const plan::Devices& devices = best->devices;
  node.device_type = devices.hardware;
  node.devices = devices.count;
  node.vendor = devices.vendor;
  if (const catalog::Vendor* vendor = catalog.find_vendor(devices.vendor))
    node.visible_devices = vendor->visible_devices;
  for (const std::string_view name : split(devices.visible, ','))
    if (!trim(name).empty()) node.device_names.emplace_back(trim(name));
  return node;
}

void add_vendors(const catalog::Catalog& catalog, const std::string& file,
                 std::vector<engine::EmbeddedNode>& nodes) {
  for (engine::EmbeddedNode& node : nodes) {
    const catalog::Vendor* vendor = catalog.find_vendor(node.vendor);
    if (vendor == nullptr)
      throw Error(ErrorKind::config, "there is no vendor '" + printable(node.vendor) + "'", file,
                  "vendors are the files of conf/vendors");
    node.visible_devices = vendor->visible_devices;
  }
}

/// As in the suites of its jobs.
plan::Cluster cluster_of(const engine::EmbeddedNode& node, const Json& ssh) {
  Json host{{"name", node.name}};
  host.update(node.access);
  const Json cluster{{"launcher", "ssh"}, {"hosts", Json::array({host})}, {"ssh", ssh}};
  const config::Source source{"node " + node.name, "node " + node.name, false};
  return plan::read_cluster(config::parse_yaml(dump_line(cluster), source));
}

bool reach(const plan::Cluster& cluster) {
  constexpr Nanoseconds kReachLimit = std::chrono::seconds(15);
  const auto& options = std::get<plan::SshOptions>(cluster.options);
  CommandOptions limits;
  limits.timeout = kReachLimit;
  const launch::SshTarget target = launch::ssh_target(options, cluster.hosts.front());
  return run_command(launch::ssh_argv(target, "", "true"), limits).ok();
}

/// The way to the programs that are a run's agents, over one connection per node that stays open
/// for a minute after its last use.
class AgentCommands {
 public:
  explicit AgentCommands(std::map<std::string, plan::Cluster> clusters)
      : clusters_(std::move(clusters)) {
    try {
      sockets_.emplace("/tmp", "assay-enter");  // socket paths are limited to 108 bytes
    } catch (const Error&) {                    // each then has its own connection
    }
  }

  [[nodiscard]] std::vector<std::string> command(const std::string& node,
                                                 const std::filesystem::path& run,
                                                 const std::vector<std::string>& args) {
    // If every owner has a user, the run says whose it is.
    const auto known = clusters_.find(node);
    plan::Cluster cluster =
        known != clusters_.end() ? known->second : store::RunDir::open(run).plan().cluster;
    std::erase_if(cluster.hosts, [&](const plan::Host& host) { return host.name != node; });
    if (cluster.hosts.empty())
      throw Error(ErrorKind::usage, "the job does not run on '" + printable(node) + "'");
    const launch::SshTarget target =
        launch::ssh_target(std::get<plan::SshOptions>(cluster.options), cluster.hosts.front());
    std::vector<std::string> argv =
        launch::ssh_argv(target, "",
                         "exec " + launch::remote_programs(target, programs_of(run)) +
                             "/assay-agent " + shell_join(args));
    if (sockets_)
      argv.insert(argv.begin() + 1,
                  {"-o", "ControlMaster=auto", "-o",
                   "ControlPath=" + (sockets_->path() / "%C").string(), "-o", "ControlPersist=60"});
    return argv;
  }

 private:
  std::string programs_of(const std::filesystem::path& run) {
    const std::scoped_lock lock(lock_);
    std::string& hash = programs_[run];
    if (hash.empty())
      hash = launch::make_bundle(program_folder(),
                                 launch::programs_of(store::RunDir::open(run).plan()))
                 .sha256;
    return hash;
  }

  const std::map<std::string, plan::Cluster> clusters_;
  std::optional<ScratchFolder> sockets_;
  std::mutex lock_;
  std::map<std::filesystem::path, std::string> programs_;
};

/// From now on, `ssh` for this process and its jobs' controllers is the agent's program, which runs
/// commands on this machine as the job's user (entry/run_as_user.h).
void use_ssh_of_users(const std::string& job_user, const std::filesystem::path& data) {
  namespace fs = std::filesystem;
  if (::geteuid() != 0)
    throw Error(ErrorKind::usage, "only root can run jobs as other users", "--job-user",
                "start the server as root, or without it");
  if (job_user != engine::kOwnersUser) {
    const passwd* user = ::getpwnam(job_user.c_str());
    if (user == nullptr || user->pw_uid == 0)
      throw Error(ErrorKind::usage,
                  user == nullptr ? "there is no user '" + printable(job_user) + "'"
                                  : "jobs do not run as root",
                  "--job-user", "an existing user, or '{owner}'");
  }
  const fs::path folder = fs::absolute(data) / "as-user";
  make_directories(folder);
  fs::permissions(data, fs::perms::owner_all);
  std::error_code ec;
  fs::remove(folder / "ssh", ec);
  fs::create_symlink(program_folder() / "assay-agent", folder / "ssh");
  const char* path = std::getenv("PATH");
  ::setenv("PATH", (folder.string() + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
  ::setenv(entry::kAsUserVariable, job_user.c_str(), 1);
}

/// Reaches this machine as its users.
void reach_as_user(engine::EmbeddedOptions& options, const std::string& job_user) {
  engine::EmbeddedNode& node = options.nodes.front();
  node.remote = true;
  node.access = {{"address", "127.0.0.1"}, {"user", job_user}};
  options.ssh = {{"config", "/dev/null"}};
  options.agent_command =
      [commands = std::make_shared<AgentCommands>(std::map<std::string, plan::Cluster>{})](
          const engine::EmbeddedNode& of, const std::filesystem::path& run,
          const std::vector<std::string>& args) { return commands->command(of.name, run, args); };
}

}  // namespace

std::unique_ptr<engine::Engine> make_job_engine(const JobEngineChoice& choice) {
  if (choice.slurm) {
    for (const char* program : {"sbatch", "squeue", "sinfo", "scancel", "scontrol", "srun"})
      if (!find_program(program))
        throw Error(ErrorKind::environment, std::string(program) + " is not installed", "--slurm",
                    "start the server on a machine from which jobs are submitted to Slurm");
    return std::make_unique<engine::SlurmEngine>(
        engine::SlurmEngineOptions{.bindir = program_folder(), .target = *choice.slurm});
  }
  const std::filesystem::path& nodes = choice.nodes;
  const std::string& job_user = choice.job_user;
  if (!job_user.empty() && !nodes.empty())
    throw Error(ErrorKind::usage, "--job-user is for jobs on this machine", "--nodes",
                "the list of nodes says as whom ssh comes to each: {name: gpu1, user: train}");
  if (!job_user.empty()) use_ssh_of_users(job_user, choice.data);
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dirs());
  engine::EmbeddedOptions options;
  options.bindir = program_folder();
  if (nodes.empty()) {
    options.nodes.push_back(this_machine(catalog));
    if (!job_user.empty()) reach_as_user(options, job_user);
  } else {
    engine::NodesFile file = engine::read_nodes_file(nodes);
    add_vendors(catalog, nodes.string(), file.nodes);
    options.nodes = std::move(file.nodes);
    std::map<std::string, plan::Cluster> clusters;
    for (const engine::EmbeddedNode& node : options.nodes)
      clusters.emplace(node.name, cluster_of(node, file.ssh));
    options.agent_command = [commands = std::make_shared<AgentCommands>(clusters)](
                                const engine::EmbeddedNode& node, const std::filesystem::path& run,
                                const std::vector<std::string>& args) {
      return commands->command(node.name, run, args);
    };
    options.reach = [clusters = std::move(clusters)](const engine::EmbeddedNode& node) {
      return reach(clusters.at(node.name));
    };
    options.ssh = std::move(file.ssh);
  }
  return std::make_unique<engine::EmbeddedEngine>(std::move(options));
}

}  // namespace assay::commands
