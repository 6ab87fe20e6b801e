#include "rendezvous/ranks.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/env_names.h"
#include "core/error.h"
#include "core/job_variables.h"
#include "core/text.h"
#include "rendezvous/container.h"
#include "rendezvous/environment.h"
#include "rendezvous/round_files.h"

namespace assay::rendezvous {

namespace {

bool has_contained_ssh(const plan::CasePlan& plan_case) {
  return wants_ssh(plan_case) && plan_case.container && can_have_ssh(*plan_case.container);
}

/// The part of the place that all containers of the node share.
ContainerPlace container_place(const plan::CasePlan& plan_case, const Placement& placement,
                               int node, const std::filesystem::path& node_dir) {
  ContainerPlace place;
  place.node_dir = node_dir;
  const auto at = static_cast<std::size_t>(node);
  if (!placement.bindirs.empty()) place.programs_dir = placement.bindirs.at(at);
  place.workdir = workdir_on(plan_case, placement.hosts.at(at));
  place.data = plan_case.data;
  if (!placement.ssh_folders.empty() && has_contained_ssh(plan_case))
    place.ssh_folder = placement.ssh_folders.at(at);
  return place;
}

/// Names of the variables that go into a container, including those added by the agent.
std::vector<std::string> variables_inside(const NodeCommands& node,
                                          const std::map<std::string, std::string>& own) {
  std::vector<std::string> names{std::string(kRoundVariable)};
  for (const auto& [name, value] : node.env) names.push_back(name);
  if (node.env.contains("DLWS_JOB_ID") && !node.env.contains("DLWS_USER_NAME"))
    names.emplace_back("DLWS_USER_NAME");
  for (const auto& [name, value] : own) names.push_back(name);
  return names;
}

std::vector<std::string> in_container(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                      const ContainerPlace& place,
                                      const std::vector<std::string>& argv,
                                      std::vector<std::string> names) {
  if (!place.ssh_folder.empty()) names.emplace_back(kSshFolderVariable);
  const Json options = plan.vendor_data.value("container", Json::object());
  return run_in_container(*plan_case.container,
                          options.value("options", std::vector<std::string>{}), place, argv, names);
}

// Wraps the rank's command so that it runs in its container, and passes its variables.
void put_in_container(const plan::Plan& plan, const plan::CasePlan& plan_case,
                      const Placement& placement, const NodeCommands& node,
                      const std::filesystem::path& node_dir, RankCommand& command) {
  ContainerPlace place = container_place(plan_case, placement, node.node, node_dir);
  place.name = container_name(placement.run_id, plan_case.name, placement.round, command.rank);
  command.contained = command.argv;
  command.mounts = mounted_folders(*plan_case.container, place);
  command.argv =
      in_container(plan, plan_case, place, command.argv, variables_inside(node, command.env));
  command.cleanup = remove_container(*plan_case.container, place.name);
  // For people entering the job. Not passed into the container.
  std::vector<std::string> inside = exec_in_container(*plan_case.container, place.name);
  if (inside.empty() || place.programs_dir.empty()) return;
  inside.push_back((place.programs_dir / "assay-agent").string());
  command.env[std::string(kContainerVariable)] = dump_line(Json(inside));
}

// One container per node, however many programs others start there, so that files which one leaves
// behind are there for the next.
void add_visitors(const plan::Plan& plan, const plan::CasePlan& plan_case,
                  const Placement& placement, const std::filesystem::path& node_dir,
                  NodeCommands& node) {
  if (!has_contained_ssh(plan_case)) return;
  ContainerPlace place = container_place(plan_case, placement, node.node, node_dir);
  if (place.programs_dir.empty()) return;
  place.name = fmt::format("{}-ssh", container_name(placement.run_id, plan_case.name,
                                                    placement.round, node.node * plan_case.procs));
  place.interactive = true;
  node.visitors = in_container(plan, plan_case, place,
                               {(place.programs_dir / "assay-agent").string(), "--visitors"},
                               variables_inside(node, node.visitor_env));
  node.visitors_cleanup = remove_container(*plan_case.container, place.name);
}

}  // namespace

std::string workdir_on(const plan::CasePlan& plan_case, const std::string& host) {
  constexpr std::string_view kHost = "{host}";
  std::string out = plan_case.workdir;
  std::string name = host;
  std::ranges::replace(name, '/', '_');
  for (auto at = out.find(kHost); at != std::string::npos; at = out.find(kHost, at + name.size()))
    out.replace(at, kHost.size(), name);
  return out;
}

Placement place(const plan::Plan& plan, const plan::CasePlan& plan_case,
                const std::vector<std::string>& hosts, int round) {
  Placement placement;
  placement.hosts.assign(hosts.begin(), hosts.begin() + plan_case.nodes);
  placement.round = round;
  placement.run_id = plan.run_id;
  placement.master_port = plan.cluster.master_port;
  placement.master_addr = !plan.cluster.master_addr.empty() ? plan.cluster.master_addr
                          : plan.cluster.traits.one_machine ? "127.0.0.1"
                                                            : hosts.front();
  placement.files = round_files(plan, plan_case, placement.hosts);
  return placement;
}

NodeCommands resolve_node(const plan::Plan& plan, const plan::CasePlan& plan_case,
                          const Placement& placement, int node,
                          const std::filesystem::path& node_dir) {
  const std::string where = "case " + plan_case.name;
  NodeCommands out;
  out.node = node;
  out.host = placement.hosts.at(static_cast<std::size_t>(node));
  out.env = node_environment(plan, plan_case, placement, node, node_dir);

  std::vector<std::string> addresses;
  for (const std::string& host : placement.hosts)
    addresses.push_back(plan.cluster.address_of(host));
  std::map<std::string, std::string> values{
      {"world_size", std::to_string(plan_case.world_size())},
      {"nodes", std::to_string(plan_case.nodes)},
      {"procs", std::to_string(plan_case.procs)},
      {"node_rank", std::to_string(node)},
      {"master_addr", placement.master_addr},
      {"master_port", std::to_string(placement.master_port)},
      {"host", out.host},
      {"hosts", join(addresses, ",")},
      {"config", (node_dir / kConfigFile).string()},
      {"data", plan_case.data},
      {"outdir", node_dir.string()},
      {"round", std::to_string(placement.round)},
      {"bindir", placement.bindirs.empty() ? "{bindir}"
                                           : placement.bindirs.at(static_cast<std::size_t>(node))}};
  if (placement.files.contains(kHostfile)) values["hostfile"] = (node_dir / kHostfile).string();
  if (placement.files.contains(kRankTableFile))
    values["ranktable"] = (node_dir / kRankTableFile).string();

  const bool head_elsewhere = plan_case.launch == plan::LaunchMode::head && node != 0;
  const int processes = head_elsewhere                                   ? 0
                        : plan_case.launch == plan::LaunchMode::per_rank ? plan_case.procs
                                                                         : 1;
  values["rank"] = std::to_string(node * plan_case.procs);
  values["local_rank"] = "0";
  const Environment of_host = host_environment(plan, out.host);
  for (const auto& [name, value] : plan_case.env)
    out.visitor_env[name] = expand(value, values, where);
  for (const auto& [name, value] : of_host) out.visitor_env[name] = value;
  for (int local = 0; local < processes; ++local) {
    RankCommand command;
    command.rank = node * plan_case.procs + local;
    command.local_rank = local;
    values["rank"] = std::to_string(command.rank);
    values["local_rank"] = std::to_string(local);
    for (const std::string& word : plan_case.command)
      command.argv.push_back(expand(word, values, where));
    if (plan_case.launch == plan::LaunchMode::per_rank)
      command.env = rank_environment(plan, plan_case, placement, node, local);
    for (const auto& [name, value] : plan_case.env)
      command.env[name] = expand(value, values, where);
    for (const auto& [name, value] : of_host) command.env[name] = value;
    if (plan_case.container) put_in_container(plan, plan_case, placement, out, node_dir, command);
    out.ranks.push_back(std::move(command));
  }
  add_visitors(plan, plan_case, placement, node_dir, out);
  return out;
}

bool wants_ssh(const plan::CasePlan& plan_case) {
  return plan_case.nodes > 1 || plan_case.meets_with(&RendezvousFlavor::hostfile);
}

std::map<std::string, int> node_names(const plan::Plan& plan, const Placement& placement) {
  std::map<std::string, int> out;
  const auto nodes = static_cast<int>(placement.hosts.size());
  const auto add = [&](int node, const std::string& name) {
    if (!name.empty()) out.try_emplace(name, node);
  };
  // Real names take precedence: a host may have the name of another one's place.
  for (int node = 0; node < nodes; ++node) {
    const auto at = static_cast<std::size_t>(node);
    const std::string& name = placement.hosts[at];
    add(node, name);
    add(node, plan.cluster.address_of(name));
    add(node, node_address(plan, placement, at));
    if (const plan::Host* host = plan.cluster.find_host(name)) add(node, host->ib_addr);
  }
  for (int node = 0; node < nodes; ++node)
    for (const std::string& name :
         {fmt::format("worker{}", node), place_name(static_cast<std::size_t>(node)),
          fmt::format("ib-worker-{}", node)})
      add(node, name);
  for (const char* name : {"ps0", "ps-0", "master"}) add(0, name);
  return out;
}

}  // namespace assay::rendezvous
