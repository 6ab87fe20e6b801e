#include "serve/connection_table.h"

#include <algorithm>
#include <tuple>

namespace assay::serve {

namespace {

// So many times the limits may come at once.
constexpr std::size_t kCrowd = 16;

std::int64_t in_ns(std::chrono::milliseconds time) {
  return std::chrono::nanoseconds(time).count();
}

}  // namespace

std::optional<ConnectionTable::Id> ConnectionTable::opened(Id id, const std::string& address,
                                                           std::int64_t now_ns) {
  all_[id] = {.address = address, .active_ns = now_ns};
  const std::size_t mine = ++by_address_[address];
  std::optional<Id> leaves;
  if (mine > limits_.per_address)
    leaves = leaver(address, id, mine > kCrowd * limits_.per_address, now_ns);
  else if (all_.size() > limits_.total)
    leaves = leaver(fullest(), id, all_.size() > kCrowd * limits_.total, now_ns);
  // Its place is free now, however long it takes to close.
  if (leaves) closed(*leaves);
  return leaves;
}

// Who has just come has had no time to ask: a crowd that comes at once is let in for a moment.
std::optional<ConnectionTable::Id> ConnectionTable::leaver(const std::string& address, Id newest,
                                                           bool must, std::int64_t now_ns) const {
  const std::optional<Id> idle = idlest(address, newest);
  if (!idle) return newest;
  const bool fresh = now_ns - all_.at(*idle).active_ns < in_ns(limits_.fresh);
  return fresh && !must ? std::nullopt : idle;
}

std::string ConnectionTable::fullest() const {
  const auto found =
      std::ranges::max_element(by_address_, {}, [](const auto& entry) { return entry.second; });
  return found == by_address_.end() ? std::string() : found->first;
}

// What has sent nothing goes before what is sending.
std::optional<ConnectionTable::Id> ConnectionTable::idlest(const std::string& address,
                                                           Id newest) const {
  std::optional<std::tuple<bool, std::int64_t, Id>> least;
  for (const auto& [id, one] : all_) {
    if (one.asked || one.address != address || id == newest) continue;
    const std::tuple key{one.bytes > 0, one.active_ns, id};
    if (!least || key < *least) least = key;
  }
  return least ? std::optional(std::get<2>(*least)) : std::nullopt;
}

void ConnectionTable::received(Id id, std::size_t bytes, std::int64_t now_ns) {
  const auto found = all_.find(id);
  if (found == all_.end() || bytes == 0) return;
  Connection& one = found->second;
  if (one.bytes == 0) one.began_ns = now_ns;
  one.bytes += bytes;
  one.active_ns = now_ns;
}

void ConnectionTable::asked(Id id) {
  if (const auto found = all_.find(id); found != all_.end()) found->second.asked = true;
}

void ConnectionTable::answered(Id id, std::int64_t now_ns) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  found->second.asked = false;
  found->second.bytes = 0;
  found->second.active_ns = now_ns;
}

bool ConnectionTable::streams(Id id) {
  if (streams_.size() >= limits_.streams) return false;
  closed(id);
  streams_.insert(id);
  return true;
}

void ConnectionTable::closed(Id id) {
  streams_.erase(id);
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  const auto count = by_address_.find(found->second.address);
  if (--count->second == 0) by_address_.erase(count);
  all_.erase(found);
}

std::vector<ConnectionTable::Id> ConnectionTable::overdue(std::int64_t now_ns) const {
  std::vector<Id> out;
  for (const auto& [id, one] : all_) {
    if (one.asked) continue;
    const std::int64_t since_ns = now_ns - (one.bytes == 0 ? one.active_ns : one.began_ns);
    const bool silent = one.bytes == 0 && since_ns >= in_ns(limits_.idle);
    const bool slow =
        one.bytes > 0 && since_ns >= in_ns(limits_.grace) &&
        static_cast<double>(one.bytes) < limits_.bytes_per_s * static_cast<double>(since_ns) / 1e9;
    if (silent || slow) out.push_back(id);
  }
  return out;
}

}  // namespace assay::serve
