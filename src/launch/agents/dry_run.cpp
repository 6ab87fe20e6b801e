#include "launch/agents/dry_run.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "rendezvous/ranks.h"

namespace assay::launch {

namespace {

constexpr std::size_t kRanksShown = 4;

// JSON files as JSON, other files as text.
Json shown_files(const std::map<std::string, std::string>& files) {
  Json out = Json::object();
  for (const auto& [name, content] : files)
    out[name] = name.ends_with(".json") ? parse_json(content, name) : Json(content);
  return out;
}

Json describe_node(const plan::Plan& plan, const plan::CasePlan& plan_case,
                   const rendezvous::Placement& placement, int node,
                   const std::filesystem::path& directory) {
  const rendezvous::NodeCommands commands =
      rendezvous::resolve_node(plan, plan_case, placement, node, directory);
  Json ranks = Json::array();
  for (const rendezvous::RankCommand& rank : commands.ranks)
    ranks.push_back({{"rank", rank.rank}, {"argv", rank.argv}, {"env", rank.env}});
  return {{"node", node},
          {"host", commands.host},
          {"directory", directory.string()},
          {"files", shown_files(placement.files)},
          {"env", commands.env},
          {"ranks", std::move(ranks)}};
}

std::string environment_line(const Json& env) {
  std::vector<std::string> assignments;
  for (const auto& [name, value] : env.items())
    assignments.push_back(name + "=" + shell_quote(value.get_ref<const std::string&>()));
  return join(assignments, " ");
}

std::string command_line(const Json& argv) {
  return shell_join(argv.get<std::vector<std::string>>());
}

}  // namespace

Json describe_execution(const plan::Plan& plan, const Launcher& launcher,
                        const std::filesystem::path& run_path) {
  const std::vector<std::string> hosts = used_hosts(plan, launcher);
  Json rounds = Json::array();
  for (const plan::CasePlan& plan_case : plan.cases) {
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      rendezvous::Placement placement = rendezvous::place(plan, plan_case, hosts, round);
      Json described = Json::array();
      for (int node = 0; node < plan_case.nodes; ++node) {
        const NodePlace place{run_path, plan_case.name, round,
                              placement.hosts.at(static_cast<std::size_t>(node)), node};
        described.push_back(
            describe_node(plan, plan_case, placement, node, launcher.remote_dir(place)));
      }
      rounds.push_back(
          {{"case", plan_case.name}, {"round", round}, {"nodes", std::move(described)}});
    }
  }
  Json agents = Json::array();
  for (const ChannelCommand& command : launcher.render(hosts))
    agents.push_back({{"label", command.label}, {"argv", command.argv}});
  return {{"agents", std::move(agents)}, {"rounds", std::move(rounds)}};
}

std::string render_execution(const Json& execution) {
  std::string text = "agents\n";
  for (const Json& agent : execution["agents"])
    text +=
        fmt::format("  {}: {}\n", agent["label"].get<std::string>(), command_line(agent["argv"]));
  for (const Json& round : execution["rounds"]) {
    text += fmt::format("\n{}  round {}\n", round["case"].get<std::string>(),
                        round["round"].get<int>());
    for (const Json& node : round["nodes"]) {
      text += fmt::format("  node {} on {}\n", node["node"].get<int>(),
                          node["host"].get<std::string>());
      text += fmt::format("    folder  {}\n", node["directory"].get<std::string>());
      for (const auto& [name, content] : node["files"].items())
        text += fmt::format("    file    {}: {}\n", name, dump_line(content));
      text += fmt::format("    env     {}\n", environment_line(node["env"]));
      const Json& ranks = node["ranks"];
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks.size() > kRanksShown && i == kRanksShown - 1) {
          text += fmt::format("    …       {} more like these (--format json shows all)\n",
                              ranks.size() - kRanksShown);
          i = ranks.size() - 1;
        }
        const Json& rank = ranks[i];
        text +=
            fmt::format("    rank {:<3}{}\n", rank["rank"].get<int>(), command_line(rank["argv"]));
        text += fmt::format("            {}\n", environment_line(rank["env"]));
      }
    }
  }
  return text;
}

}  // namespace assay::launch
