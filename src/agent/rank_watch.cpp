#include "agent/rank_watch.h"

#include <algorithm>

#include "core/process_tree.h"

namespace assay::agent {

namespace {

constexpr double kToldAfter_s = 30;
constexpr std::int64_t kReadAtMostEvery = 1'000'000'000;
constexpr std::int64_t kReadWithoutLimit = 60'000'000'000;
// Once a rank has stepped, its events say more than its other output.
constexpr std::uint64_t kStepping = 2;

double silence(const RankLiveness& rank) {
  return rank.steps >= kStepping ? rank.event_idle_s : rank.idle_s;
}

}  // namespace

RankWatch::RankWatch(Nanoseconds stall_limit, Nanoseconds time_limit, bool elsewhere)
    : told_after_s_(kToldAfter_s),
      read_every_ns_(stall_limit.count() > 0
                         ? std::max<std::int64_t>(stall_limit.count() / 8, kReadAtMostEvery)
                         : kReadWithoutLimit),
      elsewhere_(elsewhere) {
  for (const Nanoseconds limit : {stall_limit, time_limit})
    if (limit.count() > 0) told_after_s_ = std::min(told_after_s_, seconds(limit) / 2);
}

RankLiveness RankWatch::look(std::int64_t mono_ns, const Ranks& ranks, std::size_t i) const {
  const RankProcess& rank = *ranks[i];
  RankLiveness out;
  out.rank = rank.rank();
  out.idle_s = rank.idle_s(mono_ns);
  out.event_idle_s = rank.event_idle_s(mono_ns);
  out.events = rank.progress().events();
  out.steps = rank.progress().steps();
  out.step = rank.progress().last_step();
  out.in_step = rank.progress().in_step();
  if (first_ && last_.mono_ns > first_->mono_ns && i < first_->cpu_s.size())
    out.cpu = std::max(0.0, last_.cpu_s[i] - first_->cpu_s[i]) /
              (static_cast<double>(last_.mono_ns - first_->mono_ns) * 1e-9);
  return out;
}

std::vector<RankLiveness> RankWatch::silent(std::int64_t mono_ns, const Ranks& ranks) {
  std::vector<RankLiveness> out;
  std::vector<std::size_t> at;  // the rank of each
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i]->running()) continue;
    RankLiveness rank = look(mono_ns, ranks, i);
    if (silence(rank) < told_after_s_) continue;
    out.push_back(std::move(rank));
    at.push_back(i);
  }
  if (out.empty())
    first_.reset();  // the next silence is a new one
  else
    read(mono_ns, ranks);
  for (std::size_t n = 0; n < out.size(); ++n) {
    const pid_t pid = telling_process(ranks, at[n]);
    out[n].state = std::string(1, process_state(pid));
    out[n].waits_in = wait_channel(pid);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, silence);
  if (out.size() > kMaxRanksTold) out.resize(kMaxRanksTold);
  return out;
}

// A rank may be a shell or a launcher that waits for the process that really hangs.
pid_t RankWatch::telling_process(const Ranks& ranks, std::size_t i) const {
  const pid_t own = ranks[i]->pid();
  if (!first_ || i >= last_.telling.size()) return own;
  const pid_t pid = last_.telling[i];
  return process_state(pid) == '\0' ? own : pid;
}

void RankWatch::read(std::int64_t mono_ns, const Ranks& ranks) {
  if (elsewhere_ || (first_ && mono_ns - last_.mono_ns < read_every_ns_)) return;
  std::vector<pid_t> pids;
  for (const auto& rank : ranks) pids.push_back(rank->pid());
  last_ = {mono_ns, tree_cpu_s(pids), telling_processes(pids)};
  if (!first_) first_ = last_;
}

}  // namespace assay::agent
