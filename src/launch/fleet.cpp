#include "launch/fleet.h"

#include <algorithm>
#include <set>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "core/error.h"
#include "core/units.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kHelloLimit = std::chrono::seconds(30);
constexpr Nanoseconds kByeLimit = std::chrono::seconds(5);

}  // namespace

Fleet::Fleet(asio::io_context& loop, const Launcher& launcher, std::vector<std::string> hosts)
    : loop_(loop), launcher_(launcher), hosts_(std::move(hosts)), changed_(loop) {}

Fleet::~Fleet() {
  for (const auto& [node, channel] : channels_) {
    channel->silence();
    channel->close_input();
  }
}

bool Fleet::connected(int node) const {
  const auto found = channels_.find(node);
  return found != channels_.end() && found->second->is_open();
}

asio::awaitable<void> Fleet::wait(Nanoseconds limit, const std::function<bool()>& until) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!until() && std::chrono::steady_clock::now() < deadline) {
    changed_.expires_at(deadline);
    asio::error_code ec;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
}

asio::awaitable<void> Fleet::connect() {
  for (const ChannelCommand& command : launcher_.render(hosts_)) {
    if (std::ranges::all_of(command.nodes, [&](int node) { return connected(node); })) continue;
    for (const int node : command.nodes) {
      hellos_.erase(node);
      failures_.erase(node);
    }
    Channel::Handlers handlers{
        [this](int node, const Json& message) { on_message(node, message); },
        [this, nodes = command.nodes](const std::string& reason) { on_closed(nodes, reason); }};
    auto channel = Channel::open(loop_, command, std::move(handlers));
    for (const int node : command.nodes) channels_[node] = channel;
  }
  co_await wait(kHelloLimit, [this] { return hellos_.size() + failures_.size() == hosts_.size(); });

  std::string silent;
  for (int node = 0; node < size(); ++node) {
    if (hellos_.contains(node)) continue;
    const auto failure = failures_.find(node);
    silent += (silent.empty() ? "" : "; ") + hosts_[static_cast<std::size_t>(node)] + ": " +
              (failure == failures_.end() ? "no answer in " + format_duration(kHelloLimit)
                                          : failure->second);
  }
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

asio::awaitable<std::map<int, Json>> Fleet::ask(const Json& request, std::string answer,
                                                Nanoseconds limit) {
  std::map<int, Json> answers;
  std::set<int> gone;
  Listener previous = std::move(listener_);
  Listener collector;
  collector.message = [&](int node, const Json& message) {
    if (message["type"] == answer || message["type"] == "error") answers.emplace(node, message);
  };
  collector.lost = [&](int node, const std::string&) { gone.insert(node); };
  listener_ = std::move(collector);
  for (int node = 0; node < size(); ++node) send(node, request);
  co_await wait(limit, [&] { return answers.size() + gone.size() >= hosts_.size(); });
  listener_ = std::move(previous);
  co_return answers;
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
  const std::shared_ptr<Channel> channel = channels_[node];
  channel->silence();
  channel->kill();
  // Every node behind the same command went with it.
  for (const int other : channel->command().nodes) {
    channels_.erase(other);
    hellos_.erase(other);
  }
}

void Fleet::on_message(int node, const Json& message) {
  if (node < 0 || node >= size()) return;
  if (message["type"] == "hello")
    hellos_[node] = message;
  else if (listener_.message)
    listener_.message(node, message);
  changed_.cancel();
}

void Fleet::on_closed(const std::vector<int>& nodes, const std::string& reason) {
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
  for (const auto& [node, channel] : channels_) {
    channel->send(node, {{"type", "bye"}});
    channel->close_input();
  }
  co_await wait(kByeLimit, [this] { return channels_.empty(); });
  while (!channels_.empty()) drop(channels_.begin()->first);
}

}  // namespace assay::launch
