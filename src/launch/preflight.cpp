#include "launch/preflight.h"

#include <algorithm>
#include <exception>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include "agent/messages.h"
#include "core/error.h"
#include "launch/fleet.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kProbeLimit = std::chrono::seconds(60);

probe::CheckOptions options_for(const plan::Plan& plan, const std::filesystem::path& out_dir) {
  probe::CheckOptions options;
  options.out_dir = out_dir;
  options.vendor = plan.vendor;
  options.procs = 1;
  for (const plan::CasePlan& plan_case : plan.cases)
    options.procs = std::max(options.procs, plan_case.procs);
  if (plan.vendor_data.contains("query") && plan.vendor_data["query"].is_object()) {
    const Json& query = plan.vendor_data["query"];
    options.device_query = query.value("command", std::vector<std::string>());
    options.device_pattern = query.value("pattern", "");
  }
  return options;
}

NodeChecks read_answer(int node, const std::string& host, const Json* answer) {
  NodeChecks result{node, host, {}};
  if (answer == nullptr) {
    result.checks.push_back({"answer", probe::Level::fail, "the agent did not answer in time",
                             "look at the host; its devices or its file system may hang"});
  } else if (!answer->contains("checks")) {
    result.checks.push_back(
        {"answer", probe::Level::fail, answer->value("reason", "the agent gave an error"), {}});
  } else {
    for (const Json& check : (*answer)["checks"])
      result.checks.push_back(probe::check_from_json(check));
  }
  return result;
}

asio::awaitable<std::vector<NodeChecks>> ask_fleet(asio::io_context& loop, const Launcher& launcher,
                                                   std::vector<std::string> hosts, Json request) {
  Fleet fleet(loop, launcher, hosts);
  co_await fleet.connect();
  const std::map<int, Json> answers = co_await fleet.ask(request, "checks", kProbeLimit);
  co_await fleet.disconnect();
  std::vector<NodeChecks> results;
  for (int node = 0; node < static_cast<int>(hosts.size()); ++node) {
    const auto found = answers.find(node);
    results.push_back(read_answer(node, hosts[static_cast<std::size_t>(node)],
                                  found == answers.end() ? nullptr : &found->second));
  }
  co_return results;
}

}  // namespace

std::vector<NodeChecks> preflight(const plan::Plan& plan, Launcher& launcher,
                                  const std::filesystem::path& out_dir) {
  std::vector<std::string> hosts = launcher.hosts(plan);
  int nodes = 1;
  for (const plan::CasePlan& plan_case : plan.cases) {
    require_hosts(plan_case, hosts, plan.suite_file);
    nodes = std::max(nodes, plan_case.nodes);
  }
  hosts.resize(static_cast<std::size_t>(nodes));
  launcher.prepare(plan);
  asio::io_context loop(1);
  std::exception_ptr failure;
  std::vector<NodeChecks> results;
  asio::co_spawn(loop, ask_fleet(loop, launcher, hosts, agent::to_json(options_for(plan, out_dir))),
                 [&](const std::exception_ptr& error, std::vector<NodeChecks> answers) {
                   failure = error;
                   results = std::move(answers);
                 });
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace assay::launch
