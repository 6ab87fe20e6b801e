#include "launch/agents/clock_offset.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "core/units.h"

namespace assay::launch {

namespace {

constexpr int kExchanges = 5;
constexpr Nanoseconds kAnswerLimit = std::chrono::seconds(2);
constexpr Nanoseconds kNoticed = std::chrono::milliseconds(100);
constexpr Nanoseconds kTooMuch = std::chrono::seconds(1);

// Formats a round trip of nanoseconds as well as one of days.
std::string short_duration_text(Nanoseconds d) {
  return seconds(d) < 1 ? fmt::format("{:.3g} ms", seconds(d) * 1e3) : format_duration(d);
}

}  // namespace

std::optional<ClockOffset> estimate_offset(const std::vector<ClockExchange>& exchanges) {
  const auto round_trip = [](const ClockExchange& e) {
    return e.received_mono_ns - e.sent.mono_ns;
  };
  const auto best = std::ranges::min_element(exchanges, {}, round_trip);
  if (best == exchanges.end()) return std::nullopt;
  const std::int64_t half = round_trip(*best) / 2;
  return ClockOffset{Nanoseconds(best->node_wall_ns - (best->sent.wall_ns + half)),
                     Nanoseconds(half), static_cast<int>(exchanges.size())};
}

probe::Check check_offset(const ClockOffset& offset) {
  const Nanoseconds size = Nanoseconds(std::abs(offset.offset.count()));
  const Nanoseconds beyond = size - offset.uncertainty;
  const std::string seen = fmt::format(
      "{} {} the controller's clock, ± {}", short_duration_text(size),
      offset.offset.count() < 0 ? "behind" : "ahead of", short_duration_text(offset.uncertainty));
  const probe::Level level = beyond > kTooMuch   ? probe::Level::fail
                             : beyond > kNoticed ? probe::Level::warn
                                                 : probe::Level::pass;
  return {"clock-skew", level, seen,
          level == probe::Level::pass
              ? ""
              : "its times can be lined up with the others' only as well as this: start chrony or "
                "systemd-timesyncd there and here, then check again"};
}

Json to_json(const ClockOffset& offset) {
  return {{"offset_s", seconds(offset.offset)},
          {"uncertainty_s", seconds(offset.uncertainty)},
          {"exchanges", offset.exchanges}};
}

asio::awaitable<std::map<int, ClockOffset>> measure_offsets(Fleet& fleet) {
  asio::steady_timer changed(co_await asio::this_coro::executor);
  std::map<int, std::vector<ClockExchange>> exchanges;
  std::map<int, Instant> open;  // asked, and not answered
  Fleet::Listener listener;
  listener.report = [&](int node, const agent::Report& report) {
    const std::int64_t received = mono_now_ns();
    const auto asked = open.find(node);
    const auto* reading = std::get_if<agent::ClockReading>(&report);
    if (asked == open.end() || reading == nullptr) return;
    exchanges[node].push_back({asked->second, reading->wall_ns, received});
    open.erase(asked);
    if (open.empty()) changed.cancel();
  };
  listener.lost = [&](int node, const std::string&) {
    open.erase(node);
    if (open.empty()) changed.cancel();
  };
  fleet.listen(std::move(listener));
  std::set<int> silent;  // a late answer would be taken for that of the next question
  for (int i = 0; i < kExchanges; ++i) {
    for (int node = 0; node < fleet.size(); ++node) {
      if (!fleet.connected(node) || silent.contains(node)) continue;
      open[node] = now();
      fleet.send(node, agent::ClockRequest{});
    }
    const auto deadline = std::chrono::steady_clock::now() + kAnswerLimit;
    while (!open.empty() && std::chrono::steady_clock::now() < deadline) {
      changed.expires_at(deadline);
      asio::error_code ec;
      co_await changed.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    for (const auto& [node, asked] : open) silent.insert(node);
    open.clear();
  }
  fleet.listen({});
  std::map<int, ClockOffset> offsets;
  for (const auto& [node, list] : exchanges)
    if (const auto offset = estimate_offset(list)) offsets[node] = *offset;
  co_return offsets;
}

}  // namespace assay::launch
