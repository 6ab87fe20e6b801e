#include "launch/fleet.h"

#include <algorithm>
#include <set>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "agent/protocol.h"
#include "core/error.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/process.h"

namespace assay::launch {

namespace {

// Before it is worth asking the scheduler what it waits for.
constexpr Nanoseconds kPatience = std::chrono::seconds(2);
constexpr Nanoseconds kSweepLimit = std::chrono::seconds(20);
// A node behind a cut link is told by nobody: its agent ends when no ping came for this long.
// Longer than anything that keeps the controller's loop busy, and than a link's short failures.
constexpr Nanoseconds kPingEvery = std::chrono::seconds(5);
constexpr Nanoseconds kControllerSilence = std::chrono::seconds(30);
constexpr Nanoseconds kByeLimit = std::chrono::seconds(5);

}  // namespace

Fleet::Fleet(asio::io_context& loop, const Launcher& launcher, std::vector<std::string> hosts)
    : loop_(loop),
      launcher_(launcher),
      hosts_(std::move(hosts)),
      changed_(loop),
      ping_timer_(loop) {}

Fleet::~Fleet() {
  for (const auto& [node, channel] : channels_) {
    channel->silence();
    channel->close_input();
  }
}

bool Fleet::connected(int node) const {
  const auto found = channels_.find(node);
  return found != channels_.end() && found->second->is_open() && !dropped_.contains(node);
}

asio::awaitable<void> Fleet::wait(Nanoseconds limit, const std::function<bool()>& until) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!until() && std::chrono::steady_clock::now() < deadline) {
    changed_.expires_at(deadline);
    asio::error_code ec;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
}

asio::awaitable<std::map<int, std::string>> Fleet::try_connect() {
  for (const ChannelCommand& command : launcher_.render(hosts_)) {
    if (std::ranges::all_of(command.nodes, [&](int node) { return connected(node); })) continue;
    // Nodes that share a command with a lost one start anew with it.
    for (const int node : command.nodes) {
      close_channel(node);
      failures_.erase(node);
      dropped_.erase(node);
    }
    open(command, 0, mono_now_ns());
  }
  // On this machine a pipe tells by itself, and a controller that is paused keeps its run.
  if (launcher_.name() != "local") ping();
  const Nanoseconds limit = launcher_.start_limit();
  co_await wait_for_hellos(limit);
  retries_.clear();
  while (abandoned_ && !channels_.empty()) close_channel(channels_.begin()->first);
  if (abandoned_)
    throw Error(ErrorKind::launch, "stopped while the agents were being started", {},
                "'assay run --resume' goes on");

  std::map<int, std::string> missing;
  for (int node = 0; node < size(); ++node) {
    if (hellos_.contains(node)) continue;
    const auto failure = failures_.find(node);
    missing[node] =
        failure == failures_.end() ? "no answer in " + format_duration(limit) : failure->second;
  }
  // Those that answered end when this fleet does; the others may wait for ever.
  for (int node = 0; node < size(); ++node)
    if (!hellos_.contains(node)) close_channel(node);
  if (hellos_.empty() && failures_.empty() && !waiting_for_.empty())
    throw Error(ErrorKind::launch,
                "no agent came within " + format_duration(limit) + ": " + waiting_for_, {},
                "ask for less, wait for longer (cluster.slurm.wait), or try again later");
  co_return missing;
}

asio::awaitable<void> Fleet::connect() {
  const std::map<int, std::string> missing = co_await try_connect();
  std::string silent;
  for (const auto& [node, why] : missing)
    silent += (silent.empty() ? "" : "; ") + hosts_[static_cast<std::size_t>(node)] + ": " + why;
  if (!silent.empty())
    throw Error(ErrorKind::launch, "not every agent could be started: " + silent, {},
                "check that the hosts are reachable and that assay-agent runs there");
  for (const auto& [node, hello] : hellos_)
    if (hello.value("protocol", 0) != agent::kProtocolVersion)
      throw Error(ErrorKind::launch,
                  "the agent speaks protocol " + std::to_string(hello.value("protocol", 0)) +
                      ", this assay " + std::to_string(agent::kProtocolVersion),
                  "host " + hosts_[static_cast<std::size_t>(node)],
                  "build and install both from the same version");
}

void Fleet::open(const ChannelCommand& command, int attempt, std::int64_t since_ns) {
  Channel::Handlers handlers{[this](int node, const Json& message) { on_message(node, message); },
                             [this, command, attempt, since_ns](const std::string& reason) {
                               if (!try_again(command, reason, attempt, since_ns))
                                 on_closed(command.nodes, reason);
                             }};
  auto channel = Channel::open(loop_, command, std::move(handlers));
  for (const int node : command.nodes) channels_[node] = channel;
}

bool Fleet::try_again(const ChannelCommand& command, const std::string& reason, int attempt,
                      std::int64_t since_ns) {
  if (abandoned_ || std::ranges::any_of(command.nodes, [&](int n) { return hellos_.contains(n); }))
    return false;
  const auto pause = launcher_.retry_pause(reason, attempt, Nanoseconds(mono_now_ns() - since_ns));
  if (!pause) return false;
  for (const int node : command.nodes) channels_.erase(node);
  const int first = command.nodes.front();
  // Those that were turned away together do not come back together.
  const Nanoseconds spread = *pause * (first % 16) / 16;
  auto& timer = retries_[first];
  timer = std::make_unique<asio::steady_timer>(loop_, *pause + spread);
  timer->async_wait([this, command, attempt, since_ns](const asio::error_code& ec) {
    if (ec || abandoned_) return;
    try {
      open(command, attempt + 1, since_ns);
    } catch (const Error& error) {
      on_closed(command.nodes, error.what());
    }
  });
  return true;
}

void Fleet::ping() {
  const Json message{{"type", "ping"}, {"silence_ns", kControllerSilence.count()}};
  std::set<const Channel*> told;
  // Only where an agent answered: before, the way to it may still carry its programs.
  for (const auto& [node, hello] : hellos_) {
    const auto found = channels_.find(node);
    if (found != channels_.end() && told.insert(found->second.get()).second)
      found->second->send(agent::kAllNodes, message);
  }
  ping_timer_.expires_after(kPingEvery);
  ping_timer_.async_wait([this](const asio::error_code& ec) {
    if (!ec) ping();
  });
}

asio::awaitable<void> Fleet::wait_for_hellos(Nanoseconds limit) {
  const auto all = [this] {
    return abandoned_ || hellos_.size() + failures_.size() == hosts_.size();
  };
  const std::int64_t deadline = mono_now_ns() + limit.count();
  co_await wait(std::min(limit, kPatience), all);
  while (!all() && mono_now_ns() < deadline) {
    const std::string reason = launcher_.waiting_for();
    if (!reason.empty()) waiting_for_ = reason;
    if (on_waiting_ && !reason.empty()) on_waiting_(reason);
    co_await wait(std::min(Nanoseconds(deadline - mono_now_ns()), kPatience), all);
  }
}

asio::awaitable<std::map<int, Json>> Fleet::ask(const Json& request, std::string answer,
                                                Nanoseconds limit) {
  std::map<int, Json> requests;
  for (int node = 0; node < size(); ++node) requests[node] = request;
  co_return co_await ask_each(requests, std::move(answer), limit);
}

asio::awaitable<std::map<int, Json>> Fleet::ask_each(const std::map<int, Json>& requests,
                                                     std::string answer, Nanoseconds limit) {
  std::map<int, Json> answers;
  std::set<int> gone;
  Listener previous = std::move(listener_);
  Listener collector;
  collector.message = [&](int node, const Json& message) {
    if (message["type"] == answer || message["type"] == "error") answers.emplace(node, message);
  };
  collector.lost = [&](int node, const std::string&) { gone.insert(node); };
  listener_ = std::move(collector);
  std::set<int> asked;  // a node whose agent never came cannot answer
  for (const auto& [node, request] : requests) {
    if (!connected(node)) continue;
    asked.insert(node);
    send(node, request);
  }
  asking_ = true;
  co_await wait(limit, [&] {
    if (!asking_) return true;
    return std::ranges::all_of(
        asked, [&](int node) { return answers.contains(node) || gone.contains(node); });
  });
  listener_ = std::move(previous);
  co_return answers;
}

asio::awaitable<std::optional<Json>> Fleet::ask_one(int node, const Json& request,
                                                    std::string answer, Nanoseconds limit) {
  std::optional<Json> given;
  bool gone = false;
  Listener previous = std::move(listener_);
  Listener collector;
  collector.message = [&](int from, const Json& message) {
    if (from == node && message["type"] == answer) given = message;
  };
  collector.lost = [&](int from, const std::string&) { gone = gone || from == node; };
  listener_ = std::move(collector);
  send(node, request);
  co_await wait(limit, [&] { return given || gone || !connected(node); });
  listener_ = std::move(previous);
  co_return given;
}

void Fleet::sweep(int node, const std::string& round_id,
                  const std::vector<std::vector<std::string>>& cleanups) {
  ++sweeping_;
  const std::string& host = hosts_[static_cast<std::size_t>(node)];
  std::vector<std::string> args{"--sweep", round_id};
  for (const std::vector<std::string>& cleanup : cleanups) args.push_back(dump_line(cleanup));
  asio::co_spawn(loop_,
                 run_process(
                     launcher_.agent_command(host, identity(node), args), "host " + host, {},
                     [](std::string_view) {}, kSweepLimit),
                 [this](const std::exception_ptr&, const CommandResult&) {
                   // A host that cannot be reached cannot be swept; its agent ends by itself.
                   --sweeping_;
                   changed_.cancel();
                 });
}

void Fleet::stop_asking() {
  asking_ = false;
  changed_.cancel();
}

void Fleet::abandon() {
  abandoned_ = true;
  changed_.cancel();
}

asio::awaitable<void> Fleet::settle() {
  co_await wait(kSweepLimit, [this] { return sweeping_ == 0; });
}

const Json& Fleet::identity(int node) const {
  static const Json kUnknown = Json::object();
  const auto found = identities_.find(node);
  return found == identities_.end() ? kUnknown : found->second;
}

asio::awaitable<std::map<int, Json>> Fleet::describe(const Json& device_query, Nanoseconds limit) {
  Json request = Json::object({{"type", "describe"}});
  if (!device_query.is_null()) request["device_query"] = device_query;
  const std::map<int, Json> answers = co_await ask(request, "system", limit);
  std::map<int, Json> systems;
  for (const auto& [node, message] : answers)
    if (message.contains("system")) systems[node] = message["system"];
  co_return systems;
}

void Fleet::send(int node, const Json& message) {
  if (connected(node)) channels_[node]->send(node, message);
}

void Fleet::drop(int node) {
  if (!connected(node)) return;
  dropped_.insert(node);
  const std::vector<int>& nodes = channels_[node]->command().nodes;
  // The others behind the same command are still served; it ends with the last of them.
  if (std::ranges::none_of(nodes, [this](int other) { return connected(other); }))
    close_channel(node);
}

void Fleet::close_channel(int node) {
  hellos_.erase(node);
  const auto found = channels_.find(node);
  if (found == channels_.end()) return;
  const std::shared_ptr<Channel> channel = found->second;
  channel->silence();
  channel->kill();
  for (const int other : channel->command().nodes) {
    channels_.erase(other);
    hellos_.erase(other);
  }
}

void Fleet::on_message(int node, const Json& message) {
  if (node < 0 || node >= size() || dropped_.contains(node)) return;
  if (message["type"] == "hello") {
    hellos_[node] = message;
    identities_[node] = message;
    if (launcher_.hosts_are_chosen_elsewhere())
      hosts_[static_cast<std::size_t>(node)] =
          message.value("host", hosts_[static_cast<std::size_t>(node)]);
  } else if (listener_.message) {
    listener_.message(node, message);
  }
  changed_.cancel();
}

void Fleet::on_closed(const std::vector<int>& nodes, const std::string& how) {
  const std::string known = launcher_.explain_end(identity(nodes.front()));
  const std::string reason = known.empty() ? how : known + "; " + how;
  for (const int node : nodes) {
    channels_.erase(node);
    const bool said_hello = hellos_.erase(node) > 0;
    if (!said_hello) failures_[node] = reason;
    if (said_hello && listener_.lost) listener_.lost(node, reason);
  }
  changed_.cancel();
}

asio::awaitable<void> Fleet::disconnect() {
  listener_ = {};
  ping_timer_.cancel();
  for (const auto& [node, channel] : channels_) {
    channel->send(node, {{"type", "bye"}});
    channel->close_input();
  }
  co_await wait(kByeLimit, [this] { return channels_.empty(); });
  while (!channels_.empty()) close_channel(channels_.begin()->first);
  co_await settle();
}

}  // namespace assay::launch
