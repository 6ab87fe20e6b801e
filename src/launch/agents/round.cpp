#include "launch/agents/round.h"

#include <random>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/job_variables.h"
#include "core/json_access.h"
#include "core/run_layout.h"
#include "core/secrets.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/agents/collect.h"
#include "launch/round_listing.h"
#include "launch/run_on_thread.h"
#include "rendezvous/container.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kPortLimit = std::chrono::seconds(5);
// The agent gives sync and sudo their own, shorter limits.
constexpr Nanoseconds kDropLimit = std::chrono::minutes(2);
// The agent bounds each part of it.
constexpr Nanoseconds kIdentifyLimit = std::chrono::seconds(60);
constexpr int kDefaultPort = 29500;
// A second, of output for onlookers: little for the links, and for the controller.
constexpr std::uint64_t kLiveBytesOfNode = 64U << 10;
constexpr std::uint64_t kLiveBytesOfAll = 2U << 20;
// Of a node of an experiment: more often it would only cost trials.
constexpr int kReturns = 10;
constexpr auto kTickEvery = std::chrono::milliseconds(200);

std::string expand_bindir(std::string word, const std::string& bindir) {
  constexpr std::string_view kName = "{bindir}";
  for (auto at = word.find(kName); at != std::string::npos; at = word.find(kName, at))
    word.replace(at, kName.size(), bindir);
  return word;
}

std::string unique_id(const plan::Plan& plan, const RoundTask& task) {
  std::random_device entropy;
  return fmt::format("{}/{}/{}-{:08x}", plan.run_id, task.plan_case.name, task.number, entropy());
}

// One command a node, or one on the head, counts as one rank.
int started_ranks(const plan::CasePlan& plan_case) {
  switch (plan_case.launch) {
    case plan::LaunchMode::per_node:
      return plan_case.nodes;
    case plan::LaunchMode::head:
      return 1;
    case plan::LaunchMode::per_rank:
      break;
  }
  return plan_case.world_size();
}

std::set<int> watched_nodes(const plan::CasePlan& plan_case) {
  std::set<int> nodes;
  if (plan_case.launch == plan::LaunchMode::head)
    for (int node = 1; node < plan_case.nodes; ++node) nodes.insert(node);
  return nodes;
}

// A case that has the variable ends when it has come to its `sleep infinity`, and the time that it
// says after that.
std::optional<Nanoseconds> kept_open(const plan::CasePlan& plan_case) {
  const auto found = plan_case.env.find(std::string(kKeepOpenVariable));
  if (found == plan_case.env.end()) return std::nullopt;
  return parse_duration(found->second);
}

}  // namespace

Round::Round(const BackendContext& context, const Launcher& launcher, Fleet& fleet,
             const RoundTask& task, std::map<std::string, std::string> env)
    : context_(context),
      plan_(context.run.plan()),
      launcher_(launcher),
      fleet_(fleet),
      task_(task),
      placement_(rendezvous::place(plan_, task.plan_case, fleet.hosts(), task.number)),
      id_(unique_id(plan_, task)),
      machine_({id_,
                {placement_.hosts.begin(), placement_.hosts.begin() + task.plan_case.nodes},
                started_ranks(task.plan_case),
                task.plan_case.limits,
                task.plan_case.automl.has_value(),
                watched_nodes(task.plan_case),
                kept_open(task.plan_case).value_or(Nanoseconds(0)),
                task.plan_case.automl ? kReturns : 0}),
      changed_(context.loop) {
  for (int node = 0; node < nodes(); ++node) {
    placement_.addresses.push_back(fleet_.identity(node).address);
    placement_.bindirs.push_back(launcher_.programs_dir(fleet_.identity(node)).string());
    placement_.ssh_folders.push_back(agent::round_ssh_folder(id_, node).string());
  }
  placement_.env = std::move(env);
  if (plan_.cluster.master_addr.empty() && !launcher_.traits().one_machine)
    placement_.master_addr = master_address();
  if (!launcher_.traits().shares_files)
    live_logs_.emplace(
        context_.run.live_logs() / task_.plan_case.name / layout::round_folder(task_.number),
        std::vector(placement_.hosts.begin(), placement_.hosts.begin() + nodes()));
}

// Names may not resolve on the nodes, or lead to a loopback address there.
std::string Round::master_address() const {
  const agent::Hello& first = fleet_.identity(0);
  if (!first.address.empty()) return first.address;
  for (int node = 1; node < nodes(); ++node)
    if (fleet_.identity(node).boot_id != first.boot_id || first.boot_id.empty())
      return placement_.hosts.front();
  return "127.0.0.1";
}

void Round::journal(store::JournalEvent event, int node, const Json& fields) {
  Json all = fields_to_json(store::RoundName{task_.plan_case.name, task_.number});
  if (node >= 0) all.update(fields_to_json(store::NodeName{node, host(node)}));
  all.update(fields);
  context_.journal.append(event, all);
}

NodePlace Round::place_of(int node, int part) const {
  return {context_.run.path(), task_.plan_case.name, task_.number, host(node), node, part};
}

std::filesystem::path Round::remote_dir(int node, int part) const {
  return at_home(launcher_.remote_dir(place_of(node, part)), fleet_.identity(node));
}

asio::awaitable<void> Round::choose_port() {
  placement_.master_port = kDefaultPort;
  std::map<int, agent::FreePortRequest> request;
  request[0] = {};
  const auto replies = co_await fleet_.ask(std::move(request), kPortLimit);
  if (const auto& answer = replies.at(0).answer) placement_.master_port = answer->port;
}

// Before any rank starts: a node that still writes its pages out would hold up the others.
asio::awaitable<void> Round::drop_caches() {
  std::map<int, agent::DropCachesRequest> requests;
  for (int node = 0; node < nodes(); ++node) requests[node] = {};
  for (const auto& [node, reply] : co_await fleet_.ask(std::move(requests), kDropLimit))
    cache_drops_[node] = {{"done", reply.answer && reply.answer->done},
                          {"how", reply.answer ? reply.answer->how : reply.problem}};
}

// Before the round starts, so that hashing takes nothing from what is measured.
asio::awaitable<void> Round::identify() {
  const plan::CasePlan& plan_case = task_.plan_case;
  std::map<int, agent::IdentifyRequest> requests;
  for (int node = 0; node < nodes(); ++node) {
    rendezvous::NodeCommands commands =
        rendezvous::resolve_node(plan_, plan_case, placement_, node, remote_dir(node));
    if (commands.ranks.empty()) continue;  // the head starts what runs there
    rendezvous::RankCommand& first = commands.ranks.front();
    probe::ExecutionQuery query;
    executed_[node]["command"] = Json::array();
    for (const std::string& word : first.argv)
      executed_[node]["command"].push_back(without_secret("", word));
    query.argv = std::move(first.mounts ? first.contained : first.argv);
    query.mounts = std::move(first.mounts);
    query.env = std::move(commands.env);
    for (auto& [name, value] : first.env) query.env[name] = std::move(value);
    // What no file may hold: the answer is written down, whatever the variable is called.
    for (const auto& [name, value] : placement_.env) query.env[name] = kHiddenValue;
    query.workdir = rendezvous::workdir_on(plan_case, host(node));
    query.data = plan_case.data_paths;
    if (plan_case.container) query.image_query = rendezvous::image_query(*plan_case.container);
    if (!query.workdir.empty()) executed_[node]["workdir"] = query.workdir;
    requests[node].query = std::move(query);
  }
  const auto replies = co_await fleet_.ask(std::move(requests), kIdentifyLimit);
  for (const auto& [node, reply] : replies) {
    if (reply.answer)
      executed_[node].update(fields_to_json(reply.answer->execution));
    else
      executed_[node]["problem"] = reply.problem;
  }
}

void Round::journal_start() {
  store::RoundStart start{.id = id_, .master_port = placement_.master_port};
  for (int node = 0; node < nodes(); ++node) start.nodes.push_back({node, host(node)});
  journal(store::JournalEvent::round_start, -1, fields_to_json(start));
  for (const auto& [node, drop] : cache_drops_) journal(store::JournalEvent::caches, node, drop);
  for (const auto& [node, what] : executed_) journal(store::JournalEvent::executed, node, what);
}

// A thousand agents on one machine need not all list its processes.
bool Round::is_first_of_its_machine(int node) const {
  const std::string& boot = fleet_.identity(node).boot_id;
  for (int other = 0; other < node && !boot.empty(); ++other)
    if (fleet_.identity(other).boot_id == boot) return false;
  return true;
}

agent::RoundRequest Round::request_for(int node) {
  const plan::CasePlan& plan_case = task_.plan_case;
  agent::RoundRequest request;
  request.id = machine_.part_id(node);
  request.directory = remote_dir(node, machine_.part(node));
  request.fresh = !launcher_.traits().shares_files;
  if (launcher_.traits().shares_files && !launcher_.traits().one_machine)
    request.shared_file = context_.run.path() / layout::kPlan;
  request.workdir = rendezvous::workdir_on(plan_case, host(node));
  request.files = placement_.files;
  rendezvous::NodeCommands commands =
      rendezvous::resolve_node(plan_, plan_case, placement_, node, request.directory);
  request.env = std::move(commands.env);
  for (rendezvous::RankCommand& rank : commands.ranks) {
    if (!rank.cleanup.empty()) cleanups_[node].push_back(rank.cleanup);
    request.ranks.push_back({rank.rank, rank.local_rank, std::move(rank.argv), std::move(rank.env),
                             std::move(rank.cleanup)});
  }
  request.owns_marked = plan_case.launch == plan::LaunchMode::head;
  request.bind = plan_case.bind;
  request.time_limit = plan_case.limits.time;
  if (machine_.part(node) > 1 && request.time_limit.count() > 0)
    request.time_limit = std::max<Nanoseconds>(
        request.time_limit - Nanoseconds(mono_now_ns() - begun_ns_), std::chrono::seconds(1));
  request.stall_limit = plan_case.limits.stall;
  request.grace = plan_case.limits.grace;
  request.output_limit = plan_case.limits.output_bytes;
  if (plan_.telemetry.enabled) {
    request.telemetry_interval = plan_.telemetry.interval;
    for (const Json& source : plan_.vendor_data.value("samples", Json::array())) {
      request.sources.push_back(telemetry::device_source_from_json(source, "plan.json"));
      for (std::string& word : request.sources.back().command)
        word =
            expand_bindir(std::move(word), placement_.bindirs.at(static_cast<std::size_t>(node)));
    }
  }
  request.case_name = plan_case.name;
  request.round = task_.number;
  request.lists_processes = is_first_of_its_machine(node);
  request.metrics = plan_.telemetry.prometheus;
  if (rendezvous::wants_ssh(plan_case) && (!plan_case.container || !commands.visitors.empty())) {
    if (!commands.visitors_cleanup.empty()) cleanups_[node].push_back(commands.visitors_cleanup);
    request.ssh = {placement_.ssh_folders.at(static_cast<std::size_t>(node)), ssh_names(),
                   std::move(commands.visitor_env), std::move(commands.visitors),
                   std::move(commands.visitors_cleanup)};
  }
  request.ends_at_rest = kept_open(plan_case).has_value();
  if (live_logs_)
    request.live_bytes =
        std::min(kLiveBytesOfNode, kLiveBytesOfAll / static_cast<unsigned>(nodes()));
  return request;
}

// A machine's own name too, where only one node is on it.
std::map<std::string, int> Round::ssh_names() const {
  std::map<std::string, int> names = rendezvous::node_names(plan_, placement_);
  std::map<std::string, std::vector<int>> machines;
  for (int node = 0; node < nodes(); ++node) machines[fleet_.identity(node).host].push_back(node);
  for (const auto& [name, on_it] : machines)
    if (!name.empty() && on_it.size() == 1) names.try_emplace(name, on_it.front());
  return names;
}

void Round::pass_on(int from, agent::Relay relay) {
  if (relay.peer < 0 || relay.peer >= nodes() || !fleet_.connected(relay.peer)) return;
  const int to = std::exchange(relay.peer, from);
  relay.id = machine_.part_id(to);
  fleet_.send(to, std::move(relay));
}

void Round::send_work() {
  for (int node = 0; node < nodes(); ++node) fleet_.send(node, request_for(node));
  begun_ns_ = mono_now_ns();
  machine_.begin(begun_ns_);
  // Agents that went while they were asked for a port or their caches.
  for (int node = 0; node < nodes(); ++node)
    if (!fleet_.connected(node))
      apply(machine_.lost(mono_now_ns(), node, "it was gone before the ranks were started"));
}

void Round::apply(const RoundMachine::Actions& actions) {
  try {
    for (const RoundMachine::JournalEntry& entry : actions.journal) {
      journal(entry.event, entry.node, entry.fields);
      say_whereabouts(entry);
    }
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  for (const int node : actions.drop) fleet_.drop(node);
  for (const int node : actions.sweep) fleet_.sweep(node, remains_of(node));
  for (const auto& [node, request] : actions.stop) fleet_.send(node, request);
  for (const int node : actions.bring_back) bring_back(node);
  for (const int node : actions.begin) begin_again(node);
  changed_.cancel();
}

Remains Round::remains_of(int node) {
  const agent::Hello& hello = fleet_.identity(node);
  Remains remains{machine_.part_id(node), hello.processes, cleanups_[node]};
  // The others of an experiment go on: on a machine that the node shares with one of them, what
  // carries the round's mark may be theirs, and the agent's own are known by its name.
  for (int other = 0; other < nodes() && task_.plan_case.automl; ++other)
    if (other != node && !machine_.is_lost(other) && !hello.boot_id.empty() &&
        fleet_.identity(other).boot_id == hello.boot_id)
      remains.round_id.clear();
  return remains;
}

void Round::bring_back(int node) {
  asio::co_spawn(
      context_.loop, fleet_.bring_back(node, remains_of(node)),
      [this, alive = alive_, node](const std::exception_ptr& error, const std::string& problem) {
        if (!*alive || collecting_) return;
        apply(error || !problem.empty()
                  ? machine_.not_back(mono_now_ns(), node, error ? "it cannot be asked" : problem)
                  : machine_.came_back(mono_now_ns(), node));
      });
}

void Round::begin_again(int node) {
  const auto at = static_cast<std::size_t>(node);
  const agent::Hello& hello = fleet_.identity(node);
  placement_.addresses.at(at) = hello.address;
  placement_.bindirs.at(at) = launcher_.programs_dir(hello).string();
  placement_.ssh_folders.at(at) = agent::round_ssh_folder(machine_.part_id(node), node).string();
  cleanups_.erase(node);
  if (on_return_) on_return_(machine_.part(node));
  fleet_.send(node, request_for(node));
}

void Round::say_whereabouts(const RoundMachine::JournalEntry& entry) {
  if (entry.node < 0) return;
  Observer& tell = context_.observer;
  const std::string place = task_.plan_case.name + ": " + host(entry.node);
  const std::string reason = text_at(entry.fields, "reason");
  if (entry.event == store::JournalEvent::node_away && true_at(entry.fields, "comes_back"))
    tell.warning(printable(fmt::format(
        "{} left the round ({}) and is looked for while the others go on", place, reason)));
  else if (entry.event == store::JournalEvent::node_away)
    tell.warning(printable(fmt::format("{} left the round ({})", place, reason)));
  else if (entry.event == store::JournalEvent::node_again)
    tell.remark(printable(fmt::format("{} is back in the round after {:.0f} s", place,
                                      number_at(entry.fields, "away_s", 0.0))));
  else if (entry.event == store::JournalEvent::node_given_up)
    tell.warning(printable(fmt::format("{} does not come back: {}", place, reason)));
}

asio::awaitable<RoundOutcome> Round::run() {
  fleet_.listen({[this](int node, const agent::Report& report) {
                   if (const auto* output = std::get_if<agent::Output>(&report);
                       output != nullptr && live_logs_ && output->id == machine_.part_id(node))
                     live_logs_->write(node, *output);
                   if (const auto* relay = std::get_if<agent::Relay>(&report);
                       relay != nullptr && relay->id == machine_.part_id(node))
                     pass_on(node, *relay);
                   apply(machine_.report(mono_now_ns(), node, report));
                   if (task_.on_progress) task_.on_progress(machine_.progress());
                 },
                 [this](int node, const std::string& reason) {
                   apply(machine_.lost(mono_now_ns(), node, reason));
                 }});
  if (placement_.master_port == 0) co_await choose_port();
  if (!machine_.over()) co_await identify();
  // After the code was read: it is to come from the disk again.
  if (task_.plan_case.drop_caches) co_await drop_caches();
  journal_start();
  if (!machine_.over()) send_work();
  while (!machine_.over() && !failure_) {
    changed_.expires_after(kTickEvery);
    asio::error_code ec;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    apply(machine_.tick(mono_now_ns()));
  }
  collecting_ = true;
  fleet_.listen({});
  co_await fleet_.settle();
  if (!launcher_.traits().shares_files) co_await collect_evidence();
  if (failure_) std::rethrow_exception(failure_);
  std::string scheduler;
  if (machine_.ask_scheduler()) scheduler = co_await launcher_.explain_end(fleet_.identity(0));
  // Agents that end may take a while to close their connection: another round must not get them.
  for (const int node : machine_.leaving()) fleet_.drop(node);
  for (int node = 0; node < nodes() && !scheduler.empty(); ++node) fleet_.drop(node);
  RoundOutcome outcome = machine_.outcome(scheduler);
  // A head that failed may have started nothing at all, whatever it hands on.
  if (outcome.status != RoundStatus::failed && outcome.status != RoundStatus::launch_failed)
    say_unmarked();
  for (int node = 0; node < nodes(); ++node)
    for (int part = 1; part <= machine_.part(node); ++part)
      if (machine_.files(node, part) != nullptr)
        outcome.listed.insert(layout::part_folder(layout::node_folder(host(node), node), part));
  co_return outcome;
}

void Round::say_unmarked() {
  std::vector<std::string> names;
  for (const int node : machine_.unmarked()) names.push_back(host(node));
  if (names.empty()) return;
  context_.observer.remark(printable(
      fmt::format("{}: no process of the round was seen on {}: what the head starts there is "
                  "watched, and ended "
                  "with the round, only where it has ASSAY_ROUND_ID in its environment (mpirun -x "
                  "ASSAY_ROUND_ID)",
                  task_.plan_case.name, join(names, ", "))));
}

asio::awaitable<void> Round::collect_evidence() {
  std::vector<NodeFolder> folders;
  for (int node = 0; node < nodes(); ++node)
    for (int part = 1; part <= machine_.part(node); ++part) {
      folders.push_back({node, part, host(node), fleet_.identity(node), remote_dir(node, part),
                         place_of(node, part).local(), task_.plan_case.limits.output_bytes});
      // The sweep has just reached it, or failed to: there is no passing trouble to wait for.
      if (machine_.is_lost(node)) folders.back().tries = 1;
    }
  // Where the agent is gone, the next round on the node or the next run's cleaning removes it.
  const auto forget = [this](const NodeFolder& folder) {
    fleet_.send(folder.node, agent::ForgetRequest{folder.remote});
  };
  const std::vector<Collected> results = co_await collect(launcher_, std::move(folders), forget);
  for (const Collected& result : results) {
    Json collected{{"files", result.files}, {"bytes", result.bytes}, {"seconds", result.seconds}};
    if (result.part > 1) collected["part"] = result.part;
    if (const transfer::LeftOut& rest = result.left_out; rest.files > 0) {
      collected["left_out"] = {{"files", rest.files}, {"bytes", rest.bytes}, {"names", rest.names}};
      say_left_out(result);
    }
    journal(store::JournalEvent::collected, result.node, collected);
    if (result.problem.empty()) {
      co_await check_received(result.node, result.part);
      continue;
    }
    const std::string reason =
        "the logs of " + host(result.node) + " could not be fetched: " + result.problem;
    journal(store::JournalEvent::gap, result.node,
            {{"source", "logs"}, {"seconds", 0}, {"reason", reason}});
    if (result.unwritten)
      machine_.not_written(reason);
    else
      machine_.not_collected(reason);
  }
}

void Round::say_left_out(const Collected& result) {
  const transfer::LeftOut& rest = result.left_out;
  context_.observer.warning(fmt::format(
      "not fetched from {}: {} of {} ({}{}); beside its evidence a node's files are fetched up to "
      "limits.output ({}), and the others stay in {} there until the round is run again",
      host(result.node), counted(rest.files, "file"), format_bytes(static_cast<double>(rest.bytes)),
      join(rest.names, ", "), rest.files > rest.names.size() ? ", …" : "",
      format_bytes(static_cast<double>(task_.plan_case.limits.output_bytes)),
      remote_dir(result.node, result.part).string()));
}

// The transfer has its own checksums: what differs here was changed on the node.
asio::awaitable<void> Round::check_received(int node, int part) {
  const auto* listed = machine_.files(node, part);
  if (listed == nullptr) co_return;
  const std::filesystem::path folder = place_of(node, part).local();
  const std::vector<evidence::FileRecord>& files = *listed;
  const auto look = [&] { return misfits(folder, files); };
  const std::vector<std::string> problems = co_await run_on_thread(look);
  for (const std::string& problem : problems) {
    const Json fields{{"source", layout::kEvidence}, {"seconds", 0}, {"reason", problem}};
    journal(store::JournalEvent::gap, node, fields);
  }
}

void Round::interrupt() {
  apply(machine_.interrupt(mono_now_ns()));
  fleet_.stop_asking();
}

void Round::wind_down() {
  machine_.wind_down(mono_now_ns());
}

void Round::fail(const RoundOutcome& outcome) {
  machine_.fail(mono_now_ns(), outcome);
  changed_.cancel();
}

}  // namespace assay::launch
