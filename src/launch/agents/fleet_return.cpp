// How a node gets an agent again while the others go on with their round.
#include <algorithm>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/agents/fleet.h"
#include "launch/agents/launch_command.h"

namespace assay::launch {

namespace {

// A host that does not answer the connection is given up earlier by ssh itself.
constexpr Nanoseconds kCleaningLimit = std::chrono::seconds(20);
constexpr auto kLookForHello = std::chrono::milliseconds(50);

}  // namespace

asio::awaitable<std::string> Fleet::bring_back(int node, Remains remains) {
  ++in_background_;
  const std::shared_ptr<bool> alive = alive_;
  std::string problem;
  try {
    problem = co_await try_to_bring_back(node, remains.sweep_args());
  } catch (const Error& error) {
    problem = error.message();
  }
  if (*alive) {
    --in_background_;
    changed_.cancel();
  }
  co_return problem;
}

asio::awaitable<std::string> Fleet::try_to_bring_back(int node, std::vector<std::string> sweep) {
  if (present(node)) co_return "";
  const std::shared_ptr<bool> alive = alive_;
  leave_channel(node);
  co_await closed();
  if (!*alive || leaving_) co_return "the run is ending";
  const std::string& name = host(node);
  // It shows that the host can be reached, too.
  const CommandResult cleaned = co_await run_process(
      launcher_.agent_command(name, identity(node), sweep), "host " + name, {},
      [](std::string_view) {}, kCleaningLimit);
  if (!*alive || leaving_) co_return "the run is ending";
  if (cleaned.timed_out) co_return "it does not answer";
  if (!cleaned.ok())
    co_return trim(cleaned.err).empty() ? to_string(cleaned.status)
                                        : std::string(trim(cleaned.err));
  failures_.erase(node);
  dropped_.erase(node);
  open(own_command(node), 0, mono_now_ns());
  const std::int64_t deadline = mono_now_ns() + launcher_.start_limit().count();
  asio::steady_timer look(loop_);
  while (!present(node) && !failures_.contains(node) && mono_now_ns() < deadline) {
    look.expires_after(kLookForHello);
    asio::error_code ec;
    co_await look.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (!*alive || leaving_) co_return "the run is ending";
  }
  std::string problem;
  if (const auto failure = failures_.find(node); failure != failures_.end())
    problem = failure->second;
  else if (!present(node))
    problem = "its agent did not answer";
  else if (identity(node).protocol != agent::kProtocolVersion)
    problem = "its programs are of another version";
  else if (launcher_.missing_programs(name, node, identity(node)))
    problem = "its programs are gone";
  if (!problem.empty()) give_up(node);
  co_return problem;
}

ChannelCommand Fleet::own_command(int node) const {
  for (ChannelCommand& command : launcher_.render(hosts_))
    if (command.nodes.size() == 1 && command.nodes.front() == node) return std::move(command);
  return {launcher_.agent_command(host(node), identity(node), {"--node", std::to_string(node)}),
          {node},
          "host " + host(node)};
}

// One that all nodes share is what holds an allocation: it ends with the run.
void Fleet::leave_channel(int node) {
  const auto found = channels_.find(node);
  if (found == channels_.end()) return;
  const std::shared_ptr<Channel> channel = found->second;
  if (channel->command().nodes.size() == 1) return close_channel(node);
  channels_.erase(found);
  present_.erase(node);
  left_.insert(channel);
}

}  // namespace assay::launch
