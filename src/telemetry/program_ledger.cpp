#include "telemetry/program_ledger.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace assay::telemetry {

namespace {

// Keeps a day of short commands from filling the memory; the small ones do not matter.
constexpr std::size_t kMaxEnded = 4096;
constexpr std::ptrdiff_t kEndedKept = 1024;

}  // namespace

void ProgramLedger::end(Entry entry) {
  if (entry.used_s <= 0) return;
  ended_.push_back(std::move(entry));
  if (ended_.size() < kMaxEnded) return;
  std::ranges::nth_element(ended_, ended_.begin() + kEndedKept, std::greater<>(), &Entry::used_s);
  ended_.erase(ended_.begin() + kEndedKept, ended_.end());
}

void ProgramLedger::observe(std::span<const ProcessTimes> processes) {
  for (auto& [pid, entry] : entries_) entry.present = false;
  const auto is_known = [](const Entry& entry, const ProcessTimes& process) {
    return entry.last.started == process.started;
  };
  for (const ProcessTimes& process : processes)
    if (const auto known = entries_.find(process.pid);
        known != entries_.end() && is_known(known->second, process))
      known->second.present = true;

  // For an ended process, the child time of its nearest living ancestor contains its whole life.
  std::map<pid_t, double> counted_already;
  for (const auto& [pid, entry] : entries_) {
    if (entry.present) continue;
    auto ancestor = entries_.find(entry.last.parent);
    for (std::size_t steps = 0;
         ancestor != entries_.end() && !ancestor->second.present && steps < entries_.size();
         ++steps)
      ancestor = entries_.find(ancestor->second.last.parent);
    if (ancestor != entries_.end())
      counted_already[ancestor->first] += entry.last.own_s + entry.last.children_s;
  }
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.present) {
      ++it;
      continue;
    }
    end(std::move(it->second));
    it = entries_.erase(it);
  }

  for (const ProcessTimes& process : processes) {
    const auto [place, is_new] = entries_.try_emplace(process.pid);
    Entry& entry = place->second;
    if (is_new) {
      if (begun_) entry.used_s = process.own_s + process.children_s;
    } else {
      entry.used_s += std::max(0.0, process.own_s - entry.last.own_s);
      const auto ended = counted_already.find(process.pid);
      const double known = ended == counted_already.end() ? 0 : ended->second;
      // Process 1 waits for orphans of all kinds, whose earlier life is unknown.
      if (process.pid != 1)
        entry.used_s += std::max(0.0, process.children_s - entry.last.children_s - known);
    }
    entry.last = process;
  }
  begun_ = true;
}

}  // namespace assay::telemetry
