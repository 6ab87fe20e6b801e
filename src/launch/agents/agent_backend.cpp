#include "launch/agents/agent_backend.h"

#include <algorithm>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "core/address.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/node_part.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "launch/agents/clock_offset.h"
#include "launch/agents/launch_command.h"
#include "launch/agents/start_advice.h"
#include "launch/round_folder.h"
#include "launch/run_on_thread.h"
#include "rendezvous/container.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

// The pipes of a channel, and of a transfer beside it; a shell's usual limit is 1,024.
constexpr std::size_t kFilesPerHost = 6;
constexpr std::size_t kFilesPerWorker = 3;  // its connection, and weights both ways
constexpr std::size_t kOwnFiles = 64;
constexpr std::size_t kAttemptsSwept = 3;
constexpr int kMostParts = 20;  // a journal may say anything
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

std::string list_missing(const std::map<std::string, std::string>& missing) {
  std::string text;
  for (const auto& [host, why] : missing) text += (text.empty() ? "" : "; ") + host + ": " + why;
  return text;
}

// Without its place, which is the host that is named beside it.
std::string cause_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.message();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

AgentBackend::AgentBackend(const BackendContext& context, std::unique_ptr<Launcher> launcher)
    : context_(context), plan_(context.run.plan()), launcher_(std::move(launcher)) {
  const std::vector<Json> journal = store::Journal::read(context_.run.journal_file());
  lost_agents_ = left_agents(journal);
  lost_jobs_ = left_jobs(journal);
  for (const Json& event : journal)
    if (store::event_of(event) == store::JournalEvent::round_start) {
      const auto [name, round] = store::round_of(event);
      const auto start = fields_from_any<store::RoundStart>(event);
      if (!start.id.empty()) note_attempt(name, round, start.id);
    } else if (store::event_of(event) == store::JournalEvent::node_again) {
      const auto [name, round] = store::round_of(event);
      note_part(name, round, static_cast<int>(integer_at(event, "part", 1)));
    }
}

void AgentBackend::note_attempt(const std::string& name, int round, const std::string& id) {
  std::vector<Attempt>& known = attempts_[{name, round}];
  known.push_back({id});
  if (known.size() > kAttemptsSwept) known.erase(known.begin());
}

void AgentBackend::note_part(const std::string& name, int round, int part) {
  std::vector<Attempt>& known = attempts_[{name, round}];
  if (!known.empty()) known.back().parts = std::clamp(part, known.back().parts, kMostParts);
}

asio::awaitable<void> AgentBackend::prepare() {
  std::vector<std::string> hosts = used_hosts(plan_, *launcher_);
  allow_open_files(hosts.size() * kFilesPerHost + max_workers(plan_) * kFilesPerWorker);
  co_await run_on_thread([this] {
    launcher_->prepare(plan_);
    launcher_->end_jobs(lost_jobs_);
  });
  const plan::LauncherTraits& traits = launcher_->traits();
  if (!traits.chooses_hosts && !traits.one_machine) pool_.emplace(launcher_->hosts(plan_));
  fleet_ = std::make_unique<Fleet>(context_.loop, *launcher_, std::move(hosts));
  fleet_->on_waiting([this](const std::string& what_for) { context_.observer.waiting(what_for); });
  fleet_->on_shared([this](const SharingRecord& record) {
    context_.journal.append(store::JournalEvent::programs_shared, fields_to_json(record));
    for (const std::string& notice : record.notices) context_.observer.warning(printable(notice));
  });
  std::exception_ptr failure;
  try {
    if (pool_)
      co_await gather_enough();
    else
      co_await fleet_->connect();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    co_await give_back_jobs();
    std::rethrow_exception(failure);
  }
  note_agents();
  co_await sweep_lost_agents();
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
    context_.journal.append(store::JournalEvent::clock_offset, fields);
    const probe::Check check = check_offset(offset);
    if (check.level == probe::Level::fail)
      context_.observer.warning("the clock of " + host + " is " + check.seen + ": " + check.advice);
  }
}

// As many as used_hosts() gave; at least `min_nodes`, or what the smallest case needs.
asio::awaitable<void> AgentBackend::gather_enough() {
  const auto missing = co_await gather(fleet_->size());
  int there = 0;
  for (int node = 0; node < fleet_->size(); ++node) there += fleet_->present(node) ? 1 : 0;
  int least = plan_.cluster.min_nodes;
  if (least == 0) {
    least = fleet_->size();
    for (const plan::CasePlan& plan_case : plan_.cases) least = std::min(least, plan_case.nodes);
  }
  if (there >= least) co_return;
  const std::string said = list_missing(missing);
  throw Error(ErrorKind::launch, "not every agent could be started: " + said, {},
              start_advice(said));
}

asio::awaitable<std::map<std::string, std::string>> AgentBackend::gather(int nodes) {
  std::map<std::string, std::string> missing;
  pool_->begin();
  for (bool complete = true; complete;) {
    const std::map<int, std::string> absent = co_await fleet_->try_connect(nodes);
    if (absent.empty()) break;
    for (const auto& [node, why] : absent) {
      const std::string host = fleet_->host(node);
      const std::optional<int> from = pool_->replace(node, nodes);
      const std::string& instead = pool_->hosts().at(static_cast<std::size_t>(node));
      leave_out(host, why, from ? instead : "");
      if (!from) {
        missing[host] = why;
        complete = false;
        continue;
      }
      fleet_->set_host(node, instead);
      if (*from < fleet_->size()) fleet_->set_host(*from, host);
      new_nodes_ = true;
      images_.clear();  // which the new one may lack
    }
  }
  co_return missing;
}

void AgentBackend::leave_out(const std::string& host, const std::string& why,
                             const std::string& instead) {
  Json fields{{"host", host}, {"reason", why}};
  if (!instead.empty()) fields["instead"] = instead;
  context_.journal.append(store::JournalEvent::host_left_out, fields);
  if (!left_out_.insert(host).second) return;
  context_.observer.warning(printable(host + " is left out" +
                                      (instead.empty() ? "" : ", " + instead + " takes its place") +
                                      ": " + why));
}

asio::awaitable<Json> AgentBackend::describe() {
  new_nodes_ = false;
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
  // Agents that were lost in an earlier round come back here, or others step in.
  co_await give_back_jobs();
  if (pool_)
    co_await gather_for(task.plan_case);
  else
    co_await fleet_->connect();
  note_agents();
  co_await sweep_earlier(task);
  if (task.plan_case.container) co_await provide_image(task.plan_case);
}

void AgentBackend::note_agents() {
  for (int node = 0; node < fleet_->size(); ++node) {
    const std::vector<std::string>& processes = fleet_->identity(node).processes;
    NotedAgent& noted = noted_agents_[node];
    if (!fleet_->present(node) || noted.processes == processes) continue;
    if (!noted.processes.empty())
      lost_agents_[noted.host].insert(noted.processes.begin(), noted.processes.end());
    noted = {fleet_->host(node), processes};
    Json start{{"node", node}, {"host", noted.host}, {"processes", processes}};
    if (const std::string& job = fleet_->identity(node).job; !job.empty()) start["job"] = job;
    context_.journal.append(store::JournalEvent::agent_start, start);
  }
}

std::vector<std::string> AgentBackend::take_lost_agents(int node) {
  const auto found = lost_agents_.extract(fleet_->host(node));
  if (!found) return {};
  std::set<std::string>& lost = found.mapped();
  // Those that serve, as other nodes of the same machine, are not lost.
  for (const auto& [other, noted] : noted_agents_)
    for (const std::string& process : noted.processes) lost.erase(process);
  return {lost.begin(), lost.end()};
}

asio::awaitable<void> AgentBackend::sweep_lost_agents() {
  for (int node = 0; node < fleet_->size(); ++node) {
    if (!fleet_->present(node)) continue;
    const Remains remains{.agents = take_lost_agents(node)};
    if (!remains.agents.empty()) fleet_->sweep(node, remains);
  }
  co_await fleet_->settle();
}

asio::awaitable<void> AgentBackend::sweep_earlier(const RoundTask& task) {
  const auto earlier = attempts_.find({task.plan_case.name, task.number});
  if (earlier == attempts_.end()) co_return co_await sweep_lost_agents();
  rendezvous::Placement placement =
      rendezvous::place(plan_, task.plan_case, fleet_->hosts(), task.number);
  for (int node = 0; node < task.plan_case.nodes; ++node)
    placement.bindirs.push_back(launcher_->programs_dir(fleet_->identity(node)).string());
  for (int node = 0; node < task.plan_case.nodes; ++node) {
    // Containers have the same names in every attempt.
    Remains remains{.agents = take_lost_agents(node)};
    const NodePlace place{context_.run.path(), task.plan_case.name, task.number, fleet_->host(node),
                          node};
    const rendezvous::NodeCommands commands =
        rendezvous::resolve_node(plan_, task.plan_case, placement, node,
                                 at_home(launcher_->remote_dir(place), fleet_->identity(node)));
    for (const rendezvous::RankCommand& rank : commands.ranks)
      if (!rank.cleanup.empty()) remains.cleanups.push_back(rank.cleanup);
    if (!commands.visitors_cleanup.empty()) remains.cleanups.push_back(commands.visitors_cleanup);
    for (const Attempt& attempt : earlier->second)
      for (int part = 1; part <= attempt.parts; ++part) {
        remains.round_id = layout::part_id(attempt.id, part);
        fleet_->sweep(node, remains);
        remains = {};
      }
  }
  co_await fleet_->settle();
}

asio::awaitable<void> AgentBackend::gather_for(const plan::CasePlan& plan_case) {
  const auto missing = co_await gather(plan_case.nodes);
  if (!missing.empty()) {
    const std::string said = list_missing(missing);
    throw NodesMissing(ErrorKind::launch,
                       fmt::format("it needs {}, and these cannot be had: {}",
                                   counted(plan_case.nodes, "node"), said),
                       "case " + plan_case.name, start_advice(said));
  }
  if (new_nodes_ && !launcher_->traits().one_clock) co_await compare_clocks();
}

asio::awaitable<RoundOutcome> AgentBackend::run_round(const RoundTask& task) {
  std::unique_ptr<ExperimentHost> experiment;
  RoundTask own = task;
  std::map<std::string, std::string> env = context_.env;
  if (task.plan_case.automl) {
    take_up_experiment(context_.run, task.plan_case, task.number);
    std::filesystem::path directory =
        context_.run.round_dir(task.plan_case.name, task.number) / layout::kExperiment;
    experiment = co_await ExperimentHost::make(context_.loop, plan_, task.plan_case,
                                               std::move(directory), *fleet_);
    for (const auto& [name, value] : experiment->environment()) env[name] = value;
    own.on_progress = [&task, host = experiment.get()](RoundProgress progress) {
      progress.automl = host->live();
      task.on_progress(progress);
    };
  }
  Round round(context_, *launcher_, *fleet_, own, std::move(env));
  note_attempt(task.plan_case.name, task.number, round.id());
  round.on_return([this, &task](int part) {
    note_part(task.plan_case.name, task.number, part);
    note_agents();
  });
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
  if (experiment) outcome = co_await experiment->finish(outcome);
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
  co_await give_back_jobs();
}

asio::awaitable<void> AgentBackend::give_back_jobs() {
  for (int node = 0; node < fleet_->size(); ++node)
    if (fleet_->present(node)) co_return;
  const std::string problem = co_await run_on_thread([this] { return launcher_->give_back(); });
  if (!problem.empty()) context_.observer.warning(printable(problem));
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
                     if (error)
                       problems[node] = "the command could not be started: " + cause_of(error);
                     else if (!result.ok())
                       problems[node] = result.timed_out ? "no progress for too long" : result.err;
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
