#include "launch/round.h"

#include <algorithm>
#include <random>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <signal.h>

#include "agent/messages.h"
#include "core/error.h"
#include "core/subprocess.h"
#include "core/units.h"
#include "launch/collect.h"

namespace assay::launch {

namespace {

// An agent sends a heartbeat every second.
constexpr std::int64_t kSilenceLimit = 15'000'000'000;
// After a stop an agent needs its grace, a look for leftovers and the end of telemetry.
constexpr std::int64_t kStopMargin = 20'000'000'000;
constexpr Nanoseconds kPortLimit = std::chrono::seconds(5);
// The agent gives sync and sudo their own, shorter limits.
constexpr Nanoseconds kDropLimit = std::chrono::minutes(2);
constexpr int kDefaultPort = 29500;
constexpr auto kCheckEvery = std::chrono::milliseconds(200);

std::string expand_bindir(std::string word, const std::string& bindir) {
  constexpr std::string_view kName = "{bindir}";
  for (auto at = word.find(kName); at != std::string::npos; at = word.find(kName, at))
    word.replace(at, kName.size(), bindir);
  return word;
}

std::string state_text(const std::string& state) {
  if (state == "T" || state == "t") return ", stopped by a signal";
  if (state == "D") return ", waiting for the kernel (disk or driver)";
  if (state == "Z") return ", ended but not reaped";
  return {};
}

}  // namespace

Round::Round(asio::io_context& loop, Context context, int number)
    : context_(std::move(context)),
      number_(number),
      placement_(
          rendezvous::place(context_.plan, context_.plan_case, context_.fleet.hosts(), number)),
      nodes_(static_cast<std::size_t>(context_.plan_case.nodes)),
      changed_(loop) {
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    placement_.bindirs.push_back(
        context_.launcher.programs_dir(context_.fleet.identity(node)).string());
  placement_.env = context_.env;
  if (context_.plan.cluster.master_addr.empty() && context_.plan.cluster.launcher != "local")
    placement_.master_addr = master_address();
  std::random_device entropy;
  id_ = fmt::format("{}/{}/{}-{:08x}", context_.plan.run_id, context_.plan_case.name, number,
                    entropy());
}

// Names may not resolve on the nodes, or lead to a loopback address there.
std::string Round::master_address() const {
  const Json& first = context_.fleet.identity(0);
  if (const std::string address = first.value("address", ""); !address.empty()) return address;
  for (int node = 1; node < static_cast<int>(nodes_.size()); ++node)
    if (context_.fleet.identity(node).value("boot_id", "?") != first.value("boot_id", ""))
      return placement_.hosts.front();
  return "127.0.0.1";
}

const std::string& Round::host(int node) const {
  return placement_.hosts[static_cast<std::size_t>(node)];
}

std::string Round::rank_on_host(int rank, int node) const {
  return fmt::format("rank {} on {}", rank, host(node));
}

void Round::journal(const std::string& event, int node, const Json& message) {
  Json fields{{"case", context_.plan_case.name}, {"round", number_}};
  if (node >= 0) {
    fields["node"] = node;
    fields["host"] = host(node);
  }
  for (const auto& [key, value] : message.items())
    if (key != "type" && key != "node" && key != "id") fields[key] = value;
  context_.journal.append(event, fields);
}

std::filesystem::path Round::remote_dir(int node) const {
  return at_home(context_.launcher.remote_dir(
                     context_.run.node_dir(context_.plan_case.name, number_, host(node), node)),
                 context_.fleet.identity(node));
}

asio::awaitable<void> Round::choose_port() {
  const Json request = Json::object({{"type", "free_port"}});
  const std::optional<Json> answer =
      co_await context_.fleet.ask_one(0, request, "port", kPortLimit);
  placement_.master_port = answer ? answer->value("port", kDefaultPort) : kDefaultPort;
}

asio::awaitable<void> Round::collect_evidence() {
  std::vector<NodeFolder> folders;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    folders.push_back({node, host(node), context_.fleet.identity(node), remote_dir(node),
                       context_.run.node_dir(context_.plan_case.name, number_, host(node), node)});
    // The sweep just failed to reach it, or did: there is no passing trouble to wait for.
    if (nodes_[static_cast<std::size_t>(node)].lost) folders.back().tries = 1;
  }
  // Where the agent is gone, the next round on the node or the next run's cleaning removes it.
  const auto forget = [this](const NodeFolder& folder) {
    context_.fleet.send(folder.node, {{"type", "forget"}, {"directory", folder.remote.string()}});
  };
  const std::vector<Collected> results =
      co_await collect(context_.launcher, std::move(folders), forget);
  for (const Collected& result : results) {
    journal("collected", result.node,
            {{"files", result.files}, {"bytes", result.bytes}, {"seconds", result.seconds}});
    if (result.problem.empty()) continue;
    journal("gap", result.node,
            {{"source", "logs"},
             {"seconds", 0},
             {"reason",
              "the logs of " + host(result.node) + " could not be fetched: " + result.problem}});
    if (!outcome_)
      conclude_unless_others(
          "lost", "the logs of " + host(result.node) + " could not be fetched: " + result.problem,
          "");
  }
}

// Ranks that were killed by nobody we know: the scheduler may have ended their job.
bool Round::name_the_scheduler() {
  const std::string why = context_.launcher.explain_end(context_.fleet.identity(0));
  if (!why.empty())
    outcome_ = RoundOutcome{"lost", why, "run again with --resume, or set cluster.retries"};
  return !why.empty();
}

// Agents that end may take a while to close their connection: another round must not get them.
void Round::drop_those_that_leave(bool all) {
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    if (all || nodes_[static_cast<std::size_t>(node)].leaving) context_.fleet.drop(node);
}

// Before any rank starts: a node that still writes its pages out would hold up the others.
asio::awaitable<std::map<int, Json>> Round::drop_caches() {
  std::map<int, Json> drops;
  if (!context_.plan_case.drop_caches) co_return drops;
  std::map<int, Json> requests;
  for (int node = 0; node < context_.plan_case.nodes; ++node)
    requests[node] = {{"type", "drop_caches"}};
  const std::map<int, Json> answers =
      co_await context_.fleet.ask_each(requests, "caches", kDropLimit);
  for (const auto& [node, request] : requests) {
    const auto answer = answers.find(node);
    if (answer != answers.end() && answer->second.value("done", false))
      drops[node] = {{"done", true}, {"how", answer->second.value("how", "")}};
    else
      drops[node] = {
          {"done", false},
          {"how", answer == answers.end()
                      ? "the agent did not answer"
                      : answer->second.value("how", answer->second.value("reason", ""))}};
  }
  co_return drops;
}

void Round::journal_start() {
  Json nodes = Json::array();
  for (int node = 0; node < context_.plan_case.nodes; ++node)
    nodes.push_back({{"node", node}, {"host", host(node)}});
  journal("round_start", -1, {{"nodes", nodes}, {"master_port", placement_.master_port}});
}

void Round::send_work() {
  const plan::CasePlan& plan_case = context_.plan_case;
  for (int node = 0; node < plan_case.nodes; ++node) {
    const std::filesystem::path directory = remote_dir(node);
    rendezvous::NodeCommands commands =
        rendezvous::resolve_node(context_.plan, plan_case, placement_, node, directory);
    agent::RoundRequest request;
    request.id = id_;
    request.directory = directory;
    request.fresh = context_.launcher.collects();
    request.workdir = plan_case.workdir;
    request.files = placement_.files;
    request.env = std::move(commands.env);
    for (const rendezvous::RankCommand& rank : commands.ranks)
      if (!rank.cleanup.empty())
        nodes_[static_cast<std::size_t>(node)].cleanups.push_back(rank.cleanup);
    for (rendezvous::RankCommand& rank : commands.ranks)
      request.ranks.push_back({rank.rank, rank.local_rank, std::move(rank.argv),
                               std::move(rank.env), std::move(rank.cleanup)});
    request.time_limit = plan_case.limits.time;
    request.stall_limit = plan_case.limits.stall;
    request.grace = plan_case.limits.grace;
    request.output_limit = plan_case.limits.output_bytes;
    if (context_.plan.telemetry.enabled) {
      request.telemetry_interval = context_.plan.telemetry.interval;
      for (const Json& source : context_.plan.vendor_data.value("samples", Json::array())) {
        request.sources.push_back(telemetry::device_source_from_json(source, "plan.json"));
        for (std::string& word : request.sources.back().command)
          word = expand_bindir(std::move(word), placement_.bindirs[static_cast<std::size_t>(node)]);
      }
    }
    request.case_name = plan_case.name;
    request.round = number_;
    request.metrics = context_.plan.telemetry.prometheus;
    progress_.ranks += static_cast<int>(request.ranks.size());
    nodes_[static_cast<std::size_t>(node)].heard_ns = mono_now_ns();
    context_.fleet.send(node, agent::to_json(request));
  }
}

asio::awaitable<RoundOutcome> Round::run() {
  // A journal that cannot be written (a full disk) ends the round and the run, not the process.
  const auto guarded = [this](auto&& action) {
    try {
      action();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    changed_.cancel();
  };
  context_.fleet.listen({[this, guarded](int node, const Json& message) {
                           guarded([&] { on_message(node, message); });
                         },
                         [this, guarded](int node, const std::string& reason) {
                           guarded([&] { on_lost(node, reason); });
                         }});
  if (placement_.master_port == 0) co_await choose_port();
  const std::map<int, Json> drops = co_await drop_caches();
  journal_start();
  for (const auto& [node, drop] : drops) journal("caches", node, drop);
  // Interrupted while the caches were dropped: there is nothing to wait for.
  if (outcome_)
    for (Node& node : nodes_) node.ended = true;
  else
    send_work();
  while (!finished() && !failure_) {
    changed_.expires_after(kCheckEvery);
    asio::error_code ec;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    guarded([this] { check_deadlines(); });
  }
  context_.fleet.listen({});
  co_await context_.fleet.settle();
  if (context_.launcher.collects()) co_await collect_evidence();
  if (failure_) std::rethrow_exception(failure_);
  if (!outcome_ && !winding_down_) outcome_ = last_loss_;
  drop_those_that_leave(stopped_from_outside_ && !winding_down_ && name_the_scheduler());
  if (!outcome_) outcome_ = RoundOutcome{"completed", {}, {}};
  journal(
      "round_end", -1,
      {{"status", outcome_->status}, {"reason", outcome_->reason}, {"advice", outcome_->advice}});
  context_.journal.sync();
  co_return *outcome_;
}

bool Round::finished() const {
  return std::ranges::all_of(nodes_, [](const Node& node) { return node.ended || node.lost; });
}

void Round::on_message(int number, const Json& message) {
  if (number >= static_cast<int>(nodes_.size())) return;
  Node& node = nodes_[static_cast<std::size_t>(number)];
  if (node.ended || node.lost) return;
  node.heard_ns = mono_now_ns();
  const std::string& type = message["type"].get_ref<const std::string&>();
  if (type == "heartbeat") {
    on_heartbeat(number, message);
  } else if (type == "rank_start") {
    ++progress_.started;
    node.living.insert(message.at("rank").get<int>());
    journal("rank_start", number, message);
  } else if (type == "rank_exit") {
    on_rank_exit(number, message);
  } else if (type == "start_failed") {
    on_start_failed(number, message);
  } else if (type == "limit") {
    on_limit(number, message);
  } else if (type == "gap") {
    journal("gap", number, message);
  } else if (type == "unkillable") {
    journal("unkillable", number, message);
  } else if (type == "error") {
    conclude("launch_failed", fmt::format("the agent on {} refused the round: {}", host(number),
                                          message.value("reason", "")));
    node.ended = true;
    stop_all("stop", context_.plan_case.limits.grace);
  } else if (type == "round_end" && message.value("id", "") == id_) {
    node.ended = true;
    journal("node_end", number, message);
  }
  if (context_.on_progress) context_.on_progress(progress_);
}

void Round::on_rank_exit(int number, const Json& message) {
  const int rank = message.at("rank").get<int>();
  nodes_[static_cast<std::size_t>(number)].living.erase(rank);
  ++progress_.ended;
  journal("rank_exit", number, message);
  // An agent that stops its ranks without having been asked to was told to end by somebody else.
  if (message.value("ended_by", "") == "stop" && !give_up_at_ns_) {
    stopped_from_outside_ = true;
    nodes_[static_cast<std::size_t>(number)].leaving = true;
    conclude_unless_others("lost", "the agent on " + host(number) + " was told to end from outside",
                           "run again with --resume");
    return;
  }
  const bool by_itself = message.value("ended_by", "") == "itself";
  if (!by_itself || message.value("code", -1) == 0) return;
  ExitStatus status;
  if (message.contains("signal")) status.signal = message["signal"].get<int>();
  if (message.contains("code")) status.code = message["code"].get<int>();
  // 128 + SIGTERM or SIGKILL is how a shell says that its program was killed.
  stopped_from_outside_ = stopped_from_outside_ || status.signal == SIGTERM ||
                          status.signal == SIGKILL || status.code == 128 + SIGTERM ||
                          status.code == 128 + SIGKILL;
  if (!conclude_unless_others("failed", rank_on_host(rank, number) + ": " + to_string(status),
                              fmt::format("see rank{}.out.log", rank)))
    return;
  // The others may be about to end by themselves, or wait for the dead rank for ever.
  if (!stop_at_ns_) stop_at_ns_ = mono_now_ns() + context_.plan_case.limits.grace.count();
}

void Round::on_start_failed(int number, const Json& message) {
  const std::string place = message.contains("rank")
                                ? rank_on_host(message["rank"].get<int>(), number)
                                : message.value("where", host(number));
  conclude("launch_failed", place + ": " + message.value("reason", "could not be started"),
           message.value("advice", ""));
  stop_all("stop", std::min<Nanoseconds>(context_.plan_case.limits.grace, std::chrono::seconds(1)));
}

void Round::on_limit(int number, const Json& message) {
  const std::string cause = message.value("cause", "");
  std::string who;
  for (const Json& rank : message.value("ranks", Json::array()))
    who += (who.empty() ? "" : ", ") + std::to_string(rank.get<int>());
  if (cause == "time limit") {
    conclude("timed_out",
             fmt::format("the time limit of {} was reached; still running: rank {} on {}",
                         format_duration(context_.plan_case.limits.time), who, host(number)),
             "raise limits.time, or find out what the ranks wait for in their logs");
  } else {
    conclude("stalled",
             fmt::format("rank {} on {} made no step for {:.1f} s (last step {}{})", who,
                         host(number), message.value("idle_s", 0.0), message.value("step", 0),
                         state_text(message.value("state", ""))),
             "look at the last lines of its log; raise limits.stall if such pauses are normal");
  }
  stop_all(cause, context_.plan_case.limits.grace);
}

void Round::on_heartbeat(int number, const Json& message) {
  nodes_[static_cast<std::size_t>(number)].idle_s = message.value("idle_s", 0.0);
  progress_.heartbeats[number] = message;
}

void Round::check_deadlines() {
  const std::int64_t mono = mono_now_ns();
  if (stop_at_ns_ && mono >= *stop_at_ns_ && !give_up_at_ns_)
    stop_all("stop", context_.plan_case.limits.grace);
  for (int number = 0; number < static_cast<int>(nodes_.size()); ++number) {
    Node& node = nodes_[static_cast<std::size_t>(number)];
    if (node.ended || node.lost) continue;
    const bool silent = mono - node.heard_ns > kSilenceLimit;
    if (!silent && !(give_up_at_ns_ && mono > *give_up_at_ns_)) continue;
    context_.fleet.drop(number);
    on_lost(number, silent ? fmt::format("no sign of life for {:.0f} s",
                                         static_cast<double>(mono - node.heard_ns) * 1e-9)
                           : "it did not end the round when asked");
  }
  // A whole round without output: no rank can be told apart unless one is stopped or blocked.
  const double stall = seconds(context_.plan_case.limits.stall);
  if (stall == 0 || give_up_at_ns_ || progress_.heartbeats.size() < nodes_.size()) return;
  if (!std::ranges::all_of(nodes_, [&](const Node& node) {
        return node.ended || node.lost || (node.idle_s > stall && !node.living.empty());
      }))
    return;
  if (finished()) return;
  std::string who;
  for (const auto& [number, beat] : progress_.heartbeats) {
    if (!beat.contains("suspect") || nodes_[static_cast<std::size_t>(number)].ended) continue;
    const Json& suspect = beat["suspect"];
    who += (who.empty() ? "" : "; ") +
           fmt::format("{} silent for {:.1f} s{}", rank_on_host(suspect.value("rank", 0), number),
                       suspect.value("idle_s", 0.0), state_text(suspect.value("state", "")));
  }
  conclude("stalled", "no rank made progress: " + who,
           "look at the last lines of the logs; raise limits.stall if such pauses are normal");
  stop_all("stall", context_.plan_case.limits.grace);
}

void Round::on_lost(int number, const std::string& reason) {
  Node& node = nodes_[static_cast<std::size_t>(number)];
  if (node.ended || node.lost) return;
  node.lost = true;
  context_.fleet.sweep(number, id_, node.cleanups);
  for (const int rank : node.living) {
    ++progress_.ended;
    journal("rank_exit", number, {{"rank", rank}, {"ended_by", "lost"}});
  }
  node.living.clear();
  if (conclude_unless_others("lost",
                             fmt::format("the agent on {} was lost: {}", host(number), reason),
                             "its ranks were killed; 'assay run --resume' runs the round again"))
    stop_all("stop", context_.plan_case.limits.grace);
}

bool Round::conclude_unless_others(const std::string& status, const std::string& reason,
                                   const std::string& advice) {
  if (!context_.plan_case.automl.is_null()) {
    last_loss_ = RoundOutcome{status, reason, advice};
    return false;
  }
  conclude(status, reason, advice);
  return true;
}

void Round::wind_down() {
  winding_down_ = true;
  if (!stop_at_ns_) stop_at_ns_ = mono_now_ns() + context_.plan_case.limits.grace.count();
}

void Round::fail(const std::string& status, const std::string& reason, const std::string& advice) {
  conclude(status, reason, advice);
  wind_down();
  changed_.cancel();
}

void Round::conclude(const std::string& status, const std::string& reason,
                     const std::string& advice) {
  if (!outcome_) outcome_ = RoundOutcome{status, reason, advice};
}

void Round::stop_all(const std::string& cause, Nanoseconds grace) {
  const std::int64_t give_up = mono_now_ns() + grace.count() + kStopMargin;
  give_up_at_ns_ = std::min(give_up_at_ns_.value_or(give_up), give_up);
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    context_.fleet.send(node, {{"type", "stop"}, {"cause", cause}, {"grace_ns", grace.count()}});
}

void Round::interrupt() {
  conclude("interrupted", "stopped by the user", "'assay run --resume' goes on from here");
  if (++interrupts_ == 1 && !context_.plan_case.automl.is_null())
    wind_down();
  else
    stop_all("stop", interrupts_ == 1 ? context_.plan_case.limits.grace : Nanoseconds(0));
  context_.fleet.stop_asking();
  changed_.cancel();
}

}  // namespace assay::launch
