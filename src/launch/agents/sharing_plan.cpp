#include "launch/agents/sharing_plan.h"

#include <algorithm>
#include <utility>

namespace assay::launch {

using agent::FetchFault;

SharingPlan::SharingPlan(const std::set<int>& nodes) {
  for (const int node : nodes) nodes_[node] = {};
}

std::vector<SharingPlan::Order> SharingPlan::next() {
  std::vector<Order> orders;
  const bool any_source = std::ranges::any_of(nodes_, [](const auto& entry) {
    return entry.second.passes_on && entry.second.state == State::has;
  });
  for (auto& [number, node] : nodes_) {
    if (node.state != State::waiting) continue;
    if (!apart_ && !node.by_controller) {
      if (const auto from = best_source(node)) {
        order(number, *from, orders);
        continue;
      }
      if (may_get_source(node)) continue;
      // The first of all, or one whose every source failed it. Only one at a time is a seed.
      if (!any_source && uploading_ > 0) continue;
    }
    if (uploading_ < kByController) order(number, kController, orders);
  }
  return orders;
}

void SharingPlan::order(int number, int from, std::vector<Order>& out) {
  Node& node = nodes_.at(number);
  node.state = State::receiving;
  node.from = from;
  if (from == kController)
    ++uploading_;
  else
    ++nodes_.at(from).serving;
  out.push_back({number, from});
}

std::optional<int> SharingPlan::best_source(const Node& node) const {
  std::optional<int> best;
  for (const auto& [number, source] : nodes_) {
    if (source.state != State::has || !source.passes_on || source.serving >= kPerSource ||
        node.tried.contains(number))
      continue;
    if (!best || source.serving < nodes_.at(*best).serving) best = number;
  }
  return best;
}

bool SharingPlan::may_get_source(const Node& node) const {
  return std::ranges::any_of(nodes_, [&](const auto& entry) {
    const auto& [number, other] = entry;
    if (node.tried.contains(number)) return false;
    return other.state == State::receiving || (other.state == State::has && other.passes_on);
  });
}

void SharingPlan::release(Node& node) {
  if (node.from == kController) {
    --uploading_;
  } else {
    --nodes_.at(node.from).serving;
  }
}

void SharingPlan::arrived(int number, bool passes_on) {
  Node& node = nodes_.at(number);
  if (node.state != State::receiving) return;
  release(node);
  node.state = State::has;
  node.passes_on = passes_on && !apart_;
  if (node.from == kController) return;
  ever_reached_ = true;
  nodes_.at(node.from).reached = true;
}

void SharingPlan::failed(int number, FetchFault fault, const std::string& reason) {
  Node& node = nodes_.at(number);
  if (node.state != State::receiving) return;
  release(node);
  node.state = State::waiting;
  if (node.from == kController) {
    if (++node.uploads_failed < kUploadsTried) return;
    node.state = State::out;
    given_up_[number] = reason;
    return;
  }
  node.tried.insert(node.from);
  if (fault == FetchFault::own || static_cast<int>(node.tried.size()) >= kSourcesTried)
    node.by_controller = true;
  if (fault != FetchFault::own) blame(node.from, number, fault, reason);
}

void SharingPlan::blame(int number, int told_by, FetchFault fault, const std::string& reason) {
  Node& source = nodes_.at(number);
  source.failed.insert(told_by);
  if (fault == FetchFault::damaged) return bar(number, told_by, Notice::Kind::damaged, reason);
  const bool unreachable = fault == FetchFault::unreachable;
  if (unreachable) {
    ++unreachable_;
    not_reached_.insert(number);
  }
  if (unreachable_ >= kUnreachable && not_reached_.size() >= 2 && !ever_reached_ && !apart_) {
    apart_ = true;
    for (auto& [other, node] : nodes_) node.passes_on = false;
    notices_.push_back({Notice::Kind::apart, number, told_by, reason});
    return;
  }
  if (source.failed.size() >= 2 && !(unreachable && source.reached))
    bar(number, told_by, unreachable ? Notice::Kind::unreachable : Notice::Kind::unreliable,
        reason);
}

void SharingPlan::bar(int number, int told_by, Notice::Kind kind, const std::string& reason) {
  if (!std::exchange(nodes_.at(number).passes_on, false)) return;
  notices_.push_back({kind, number, told_by, reason});
}

void SharingPlan::lost(int number, const std::string& reason) {
  const auto found = nodes_.find(number);
  if (found == nodes_.end() || found->second.state == State::out) return;
  if (found->second.state == State::receiving) release(found->second);
  found->second.state = State::out;
  given_up_[number] = reason;
}

bool SharingPlan::done() const {
  return std::ranges::none_of(nodes_, [](const auto& entry) {
    return entry.second.state == State::waiting || entry.second.state == State::receiving;
  });
}

bool SharingPlan::others_need_it(int node) const {
  return !apart_ && std::ranges::any_of(nodes_, [&](const auto& entry) {
    const auto& [number, other] = entry;
    return number != node && (other.state == State::waiting || other.state == State::receiving);
  });
}

std::optional<int> SharingPlan::source(int node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.state != State::receiving) return std::nullopt;
  return found->second.from;
}

std::vector<SharingPlan::Notice> SharingPlan::take_notices() {
  return std::exchange(notices_, {});
}

}  // namespace assay::launch
