#include "engine/slurm_engine.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/processors.h"
#include "engine/controller.h"
#include "engine/slurm_overview.h"
#include "engine/slurm_watch.h"
#include "slurm/slurm_commands.h"

namespace assay::engine {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

SlurmEngine::SlurmEngine(SlurmEngineOptions options) : options_(std::move(options)) {}

SlurmEngine::~SlurmEngine() = default;

Traits SlurmEngine::traits() const {
  return {.name = "slurm", .has_queue = true, .drains = true};
}

void SlurmEngine::report_to(Reporter reporter) {
  overview_ = std::make_unique<SlurmOverview>();
  watch_ = std::make_unique<SlurmWatch>(options_, *overview_, std::move(reporter));
}

std::vector<jobs::ClusterNode> SlurmEngine::nodes() {
  std::vector<jobs::ClusterNode> out;
  for (const slurm::Node& node : overview_->nodes()) {
    const bool has_devices = node.devices > 0;
    const std::string& named = node.device_type.empty() ? node.device_kind : node.device_type;
    out.push_back({node.name, has_devices ? named : kProcessors,
                   has_devices ? node.devices : node.processors, node.usable()});
  }
  return out;
}

void SlurmEngine::start(const Order& order) {
  watch_->start(order);
}

void SlurmEngine::stop(const Execution& execution, Nanoseconds grace) {
  watch_->stop(execution, grace);
}

Planned SlurmEngine::plan(const Order& order) {
  PlacedSuite suite = suite_in_slurm(order);
  suite.env["SLURM_JOB_ID"] = "JOB";  // its controller will be within an allocation
  return ask_for_plan(suite, options_.bindir);
}

std::map<std::string, std::vector<int>> SlurmEngine::devices_of(const Execution& execution) {
  std::map<std::string, std::vector<int>> out;
  for (const slurm::NodeAllocation& node : watch_->place_of(execution).allocation.nodes)
    out[node.node] = node.devices;
  return out;
}

Way SlurmEngine::enter(const Execution& execution, const std::string& node,
                       const std::vector<std::string>& args) {
  const SlurmWatch::Place place = watch_->place_of(execution);
  if (!place.runs) throw Error(ErrorKind::usage, fmt::format("job {} does not run", execution.job));
  if (std::ranges::find(place.allocation.nodes, node, &slurm::NodeAllocation::node) ==
      place.allocation.nodes.end())
    throw Error(ErrorKind::usage, fmt::format("job {} does not run on '{}'", execution.job, node));
  std::vector<std::string> argv{(options_.bindir / "assay-agent").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  Way way{.argv = slurm::step_argv(place.allocation.job, node, argv)};
  // Every byte at once, not line by line.
  way.argv.insert(way.argv.begin() + 1, "--unbuffered");
  return way;
}

std::string SlurmEngine::waits_for(jobs::JobId job) {
  return watch_->waits_for(job);
}

std::optional<jobs::WallTime> SlurmEngine::expected_start(jobs::JobId job) {
  return watch_->expected_start(job);
}

std::vector<std::string> SlurmEngine::queues() {
  std::set<std::string> names;
  for (const slurm::Node& node : overview_->nodes())
    names.insert(node.partitions.begin(), node.partitions.end());
  return {names.begin(), names.end()};
}

std::map<std::string, NodeStanding> SlurmEngine::standings() {
  std::map<std::string, NodeStanding> out;
  for (const slurm::Node& node : overview_->nodes())
    out[node.name] = {node.answers ? node.state : node.state + ", does not answer", node.drained(),
                      node.reason, node.reason_by};
  return out;
}

std::vector<OtherJob> SlurmEngine::others() {
  std::vector<OtherJob> out;
  for (const slurm::Job& job : overview_->jobs()) {
    if (!slurm::is_active(job.state) || watch_->is_own(job)) continue;
    const bool pending = job.state == slurm::JobState::pending;
    std::string waiting(pending ? slurm::reason_in_words(job.reason) : "");
    if (pending && waiting.empty()) waiting = job.reason;
    out.push_back({.id = job.id,
                   .name = job.name,
                   .user = job.user,
                   .queue = job.partition,
                   .state = job.state_text,
                   .waiting = std::move(waiting),
                   .nodes = job.nodes,
                   .node_list = job.node_list,
                   .submitted_ns = job.submit_s * kSecond,
                   .started_ns = pending ? 0 : job.start_s * kSecond});
  }
  return out;
}

std::string SlurmEngine::trouble() {
  return overview_->trouble();
}

void SlurmEngine::drain(const std::string& node, const std::string& reason) {
  slurm::drain(node, reason);
  overview_->refresh();
}

void SlurmEngine::undrain(const std::string& node) {
  slurm::undrain(node);
  overview_->refresh();
}

void SlurmEngine::recall(const std::vector<Order>& orders) {
  watch_->recall(orders);
}

}  // namespace assay::engine
