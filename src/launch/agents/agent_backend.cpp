#include "launch/agents/agent_backend.h"

#include <algorithm>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <sys/resource.h>

#include "core/address.h"
#include "core/error.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "launch/agents/clock_offset.h"
#include "launch/agents/launch_command.h"
#include "launch/round_folder.h"
#include "launch/run_on_thread.h"
#include "rendezvous/container.h"

namespace assay::launch {

namespace {

// The pipes of a channel, and of a transfer beside it; a shell's usual limit is 1,024.
constexpr std::size_t kFilesPerHost = 6;
constexpr std::size_t kFilesPerWorker = 3;  // its connection, and weights both ways
constexpr std::size_t kOwnFiles = 64;
// Two tools of the vendor are asked, and a driver that hangs holds up both.
constexpr Nanoseconds kDescribeLimit = std::chrono::seconds(20);

// Only where it is needed: local ranks inherit the limit.
void allow_open_files(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + kOwnFiles) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count + kOwnFiles);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t max_workers(const plan::Plan& plan) {
  int workers = 0;
  for (const plan::CasePlan& plan_case : plan.cases)
    if (plan_case.automl) workers = std::max(workers, plan_case.world_size());
  return static_cast<std::size_t>(workers);
}

}  // namespace

AgentBackend::AgentBackend(const BackendContext& context, std::unique_ptr<Launcher> launcher)
    : context_(context), plan_(context.run.plan()), launcher_(std::move(launcher)) {}

asio::awaitable<void> AgentBackend::prepare() {
  std::vector<std::string> hosts = used_hosts(plan_, *launcher_);
  allow_open_files(hosts.size() * kFilesPerHost + max_workers(plan_) * kFilesPerWorker);
  co_await run_on_thread([this] { launcher_->prepare(plan_); });
  fleet_ = std::make_unique<Fleet>(context_.loop, *launcher_, std::move(hosts));
  fleet_->on_waiting([this](const std::string& what_for) { context_.observer.waiting(what_for); });
  co_await fleet_->connect();
  if (!launcher_->traits().one_clock) co_await compare_clocks();
  const std::string& listen = plan_.telemetry.prometheus;
  if (const auto endpoint = parse_endpoint(listen); endpoint && !is_loopback(endpoint->address))
    context_.observer.warning("anyone who can reach " + listen +
                              " on the nodes can read the run's metrics");
}

// Times of several hosts are worth comparing only as far as their clocks agree.
asio::awaitable<void> AgentBackend::compare_clocks() {
  for (const auto& [node, offset] : co_await measure_offsets(*fleet_)) {
    const std::string& host = fleet_->host(node);
    Json fields{{"node", node}, {"host", host}};
    fields.update(to_json(offset));
    context_.journal.append("clock_offset", fields);
    const probe::Check check = check_offset(offset);
    if (check.level == probe::Level::fail)
      context_.observer.warning("the clock of " + host + " is " + check.seen + ": " + check.advice);
  }
}

asio::awaitable<Json> AgentBackend::describe() {
  Json nodes = Json::array();
  const agent::DescribeRequest request{plan_.vendor_data.value("query", Json()),
                                       device_state_command(plan_)};
  for (const auto& [node, reply] : co_await fleet_->ask_all(request, kDescribeLimit)) {
    if (!reply.answer) continue;
    nodes.push_back({{"node", node}, {"host", fleet_->host(node)}});
    nodes.back().update(reply.answer->system);
  }
  co_return nodes;
}

asio::awaitable<Json> AgentBackend::device_states() {
  Json nodes = Json::array();
  const agent::DescribeRequest request{Json(), device_state_command(plan_)};
  if (request.device_state.empty()) co_return nodes;
  for (const auto& [node, reply] : co_await fleet_->ask_all(request, kDescribeLimit))
    if (reply.answer && reply.answer->system.contains("device_state"))
      nodes.push_back({{"node", node}, {"state", reply.answer->system["device_state"]}});
  co_return nodes;
}

asio::awaitable<void> AgentBackend::prepare_round(const RoundTask& task) {
  (void)set_aside(context_.run, task.plan_case, task.number);
  co_await fleet_->connect();  // agents that were lost in an earlier round come back here
  if (task.plan_case.container) co_await provide_image(task.plan_case);
}

asio::awaitable<RoundOutcome> AgentBackend::run_round(const RoundTask& task) {
  std::unique_ptr<ExperimentHost> experiment;
  RoundTask own = task;
  std::map<std::string, std::string> env;
  if (task.plan_case.automl) {
    take_up_experiment(context_.run, task.plan_case, task.number);
    std::filesystem::path directory =
        context_.run.round_dir(task.plan_case.name, task.number) / layout::kExperiment;
    experiment = co_await ExperimentHost::make(context_.loop, plan_, task.plan_case,
                                               std::move(directory), *fleet_);
    env = experiment->environment();
    own.on_progress = [&task, host = experiment.get()](RoundProgress progress) {
      progress.automl = host->live();
      task.on_progress(progress);
    };
  }
  Round round(context_, *launcher_, *fleet_, own, std::move(env));
  current_ = &round;
  experiment_ = experiment.get();
  if (experiment) experiment->start(round);
  RoundOutcome outcome;
  std::exception_ptr failure;
  try {
    outcome = co_await round.run();
  } catch (...) {
    failure = std::current_exception();
    outcome = {RoundStatus::failed, "the run directory cannot be written"};
  }
  current_ = nullptr;
  experiment_ = nullptr;
  if (experiment) co_await experiment->finish(outcome);
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

void AgentBackend::interrupt(int times) {
  if (experiment_ != nullptr && times == 1) experiment_->stop();
  if (current_ != nullptr)
    current_->interrupt();
  else if (fleet_)
    fleet_->abandon();
}

asio::awaitable<void> AgentBackend::close() {
  co_await fleet_->disconnect();
}

asio::awaitable<void> AgentBackend::provide_image(const plan::CasePlan& plan_case) {
  const plan::Container& container = *plan_case.container;
  const auto commands = rendezvous::image_commands(container);
  const std::string key = container.runtime + " " + container.image;
  if (commands.empty() || images_.contains(key)) co_return;
  context_.observer.waiting("image " + container.image + " for " +
                            counted(plan_case.nodes, "node"));
  const auto executor = co_await asio::this_coro::executor;
  const std::vector<std::string> args{"--until", dump_line(Json(commands))};
  std::map<int, std::string> problems;
  int open = plan_case.nodes;
  asio::steady_timer all_done(executor, asio::steady_timer::time_point::max());
  for (int node = 0; node < plan_case.nodes; ++node) {
    const std::string host = fleet_->host(node);
    const auto progress = [this, host](std::string_view text) {
      const std::string_view line = trim(text);
      if (line.empty()) return;
      context_.observer.waiting(host + ": " + printable(line.substr(line.rfind('\n') + 1)));
    };
    asio::co_spawn(executor,
                   run_process(launcher_->agent_command(host, fleet_->identity(node), args),
                               "host " + host, {}, progress, container.timeout),
                   [&, node](const std::exception_ptr& error, const CommandResult& result) {
                     if (error || !result.ok())
                       problems[node] = error              ? "the command could not be started"
                                        : result.timed_out ? "no progress for too long"
                                                           : result.err;
                     if (--open == 0) all_done.cancel();
                   });
  }
  while (open > 0) {
    asio::error_code ec;
    co_await all_done.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (problems.empty()) {
    images_.insert(key);
    co_return;
  }
  std::string text;
  for (const auto& [node, problem] : problems)
    text += (text.empty() ? "" : "; ") + fleet_->host(node) + ": " + problem;
  throw Error(ErrorKind::launch, "the image " + container.image + " is not available on " + text,
              "case " + plan_case.name,
              "pull or load it there, or correct `container` in the suite");
}

}  // namespace assay::launch
