#include "engine/embedded_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "engine/execution_watch.h"
#include "engine/node_prober.h"

namespace assay::engine {

EmbeddedEngine::EmbeddedEngine(EmbeddedOptions options)
    : options_(std::move(options)),
      prober_(std::make_unique<NodeProber>(options_.nodes, options_.reach)) {}

EmbeddedEngine::~EmbeddedEngine() = default;

Traits EmbeddedEngine::traits() const {
  return {.name = "embedded"};
}

void EmbeddedEngine::report_to(Reporter reporter) {
  watch_ = std::make_unique<ExecutionWatch>(
      options_, std::move(reporter), [this](const std::string& node, Nanoseconds may_run_on) {
        prober_->doubt(node, may_run_on);
      });
}

std::vector<jobs::ClusterNode> EmbeddedEngine::nodes() {
  std::vector<jobs::ClusterNode> out;
  for (const EmbeddedNode& node : options_.nodes)
    out.push_back({node.name, node.device_type, node.devices, prober_->available(node)});
  return out;
}

void EmbeddedEngine::start(const Order& order) {
  watch_->start(order);
}

void EmbeddedEngine::stop(const Execution& execution, Nanoseconds grace) {
  watch_->stop(execution, grace);
}

Planned EmbeddedEngine::plan(const Order& order) {
  DeviceAllocation::Devices devices;
  for (const jobs::NodeShare& share : order.placement)
    for (int i = 0; i < share.devices; ++i) devices[share.node].push_back(i);
  return ask_for_plan(
      place_suite(order, nodes_of(order.placement, options_.nodes), devices, options_.ssh),
      options_.bindir);
}

std::map<std::string, std::vector<int>> EmbeddedEngine::devices_of(const Execution& execution) {
  return watch_->devices_of(execution);
}

Way EmbeddedEngine::enter(const Execution& execution, const std::string& node,
                          const std::vector<std::string>& args) {
  const auto run = watch_->run_of(execution);
  const auto found = std::ranges::find(options_.nodes, node, &EmbeddedNode::name);
  if (run.empty() || found == options_.nodes.end())
    throw Error(ErrorKind::usage,
                run.empty() ? fmt::format("job {} does not run", execution.job)
                            : fmt::format("job {} does not run on '{}'", execution.job, node));
  if (found->remote)
    return {.argv = options_.agent_command ? options_.agent_command(*found, run, args)
                                           : std::vector<std::string>{}};
  Way way{.argv = {(options_.bindir / "assay-agent").string()}, .here = true};
  way.argv.insert(way.argv.end(), args.begin(), args.end());
  return way;
}

void EmbeddedEngine::recall(const std::vector<Order>& orders) {
  watch_->recall(orders);
}

}  // namespace assay::engine
