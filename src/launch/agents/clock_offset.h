#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/time.h"
#include "launch/agents/fleet.h"
#include "probe/check.h"

namespace assay::launch {

/// One question for the time and its answer: when it left and when the answer came, on the
/// controller's clocks, and the wall clock of the node in between.
struct ClockExchange {
  Instant sent;
  std::int64_t node_wall_ns = 0;
  std::int64_t received_mono_ns = 0;
};

/// How far a node's wall clock is ahead of the controller's.
struct ClockOffset {
  Nanoseconds offset{};       ///< negative: behind
  Nanoseconds uncertainty{};  ///< the true offset lies within offset ± uncertainty
  int exchanges = 0;          ///< that it was taken from
};

/// Pure, as NTP does it: of the exchange with the shortest round trip, assuming that the answer was
/// given half way; off by at most half of the round trip. Nothing when there are no exchanges.
[[nodiscard]] std::optional<ClockOffset> estimate_offset(
    const std::vector<ClockExchange>& exchanges);

/// Beyond its uncertainty: more than 100 ms is a WARN, more than 1 s a FAIL.
[[nodiscard]] probe::Check check_offset(const ClockOffset& offset);

/// {"offset_s", "uncertainty_s", "exchanges"}
[[nodiscard]] Json to_json(const ClockOffset& offset);

/// Asks all connected agents at once, several times. Nodes that do not answer are left out. Takes a
/// few round trips, at most some seconds. Not while a round runs.
[[nodiscard]] asio::awaitable<std::map<int, ClockOffset>> measure_offsets(Fleet& fleet);

}  // namespace assay::launch
