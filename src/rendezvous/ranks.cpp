#include "rendezvous/ranks.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::rendezvous {

namespace {

using Values = std::map<std::string, std::string>;

std::string device_list(int procs) {
  std::string list;
  for (int i = 0; i < procs; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
  return list;
}

Values node_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                        const Placement& placement, int node) {
  Values env{{"WORLD_SIZE", std::to_string(plan_case.world_size())},
             {"LOCAL_WORLD_SIZE", std::to_string(plan_case.procs)},
             {"NODE_RANK", std::to_string(node)},
             {"GROUP_RANK", std::to_string(node)},
             {"MASTER_ADDR", placement.master_addr},
             {"MASTER_PORT", std::to_string(placement.master_port)},
             {"ASSAY_RUN", placement.run_id},
             {"ASSAY_CASE", plan_case.name},
             {"ASSAY_ROUND", std::to_string(placement.round)}};
  const std::string visible = plan.vendor_data.value("visible_devices", "");
  if (!visible.empty()) env[visible] = device_list(plan_case.procs);
  return env;
}

}  // namespace

Placement place(const plan::Plan& plan, const plan::CasePlan& plan_case,
                const std::vector<std::string>& hosts, int round) {
  Placement placement;
  placement.hosts.assign(hosts.begin(), hosts.begin() + plan_case.nodes);
  placement.round = round;
  placement.run_id = plan.run_id;
  placement.master_port = plan.cluster.master_port;
  placement.master_addr = !plan.cluster.master_addr.empty()  ? plan.cluster.master_addr
                          : plan.cluster.launcher == "local" ? "127.0.0.1"
                                                             : hosts.front();
  return placement;
}

NodeCommands resolve_node(const plan::Plan& plan, const plan::CasePlan& plan_case,
                          const Placement& placement, int node,
                          const std::filesystem::path& node_dir) {
  const std::string where = "case " + plan_case.name;
  NodeCommands out;
  out.node = node;
  out.host = placement.hosts.at(static_cast<std::size_t>(node));
  out.env = node_environment(plan, plan_case, placement, node);

  Values values{
      {"world_size", std::to_string(plan_case.world_size())},
      {"nodes", std::to_string(plan_case.nodes)},
      {"procs", std::to_string(plan_case.procs)},
      {"node_rank", std::to_string(node)},
      {"master_addr", placement.master_addr},
      {"master_port", std::to_string(placement.master_port)},
      {"host", out.host},
      {"hosts", join(placement.hosts, ",")},
      {"config", (node_dir / "config.json").string()},
      {"data", plan_case.data},
      {"outdir", node_dir.string()},
      {"round", std::to_string(placement.round)},
      {"bindir", placement.bindirs.empty() ? "{bindir}"
                                           : placement.bindirs.at(static_cast<std::size_t>(node))}};

  const bool head_elsewhere = plan_case.launch == plan::LaunchMode::head && node != 0;
  const int processes = head_elsewhere                                   ? 0
                        : plan_case.launch == plan::LaunchMode::per_rank ? plan_case.procs
                                                                         : 1;
  for (int local = 0; local < processes; ++local) {
    RankCommand command;
    command.rank = node * plan_case.procs + local;
    command.local_rank = local;
    values["rank"] = std::to_string(command.rank);
    values["local_rank"] = std::to_string(local);
    for (const std::string& word : plan_case.command)
      command.argv.push_back(expand(word, values, where));
    if (plan_case.launch == plan::LaunchMode::per_rank) {
      command.env["RANK"] = values["rank"];
      command.env["LOCAL_RANK"] = values["local_rank"];
    }
    for (const auto& [name, value] : plan_case.env)
      command.env[name] = expand(value, values, where);
    out.ranks.push_back(std::move(command));
  }
  return out;
}

}  // namespace assay::rendezvous
