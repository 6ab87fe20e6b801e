#include "launch/agents/fleet.h"

#include <algorithm>
#include <set>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "agent/protocol.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/agents/launch_command.h"
#include "launch/agents/start_advice.h"

namespace assay::launch {

namespace {

// The wait before the scheduler is asked what it waits for.
constexpr Nanoseconds kPatience = std::chrono::seconds(2);
// A link that is slower is too slow for programs, so that their time stays bounded.
constexpr double kSlowestUpload = 64 << 10;  // bytes a second
// What ssh and the system may hold of the bytes that went.
constexpr double kUnderWay = 2 << 20;
constexpr Nanoseconds kSweepLimit = std::chrono::seconds(20);
// No message reaches a node behind a cut link: its agent ends when no ping came for this long.
// Longer than anything that keeps the controller's loop busy, and than a link's short failures.
constexpr Nanoseconds kPingEvery = std::chrono::seconds(5);
constexpr Nanoseconds kControllerSilence = std::chrono::seconds(30);
constexpr Nanoseconds kByeLimit = std::chrono::seconds(5);
constexpr Nanoseconds kCloseLimit = std::chrono::seconds(10);
constexpr auto kCloseLook = std::chrono::milliseconds(20);

}  // namespace

std::vector<std::string> Remains::sweep_args() const {
  std::vector<std::string> args{"--sweep", round_id};
  for (const std::string& process : agents) args.insert(args.end(), {"--agent", process});
  for (const std::vector<std::string>& cleanup : cleanups) args.push_back(dump_line(cleanup));
  return args;
}

Fleet::Fleet(asio::io_context& loop, const Launcher& launcher, std::vector<std::string> hosts)
    : loop_(loop),
      launcher_(launcher),
      hosts_(std::move(hosts)),
      changed_(loop),
      ping_timer_(loop) {}

Fleet::~Fleet() {
  *alive_ = false;
  for (const auto& [node, channel] : channels_) {
    channel->silence();
    channel->close_input();
  }
  for (const auto& channel : left_) {
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

void Fleet::set_host(int node, const std::string& host) {
  close_channel(node);
  failures_.erase(node);
  dropped_.erase(node);
  identities_.erase(node);
  hosts_.at(static_cast<std::size_t>(node)) = host;
}

asio::awaitable<std::map<int, std::string>> Fleet::try_connect(int nodes) {
  if (nodes == 0) nodes = size();
  for (const ChannelCommand& command : launcher_.render(hosts_)) {
    if (std::ranges::all_of(command.nodes, [&](int node) { return node >= nodes; })) continue;
    if (std::ranges::all_of(command.nodes, [&](int node) { return connected(node); })) continue;
    // Nodes that share a command with a lost one start anew with it, when it has given back what it
    // holds.
    for (const int node : command.nodes) {
      close_channel(node);
      failures_.erase(node);
      dropped_.erase(node);
    }
    if (command.nodes.size() > 1) close_left();
    co_await closed();
    open(command, 0, mono_now_ns());
  }
  // On this machine a pipe shows the end by itself, and a controller that is paused keeps its run.
  if (!launcher_.traits().one_machine) ping();
  const Nanoseconds limit = launcher_.start_limit();
  const std::int64_t begin_ns = mono_now_ns();
  co_await wait_for_hellos(nodes, limit);
  retries_.clear();
  if (!abandoned_) co_await share_programs(nodes);
  for (int node = 0; abandoned_ && node < size(); ++node) give_up(node);
  co_await closed();
  if (abandoned_) {
    co_await settle();
    throw Error(ErrorKind::launch, "stopped while the agents were being started", {},
                "'assay run --resume' goes on");
  }

  // The limit, unless programs took longer.
  const Nanoseconds waited = std::max(limit, Nanoseconds(mono_now_ns() - begin_ns));
  std::map<int, std::string> missing;
  for (int node = 0; node < nodes; ++node) {
    if (present_.contains(node)) continue;
    const auto failure = failures_.find(node);
    missing[node] = failure != failures_.end() ? failure->second : silence_of(node, waited);
  }
  // Those that answered end when this fleet does; the others may wait forever.
  for (const auto& [node, why] : missing) give_up(node);
  co_await settle();
  if (present_.empty() && failures_.empty() && !waiting_for_.empty())
    throw Error(ErrorKind::launch,
                "no agent came within " + format_duration(limit) + ": " + waiting_for_, {},
                "ask for less, wait for longer (cluster.slurm.wait), or try again later");
  check_protocols();
  co_return missing;
}

void Fleet::check_protocols() const {
  for (const int node : present_)
    if (const int protocol = identity(node).protocol; protocol != agent::kProtocolVersion)
      throw Error(ErrorKind::launch,
                  "the agent speaks protocol " + std::to_string(protocol) + ", this assay " +
                      std::to_string(agent::kProtocolVersion),
                  "host " + host(node), "build and install both from the same version");
}

asio::awaitable<void> Fleet::connect() {
  const std::map<int, std::string> missing = co_await try_connect();
  std::string silent;
  for (const auto& [node, why] : missing)
    silent += (silent.empty() ? "" : "; ") + host(node) + ": " + why;
  if (!silent.empty())
    throw Error(ErrorKind::launch, "not every agent could be started: " + silent, {},
                start_advice(silent));
}

void Fleet::open(const ChannelCommand& command, int attempt, std::int64_t since_ns) {
  // A node that has come back has a channel of its own: what the one before still says is not its.
  const auto self = std::make_shared<const Channel*>(nullptr);
  Channel::Handlers handlers{[this, self](int node, const Json& message) {
                               const auto found = channels_.find(node);
                               if (found != channels_.end() && found->second.get() == *self)
                                 on_message(node, message);
                             },
                             [this, self, command, attempt, since_ns](const std::string& reason) {
                               if (!try_again(command, reason, attempt, since_ns))
                                 on_closed(command.nodes, *self, reason);
                             }};
  for (const int node : command.nodes) begun_.erase(node);
  auto channel = Channel::open(loop_, command, std::move(handlers));
  *self = channel.get();
  for (const int node : command.nodes) channels_[node] = channel;
}

bool Fleet::try_again(const ChannelCommand& command, const std::string& reason, int attempt,
                      std::int64_t since_ns) {
  if (abandoned_ || std::ranges::any_of(command.nodes, [&](int n) { return present_.contains(n); }))
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
      on_closed(command.nodes, nullptr, error.what());
    }
  });
  return true;
}

void Fleet::ping() {
  const Json message = agent::to_json(agent::Ping{kControllerSilence});
  std::set<const Channel*> reached;
  // Only where an agent answered: before, the way to it may still carry its programs.
  for (const int node : present_) {
    const auto found = channels_.find(node);
    if (found != channels_.end() && reached.insert(found->second.get()).second)
      found->second->send(agent::kAllNodes, message);
  }
  ping_timer_.expires_after(kPingEvery);
  ping_timer_.async_wait([this](const asio::error_code& ec) {
    if (!ec) ping();
  });
}

std::string Fleet::uploads() const {
  std::uint64_t sent = 0;
  std::uint64_t size = 0;
  std::size_t hosts = 0;
  for (const auto& [node, channel] : channels_) {
    const Channel::Upload& one = channel->upload();
    if (one.size == 0 || present_.contains(node)) continue;
    ++hosts;
    sent += one.sent;
    size += one.size;
  }
  if (hosts == 0) return {};
  return fmt::format("programs for {}: {:.0f} % of {}", counted(hosts, "host"),
                     100 * static_cast<double>(sent) / static_cast<double>(size),
                     format_bytes(static_cast<double>(size)));
}

std::int64_t Fleet::uploads_until(std::int64_t begin_ns, Nanoseconds limit) const {
  std::int64_t until = 0;
  double size = 0;
  for (const auto& [node, channel] : channels_) {
    const Channel::Upload& one = channel->upload();
    if (one.size == 0 || present_.contains(node)) continue;
    size += static_cast<double>(one.size);
    if (one.rate() <= 0) continue;
    const double left = static_cast<double>(one.size - one.sent) + kUnderWay;
    until = std::max(until, one.moved_ns + (from_seconds(left / one.rate()) + limit).count());
  }
  const Nanoseconds most = limit + from_seconds(size / kSlowestUpload);
  return std::min(until, begin_ns + most.count());
}

std::string Fleet::silence_of(int node, Nanoseconds waited) const {
  const std::string time = format_duration(waited);
  if (begun_.contains(node)) return "its agent began, and said nothing more in " + time;
  const auto found = channels_.find(node);
  const Channel::Upload sent =
      found == channels_.end() ? Channel::Upload{} : found->second->upload();
  if (sent.size > 0)
    return fmt::format("the programs came only in part in {} ({:.0f} % of {}, {} a second)", time,
                       100 * static_cast<double>(sent.sent) / static_cast<double>(sent.size),
                       format_bytes(static_cast<double>(sent.size)), format_bytes(sent.rate()));
  return launcher_.traits().one_machine || launcher_.traits().chooses_hosts
             ? "no answer in " + time
             : "no answer in " + time + ", and no word from ssh";
}

asio::awaitable<void> Fleet::wait_for_hellos(int nodes, Nanoseconds limit) {
  const auto all = [this, nodes] {
    if (abandoned_) return true;
    for (int node = 0; node < nodes; ++node)
      if (!present_.contains(node) && !failures_.contains(node)) return false;
    return true;
  };
  const std::int64_t begin_ns = mono_now_ns();
  std::int64_t deadline = begin_ns + limit.count();
  co_await wait(std::min(limit, kPatience), all);
  deadline = std::max(deadline, uploads_until(begin_ns, limit));
  while (!all() && mono_now_ns() < deadline) {
    const std::string reason = co_await launcher_.waiting_for();
    if (!reason.empty()) waiting_for_ = reason;
    const std::string said = reason.empty() ? uploads() : reason;
    if (on_waiting_ && !said.empty()) on_waiting_(said);
    co_await wait(std::min(Nanoseconds(deadline - mono_now_ns()), kPatience), all);
    deadline = std::max(deadline, uploads_until(begin_ns, limit));
  }
}

asio::awaitable<void> Fleet::share_programs(int nodes) {
  std::map<int, Launcher::MissingPrograms> missing;
  for (int node = 0; node < nodes; ++node)
    if (present(node) && !equipped_.contains(node))
      if (auto lacks = launcher_.missing_programs(host(node), node, identity(node)))
        missing.emplace(node, std::move(*lacks));
  if (missing.empty()) co_return;
  std::set<int> reached;
  for (const auto& [node, lacks] : missing) reached.insert(node);
  ProgramSharing sharing(loop_, *this, std::move(missing), on_waiting_);
  Listener previous = std::exchange(
      listener_, Listener{
                     [&](int node, const agent::Report& report) { sharing.report(node, report); },
                     [&](int node, const std::string& reason) { sharing.lost(node, reason); },
                 });
  const std::map<int, std::string> problems = co_await sharing.run(abandoned_);
  listener_ = std::move(previous);
  for (const auto& [node, why] : problems) {
    reached.erase(node);
    failures_[node] = why;
    close_channel(node);
  }
  equipped_.insert(reached.begin(), reached.end());
  if (on_shared_) on_shared_(sharing.record());
}

asio::awaitable<std::map<int, agent::Report>> Fleet::ask_reports(
    std::map<int, agent::Request> requests, IsAnswer is_answer, Nanoseconds limit) {
  std::map<int, agent::Report> answers;
  std::set<int> gone;
  Listener previous = std::move(listener_);
  Listener collector;
  collector.report = [&](int node, const agent::Report& report) {
    if (is_answer(report) || std::holds_alternative<agent::Refusal>(report))
      answers.emplace(node, report);
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

void Fleet::sweep(int node, const Remains& remains) {
  ++in_background_;
  asio::co_spawn(loop_, run_sweep(node, remains.sweep_args()),
                 [this, alive = alive_](const std::exception_ptr&) {
                   // A host that cannot be reached cannot be swept; its agent ends by itself.
                   if (!*alive) return;
                   --in_background_;
                   changed_.cancel();
                 });
}

asio::awaitable<void> Fleet::run_sweep(int node, std::vector<std::string> args) {
  // It must not share a connection that is being closed.
  const std::shared_ptr<bool> alive = alive_;
  const std::int64_t deadline = mono_now_ns() + kCloseLimit.count();
  asio::steady_timer look(loop_);
  while (*alive && closing_ > 0 && mono_now_ns() < deadline) {
    look.expires_after(kCloseLook);
    asio::error_code ec;
    co_await look.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  if (!*alive) co_return;
  const std::string& name = host(node);
  (void)co_await run_process(
      launcher_.agent_command(name, identity(node), args), "host " + name, {},
      [](std::string_view) {}, kSweepLimit);
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
  co_await wait(kSweepLimit, [this] { return in_background_ == 0; });
  co_await closed();
}

asio::awaitable<void> Fleet::closed() {
  co_await wait(kCloseLimit, [this] { return closing_ == 0; });
}

const agent::Hello& Fleet::identity(int node) const {
  static const agent::Hello kUnknown;
  const auto found = identities_.find(node);
  return found == identities_.end() ? kUnknown : found->second;
}

void Fleet::send(int node, const agent::Request& request) {
  if (connected(node)) channels_[node]->send(node, agent::to_json(request));
}

void Fleet::drop(int node) {
  if (!connected(node)) return;
  dropped_.insert(node);
  const std::vector<int>& nodes = channels_[node]->command().nodes;
  // The others behind the same command are still served; it ends with the last of them.
  if (std::ranges::none_of(nodes, [this](int other) { return connected(other); }))
    close_channel(node);
}

// An agent that has begun and says nothing may be stopped, and does not see that its input ends.
void Fleet::give_up(int node) {
  const bool stays =
      begun_.contains(node) && !present_.contains(node) && outlives_its_channel(node);
  close_channel(node);
  if (stays) sweep(node, {.agents = identity(node).processes});
}

void Fleet::close_channel(int node) {
  present_.erase(node);
  const auto found = channels_.find(node);
  if (found == channels_.end()) return;
  const std::shared_ptr<Channel> channel = found->second;
  close(channel);
  for (const int other : channel->command().nodes) {
    const auto its = channels_.find(other);
    if (its == channels_.end() || its->second != channel) continue;
    channels_.erase(its);
    present_.erase(other);
  }
}

void Fleet::close(const std::shared_ptr<Channel>& channel) {
  left_.erase(channel);
  channel->silence();
  ++closing_;
  asio::co_spawn(loop_, channel->kill(),
                 [this, channel, alive = alive_](const std::exception_ptr&) {
                   if (!*alive) return;
                   --closing_;
                   changed_.cancel();
                 });
}

void Fleet::close_left() {
  for (const std::shared_ptr<Channel>& channel : std::exchange(left_, {})) close(channel);
}

void Fleet::on_message(int node, const Json& message) {
  if (node < 0 || node >= size() || dropped_.contains(node)) return;
  agent::Report report;
  try {
    report = agent::report_from_json(message);
  } catch (const Error& error) {
    report = agent::Refusal{error.message()};
  }
  if (auto* begun = std::get_if<agent::Begun>(&report)) {
    begun_.insert(node);
    identities_[node].processes = std::move(begun->processes);
  } else if (const auto* hello = std::get_if<agent::Hello>(&report)) {
    present_.insert(node);
    equipped_.erase(node);
    identities_[node] = *hello;
    // The next ping to all may be seconds away, and a link that is cut before would leave the agent
    // to itself.
    if (!launcher_.traits().one_machine)
      if (const auto found = channels_.find(node); found != channels_.end())
        found->second->send(node, agent::to_json(agent::Ping{kControllerSilence}));
    if (launcher_.traits().chooses_hosts && !hello->host.empty())
      hosts_.at(static_cast<std::size_t>(node)) = hello->host;
  } else if (listener_.report) {
    listener_.report(node, report);
  }
  changed_.cancel();
}

void Fleet::on_closed(const std::vector<int>& all, const Channel* channel, const std::string& how) {
  std::erase_if(left_, [&](const auto& one) { return one.get() == channel; });
  std::vector<int> nodes;
  for (const int node : all) {
    const auto found = channels_.find(node);
    if (found != channels_.end() && found->second.get() != channel) continue;  // it has another
    if (found != channels_.end()) channels_.erase(found);
    nodes.push_back(node);
  }
  changed_.cancel();
  if (nodes.empty()) return;
  if (leaving_) return give_reason(nodes, how);
  // The scheduler may know more, and may take seconds to answer.
  ++in_background_;
  asio::co_spawn(loop_, launcher_.explain_end(identity(nodes.front())),
                 [this, alive = alive_, nodes, how](const std::exception_ptr& error,
                                                    const std::string& known) {
                   if (!*alive) return;
                   --in_background_;
                   give_reason(nodes, error || known.empty() ? how : known + "; " + how);
                 });
}

void Fleet::give_reason(const std::vector<int>& nodes, const std::string& reason) {
  for (const int node : nodes) {
    if (channels_.contains(node)) continue;  // it came back meanwhile
    const bool was_present = present_.erase(node) > 0;
    if (!was_present) failures_[node] = reason;
    if (was_present && listener_.lost) listener_.lost(node, reason);
  }
  changed_.cancel();
}

// On this machine closing the channel is enough, and where an allocation is given back, too.
bool Fleet::outlives_its_channel(int node) const {
  const auto found = channels_.find(node);
  return !launcher_.traits().one_machine && found != channels_.end() &&
         !found->second->command().ask_to_end;
}

asio::awaitable<void> Fleet::disconnect() {
  leaving_ = true;
  listener_ = {};
  ping_timer_.cancel();
  for (const auto& [node, channel] : channels_) {
    channel->send(node, agent::to_json(agent::Bye{}));
    channel->close_input();
  }
  for (const auto& channel : left_) channel->close_input();
  co_await wait(kByeLimit, [this] { return channels_.empty(); });
  std::vector<int> left;
  for (const int node : present_)
    if (outlives_its_channel(node)) left.push_back(node);
  while (!channels_.empty()) close_channel(channels_.begin()->first);
  close_left();
  for (const int node : left) sweep(node, {.agents = identity(node).processes});
  co_await settle();
}

}  // namespace assay::launch
