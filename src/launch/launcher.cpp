#include "launch/launcher.h"

#include "core/error.h"
#include "core/text.h"
#include "launch/local/local_launcher.h"
#include "launch/slurm/slurm_launcher.h"
#include "launch/ssh/ssh_launcher.h"

namespace assay::launch {

const std::vector<LauncherInfo>& launcher_catalogue() {
  static const std::vector<LauncherInfo> catalogue{
      {"local", "this machine: agents are child processes of assay"},
      {"ssh", "hosts that OpenSSH reaches; nothing has to be installed there"},
      {"slurm", "nodes that Slurm allocates, or has allocated; one srun carries all agents"},
      {"modelarts", "jobs of ModelArts on Huawei Cloud; the service starts what they run"}};
  return catalogue;
}

std::unique_ptr<Launcher> make_launcher(const plan::Cluster& cluster,
                                        const std::filesystem::path& bindir) {
  const std::filesystem::path agent = bindir / "assay-agent";
  if (!std::filesystem::exists(agent))
    throw Error(ErrorKind::environment, "assay-agent is missing", agent.string(),
                "it is built and installed beside assay; build again");
  if (cluster.launcher == "local") return std::make_unique<LocalLauncher>(cluster, agent);
  if (cluster.launcher == "ssh") return std::make_unique<SshLauncher>(cluster, bindir);
  if (cluster.launcher == "slurm") return std::make_unique<SlurmLauncher>(cluster, bindir);
  if (cluster.launcher == "modelarts")
    throw Error(ErrorKind::usage, "ModelArts starts no agents: its instances cannot be asked", {},
                "only 'assay run' works with this launcher");
  std::vector<std::string> known;
  for (const LauncherInfo& info : launcher_catalogue()) known.push_back(info.name);
  throw Error(ErrorKind::environment,
              "the launcher '" + cluster.launcher + "' is not part of this build", {},
              "known: " + join(known, ", ") + "; --set cluster.launcher=local runs here");
}

std::filesystem::path at_home(const std::filesystem::path& path, const Json& hello) {
  const std::string text = path.string();
  if (!text.starts_with("~/")) return path;
  return std::filesystem::path(hello.value("home", "/")) / text.substr(2);
}

void require_hosts(const plan::CasePlan& plan_case, const std::vector<std::string>& hosts,
                   const std::string& suite_file) {
  if (plan_case.nodes <= static_cast<int>(hosts.size())) return;
  throw Error(ErrorKind::config,
              "case " + plan_case.name + " wants " + std::to_string(plan_case.nodes) +
                  " nodes, but the cluster has " + std::to_string(hosts.size()),
              suite_file, "name more hosts under cluster.hosts, or lower the case's nodes");
}

}  // namespace assay::launch
