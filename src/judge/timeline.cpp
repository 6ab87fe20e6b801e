#include "judge/timeline.h"

#include <algorithm>
#include <cmath>

namespace assay::judge {

namespace {

constexpr double kMonotonicSlack = 5;

double to_seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

}  // namespace

Timeline::Timeline(const RoundEvidence& evidence) {
  std::map<int, std::int64_t> first_start;
  for (const RankEvidence& rank : evidence.ranks) {
    if (!rank.start) continue;
    const auto [at, fresh] = first_start.try_emplace(rank.node, rank.start->mono_ns);
    if (fresh || rank.start->mono_ns < at->second) {
      at->second = rank.start->mono_ns;
      offset_ns_[rank.node] = rank.start->wall_ns - rank.start->mono_ns;
    }
    const double begin = to_seconds(rank.start->mono_ns);
    const double end =
        rank.end ? to_seconds(rank.end->mono_ns) : std::numeric_limits<double>::infinity();
    const auto [alive, added] = alive_.try_emplace(rank.node, Window{begin, end});
    if (!added) {
      alive->second.start = std::min(alive->second.start, begin);
      alive->second.end = std::max(alive->second.end, end);
    }
  }
  for (const auto& [node, mono] : first_start) {
    const std::int64_t wall = mono + offset_ns_[node];
    zero_ns_ = std::min(zero_ns_.value_or(wall), wall);
  }
  for (const NodeEvidence& node : evidence.nodes) {
    if (offset_ns_.contains(node.node) || node.telemetry.rows.empty()) continue;
    const telemetry::Row& row = node.telemetry.rows.front();
    offset_ns_[node.node] = row.wall_ns - row.mono_ns;
  }
  for (const RankEvidence& rank : evidence.ranks) {
    const Stamp& first = rank.log.first_event;
    if (first.mono_us == kNoTime || first.wall_ms == kNoTime) continue;
    offset_ns_.try_emplace(rank.node, first.wall_ms * 1'000'000 - first.mono_us * 1'000);
  }
  if (!zero_ns_) {
    for (const RankEvidence& rank : evidence.ranks) {
      const Stamp& first = rank.log.first_event;
      std::optional<std::int64_t> wall;
      if (monotonic(rank))
        wall = first.mono_us * 1'000 + offset_ns_.at(rank.node);
      else if (first.wall_ms != kNoTime)
        wall = first.wall_ms * 1'000'000;
      if (wall) zero_ns_ = std::min(zero_ns_.value_or(*wall), *wall);
    }
  }
  uses_wall_clock_ = std::ranges::any_of(evidence.ranks, [&](const RankEvidence& rank) {
    return rank.log.first_event.known() && !monotonic(rank);
  });
}

bool Timeline::monotonic(const RankEvidence& rank) const {
  if (!rank.log.has_mono || rank.log.first_event.mono_us == kNoTime ||
      !offset_ns_.contains(rank.node))
    return false;
  // A monotonic clock from another machine or time namespace cannot be mapped to this node's.
  const auto alive = alive_.find(rank.node);
  if (alive == alive_.end()) return true;
  const double first = static_cast<double>(rank.log.first_event.mono_us) / 1e6;
  const double last = static_cast<double>(rank.log.last_event.mono_us) / 1e6;
  return first >= alive->second.start - kMonotonicSlack &&
         last <= alive->second.end + kMonotonicSlack;
}

std::optional<double> RankClock::at(const Stamp& stamp) const noexcept {
  if (!placed) return std::nullopt;
  if (stamp.mono_us != kNoTime && monotonic)
    return to_seconds(stamp.mono_us * 1'000 + offset_ns - zero_ns);
  if (stamp.wall_ms == kNoTime) return std::nullopt;
  return to_seconds(stamp.wall_ms * 1'000'000 - zero_ns);
}

RankClock Timeline::clock(const RankEvidence& rank) const {
  RankClock clock;
  clock.placed = zero_ns_.has_value();
  clock.zero_ns = zero_ns_.value_or(0);
  clock.monotonic = monotonic(rank);
  if (clock.monotonic) clock.offset_ns = offset_ns_.at(rank.node);
  return clock;
}

std::optional<double> Timeline::at(const RankEvidence& rank, const Stamp& stamp) const {
  return clock(rank).at(stamp);
}

std::optional<double> Timeline::at(int node, const Instant& instant) const {
  const auto offset = offset_ns_.find(node);
  if (!zero_ns_ || offset == offset_ns_.end()) return std::nullopt;
  return to_seconds(instant.mono_ns + offset->second - *zero_ns_);
}

bool ClockWatch::agree(const Reading& a, const Reading& b) noexcept {
  return std::abs(a.offset - b.offset) <= 0.01 + std::abs(a.mono - b.mono) * 500e-6;
}

void ClockWatch::see(double mono_s, double wall_s) noexcept {
  const Reading now{mono_s, wall_s - mono_s};
  if (!stable_ || agree(now, *stable_)) {
    stable_ = now;
    odd_.reset();
  } else if (odd_ && agree(now, *odd_)) {
    largest_ = std::max(largest_, std::abs(now.offset - stable_->offset));
    stable_ = now;
    odd_.reset();
  } else {
    odd_ = now;
  }
}

std::optional<double> largest_clock_jump(const RoundEvidence& evidence, std::string& detail) {
  std::optional<double> largest;
  const auto note = [&](double jump, const std::string& host) {
    if (!largest || jump > *largest) {
      largest = std::max(jump, 0.0);
      detail = "on " + (host.empty() ? std::string("a node") : host);
    }
  };
  for (const NodeEvidence& node : evidence.nodes) {
    std::vector<Instant> seen;
    for (const telemetry::Row& row : node.telemetry.rows)
      seen.push_back({row.mono_ns, row.wall_ns});
    for (const RankEvidence& rank : evidence.ranks) {
      if (rank.node != node.node) continue;
      if (rank.start) seen.push_back(*rank.start);
      if (rank.end && rank.ended_by != EndedBy::lost) seen.push_back(*rank.end);
    }
    std::ranges::stable_sort(seen, {}, &Instant::mono_ns);
    ClockWatch clocks;
    for (const Instant& at : seen)
      clocks.see(to_seconds(at.mono_ns - seen.front().mono_ns),
                 to_seconds(at.wall_ns - seen.front().wall_ns));
    if (seen.size() > 1) note(clocks.largest_jump(), node.host);
  }
  for (const RankEvidence& rank : evidence.ranks)
    if (rank.log.first_event.wall_ms != kNoTime) note(rank.log.clock_jump_s, rank.host);
  return largest;
}

}  // namespace assay::judge
