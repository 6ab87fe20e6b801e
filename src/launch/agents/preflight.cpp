#include "launch/agents/preflight.h"

#include <algorithm>
#include <exception>
#include <map>
#include <set>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <fmt/format.h>

#include "agent/connectivity.h"
#include "agent/messages.h"
#include "core/address.h"
#include "core/error.h"
#include "core/processors.h"
#include "core/text.h"
#include "launch/agents/cluster_checks.h"
#include "launch/agents/fleet.h"
#include "launch/agents/start_advice.h"
#include "probe/listing.h"
#include "rendezvous/ranks.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kProbeLimit = std::chrono::seconds(60);
constexpr Nanoseconds kCompareLimit = std::chrono::seconds(10);
constexpr Nanoseconds kListenLimit = std::chrono::seconds(5);
constexpr Nanoseconds kConnectLimit = std::chrono::seconds(3);
constexpr Nanoseconds kMargin = std::chrono::seconds(5);
constexpr auto kStageEvery = std::chrono::seconds(1);

using probe::Check;
using probe::Level;

/// One preflight: asks the fleet one thing after the other and collects the nodes' checks.
class Preflight {
 public:
  Preflight(asio::io_context& loop, const plan::Plan& plan, const Launcher& launcher,
            const PreflightOptions& options, const std::vector<std::string>& hosts)
      : plan_(plan),
        launcher_(launcher),
        options_(options),
        several_machines_(!launcher.traits().one_machine),
        fleet_(loop, launcher, hosts),
        ticker_(loop) {
    for (int node = 0; node < fleet_.size(); ++node)
      results_.push_back({node, fleet_.host(node), {}});
    // The scheduler's reason is more useful than the name of our own stage.
    fleet_.on_waiting([this](const std::string& reason) { stage_ = reason; });
  }

  asio::awaitable<std::vector<NodeChecks>> run() {
    tick();
    co_await start();
    if (several_machines_) co_await compare_clocks();
    if (several_machines_ && fleet_.size() > 1) co_await compare_machines();
    co_await compare_data();
    co_await try_connections();
    co_await ask_machines();
    stage_ = "ending the agents";
    co_await fleet_.disconnect();
    ticker_.cancel();
    co_return std::move(results_);
  }

 private:
  void tick() {
    if (!options_.on_stage) return;
    ticker_.expires_after(kStageEvery);
    ticker_.async_wait([this](const asio::error_code& ec) {
      if (ec) return;
      options_.on_stage(stage_);
      tick();
    });
  }

  void add(int node, Check check) {
    results_[static_cast<std::size_t>(node)].checks.push_back(std::move(check));
  }
  void add_all(std::map<int, Check>&& checks) {
    for (auto& [node, check] : checks) add(node, std::move(check));
  }
  [[nodiscard]] std::vector<int> present() const {
    std::vector<int> nodes;
    for (int node = 0; node < fleet_.size(); ++node)
      if (fleet_.connected(node)) nodes.push_back(node);
    return nodes;
  }

  asio::awaitable<void> start() {
    stage_ = "starting the agents of " + counted(fleet_.size(), "host");
    const std::map<int, std::string> missing = co_await fleet_.try_connect();
    if (launcher_.traits().chooses_hosts &&
        missing.size() == static_cast<std::size_t>(fleet_.size()))
      throw Error(ErrorKind::launch, "no agent could be started: " + missing.begin()->second, {},
                  "ask the scheduler about the job");
    for (int node = 0; node < fleet_.size(); ++node) {
      results_.at(static_cast<std::size_t>(node)).host = fleet_.host(node);
      if (const auto why = missing.find(node); why != missing.end())
        add(node, {"reach", Level::fail, why->second, start_advice(why->second)});
      else if (several_machines_)
        add(node, {"reach", Level::pass, "the agent answers", ""});
    }
  }

  asio::awaitable<void> compare_clocks() {
    stage_ = "comparing clocks";
    const std::map<int, ClockOffset> offsets = co_await measure_offsets(fleet_);
    for (const int node : present()) {
      const auto offset = offsets.find(node);
      if (offset == offsets.end()) {
        add(node, {"clock-skew", Level::warn, "the agent did not report its time", ""});
        continue;
      }
      results_[static_cast<std::size_t>(node)].clock = offset->second;
      add(node, check_offset(offset->second));
    }
  }

  asio::awaitable<void> compare_machines() {
    stage_ = "comparing machines";
    std::map<int, Json> systems;
    const agent::DescribeRequest request{plan_.vendor_data.value("query", Json()), {}};
    for (const auto& [node, reply] : co_await fleet_.ask_all(request, kCompareLimit))
      if (reply.answer) systems[node] = reply.answer->system;
    add_all(compare_systems(systems));
  }

  asio::awaitable<void> compare_data() {
    const std::map<std::string, int> paths = data_paths(plan_);
    if (paths.empty()) co_return;
    stage_ = "comparing data";
    std::map<int, agent::ListDataRequest> requests;
    for (const int node : present())
      for (const auto& [path, nodes] : paths)
        if (node < nodes) requests[node].paths.push_back(path);
    const Nanoseconds limit =
        probe::ListingLimits().time * static_cast<std::int64_t>(paths.size()) + kMargin;
    std::map<int, std::vector<probe::Listing>> listings;
    for (const auto& [node, reply] : co_await fleet_.ask(std::move(requests), limit)) {
      if (reply.answer)
        listings[node] = reply.answer->listings;
      else
        add(node, {"data", Level::fail, "the host did not list its data in time",
                   "its file system may hang: list the data there by hand"});
    }
    add_all(compare_listings(listings, fleet_.hosts()));
  }

  using Listeners = std::map<int, Reply<agent::ListeningOn>>;

  // Ranks meet on the first node; the others' sockets are only there to be connected to.
  asio::awaitable<void> try_connections() {
    const int fixed = plan_.cluster.master_port;
    const bool pairs = several_machines_ && fleet_.size() > 1;
    if (!pairs && fixed == 0) co_return;
    stage_ = "trying connections between hosts";
    std::map<int, agent::ListenRequest> requests;
    for (const int node : present())
      if (node == 0 || pairs) requests[node] = {node == 0 ? fixed : 0};
    Listeners listeners = co_await fleet_.ask(std::move(requests), kListenLimit);
    if (listeners.contains(0)) add(0, check_port(listeners.at(0), fixed));
    // Where that port is taken, connections to the host are tried all the same.
    if (fixed != 0 && listeners.contains(0) && !listens(listeners.at(0))) {
      std::map<int, agent::ListenRequest> any_port;
      any_port[0] = {0};
      const Listeners again = co_await fleet_.ask(std::move(any_port), kListenLimit);
      listeners.at(0) = again.at(0);
    }
    std::map<int, agent::Peer> peers;
    for (const auto& [node, reply] : listeners)
      if (listens(reply)) peers[node] = {node, address(node), reply.answer->port};
    if (!pairs) co_return;
    for (const auto& [node, reply] : listeners)
      if (!peers.contains(node) && node != 0)
        add(node, {"port", Level::fail, "no port can be opened here", "look at the host's limits"});

    std::vector<int> reachable;
    for (const auto& [node, peer] : peers) reachable.push_back(node);
    std::map<int, agent::ConnectRequest> attempts;
    for (const auto& [node, targets] : connection_plan(reachable)) {
      attempts[node].limit = kConnectLimit;
      for (const int target : targets) attempts[node].peers.push_back(peers.at(target));
    }
    std::map<int, std::vector<agent::Reached>> reached;
    for (const auto& [node, reply] :
         co_await fleet_.ask(std::move(attempts), kConnectLimit + kMargin)) {
      if (reply.answer)
        reached[node] = reply.answer->results;
      else
        add(node, {"connect", Level::fail, "the host did not try its connections in time", ""});
    }
    add_all(check_connections(reached, fleet_.hosts()));
  }

  [[nodiscard]] static bool listens(const Reply<agent::ListeningOn>& reply) {
    return reply.answer && reply.answer->problem.empty();
  }

  [[nodiscard]] static Check check_port(const Reply<agent::ListeningOn>& reply, int fixed) {
    const std::string problem = reply.answer ? reply.answer->problem : reply.problem;
    const std::string which = fixed == 0 ? "a free port" : fmt::format("port {}", fixed);
    if (problem.empty())
      return {"port", Level::pass, which + " can be opened for the rendezvous", ""};
    return {"port", Level::fail,
            fmt::format("{} cannot be opened for the rendezvous: {}", which, problem),
            fixed == 0 ? "look at the host's limits"
                       : "another program listens there: stop it, or leave out "
                         "cluster.master_port, and a free port is chosen"};
  }

  // Names may not resolve on the nodes; the address that the agent reported is the one its round
  // will use.
  [[nodiscard]] std::string address(int node) const {
    const std::string& master = plan_.cluster.master_addr;
    if (node == 0 && is_ip_address(master)) return master;
    const std::string& own = fleet_.identity(node).address;
    return own.empty() ? "127.0.0.1" : own;
  }

  asio::awaitable<void> ask_machines() {
    stage_ = "asking every host about itself";
    std::map<int, agent::ProbeRequest> requests;
    for (const int node : present()) requests[node] = probe_request(node);
    for (const auto& [node, reply] : co_await fleet_.ask(std::move(requests), kProbeLimit)) {
      if (!reply.answer)
        add(node, {"answer", Level::fail, reply.problem,
                   "look at the host; its devices or its file system may hang"});
      else
        for (const Check& check : reply.answer->checks) add(node, check);
    }
  }

  [[nodiscard]] agent::ProbeRequest probe_request(int node) const {
    agent::ProbeRequest request;
    probe::CheckOptions& options = request.options;
    options.out_dir = evidence_folder(node);
    options.vendor = plan_.vendor;
    options.commands = commands_of(node);
    for (const plan::CasePlan& plan_case : plan_.cases)
      if (node < plan_case.nodes) options.procs = std::max(options.procs, plan_case.procs);
    if (plan_.vendor_data.contains("query") && plan_.vendor_data["query"].is_object()) {
      const Json& query = plan_.vendor_data["query"];
      options.device_query = query.value("command", std::vector<std::string>());
      options.device_pattern = query.value("pattern", "");
    }
    if (are_processors(plan_.vendor)) return request;
    request.device_state = device_state_command(plan_);
    request.sources.emplace();
    for (const Json& source : plan_.vendor_data.value("samples", Json::array()))
      request.sources->push_back(telemetry::device_source_from_json(source, "plan.json"));
    return request;
  }

  // What the cases would start there, as their rounds would.
  [[nodiscard]] std::vector<probe::CommandUse> commands_of(int node) const {
    std::vector<probe::CommandUse> out;
    for (const plan::CasePlan& plan_case : plan_.cases) {
      if (node >= plan_case.nodes) continue;
      rendezvous::Placement placement = rendezvous::place(plan_, plan_case, fleet_.hosts(), 1);
      for (int other = 0; other < plan_case.nodes; ++other)
        placement.bindirs.push_back(
            fleet_.connected(other) ? launcher_.programs_dir(fleet_.identity(other)).string() : "");
      const rendezvous::NodeCommands commands =
          rendezvous::resolve_node(plan_, plan_case, placement, node, evidence_folder(node));
      std::set<std::string> seen;
      for (const rendezvous::RankCommand& rank : commands.ranks) {
        if (!seen.insert(rank.argv.front()).second) continue;
        const auto own = rank.env.find("PATH");
        const auto common = commands.env.find("PATH");
        out.push_back({plan_case.name, rank.argv.front(),
                       rendezvous::workdir_on(plan_case, fleet_.host(node)),
                       own != rank.env.end()          ? own->second
                       : common != commands.env.end() ? common->second
                                                      : ""});
      }
    }
    return out;
  }

  // Where the node's agent would write in a round of the first case.
  [[nodiscard]] std::filesystem::path evidence_folder(int node) const {
    if (launcher_.traits().shares_files) return options_.out_dir;
    const NodePlace place{options_.out_dir / "run", "case", 1, fleet_.host(node), node};
    return at_home(launcher_.remote_dir(place), fleet_.identity(node));
  }

  const plan::Plan& plan_;
  const Launcher& launcher_;
  const PreflightOptions& options_;
  bool several_machines_;
  Fleet fleet_;
  asio::steady_timer ticker_;
  std::string stage_;
  std::vector<NodeChecks> results_;
};

}  // namespace

std::map<std::string, int> data_paths(const plan::Plan& plan) {
  std::map<std::string, int> paths;
  for (const plan::CasePlan& plan_case : plan.cases)
    for (const std::string& path : plan_case.data_paths) {
      const std::string full = (std::filesystem::path(plan_case.workdir) / path).string();
      paths[full] = std::max(paths[full], plan_case.nodes);
    }
  return paths;
}

std::vector<NodeChecks> preflight(const plan::Plan& plan, Launcher& launcher,
                                  const PreflightOptions& options) {
  const std::vector<std::string> hosts = used_hosts(plan, launcher);
  launcher.prepare(plan);
  asio::io_context loop(1);
  std::exception_ptr failure;
  std::vector<NodeChecks> results;
  Preflight work(loop, plan, launcher, options, hosts);
  asio::co_spawn(loop, work.run(),
                 [&](const std::exception_ptr& error, std::vector<NodeChecks> answers) {
                   failure = error;
                   results = std::move(answers);
                   loop.stop();
                 });
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace assay::launch
