// Whether a round goes on, and who is waited for if it does not: the part of RoundMachine that
// follows the liveness of ranks.
#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "launch/agents/round_machine.h"

namespace assay::launch {

namespace {

// Before its second step a rank may still compile, load data or wait for others.
constexpr std::uint64_t kStepsBeforeStall = 2;
// What an idle machine does by itself stays below.
constexpr double kIdleCpus = 0.25;
constexpr double kIdleDevices = 0.02;
constexpr std::size_t kMaxRanksNamed = 16;

}  // namespace

void RoundMachine::check_stall(std::int64_t now_ns, Actions& actions) {
  if (setup_.limits.stall.count() == 0 || phase_ == Phase::stopping || !is_stalled(now_ns)) return;
  conclude_hang(RoundStatus::stalled, "no rank made progress",
                "look at the last lines of its log; raise limits.stall if such pauses are normal");
  stop_all(now_ns, EndedBy::stall, setup_.limits.grace, actions);
}

std::vector<LivingRank> RoundMachine::living() const {
  std::vector<LivingRank> out;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    const Node& from = node_at(node);
    if (from.done()) continue;
    for (const int rank : from.living) {
      LivingRank& one = out.emplace_back();
      one.node = node;
      one.rank.rank = rank;
      if (const auto silent = from.silent.find(rank); silent != from.silent.end())
        one.rank = silent->second;
    }
  }
  return out;
}

// A mean that forgets within the stall limit: one busy second is not work.
void RoundMachine::follow_use(std::int64_t now_ns, Node& node, const agent::Heartbeat& beat) const {
  if (!beat.busy_cpus || setup_.limits.stall.count() == 0) return node.use_since_ns.reset();
  const double past_s = static_cast<double>(now_ns - node.use_ns) * 1e-9;
  const double weight =
      node.use_since_ns ? std::clamp(4 * past_s / seconds(setup_.limits.stall), 0.0, 1.0) : 1.0;
  node.busy_cpus += weight * (*beat.busy_cpus - node.busy_cpus);
  node.device_util += weight * (beat.device_util.value_or(0) - node.device_util);
  if (!node.use_since_ns) node.use_since_ns = now_ns;
  node.use_ns = now_ns;
}

bool RoundMachine::machines_idle(std::int64_t now_ns) const {
  return std::ranges::all_of(nodes_, [&](const Node& node) {
    return node.done() ||
           (node.use_since_ns && now_ns - *node.use_since_ns > setup_.limits.stall.count() &&
            node.busy_cpus < kIdleCpus && node.device_util < kIdleDevices);
  });
}

// A rank that steps has to go on stepping, whatever else it prints. Where none steps yet, output is
// all that there is: everybody's silence is a stall, and that of a stopped process. One rank's
// silence while others print is what programs do whose first rank alone prints; it is a stall when
// the machines do nothing at all.
bool RoundMachine::is_stalled(std::int64_t now_ns) const {
  const double limit = seconds(setup_.limits.stall);
  const std::vector<LivingRank> ranks = living();
  if (ranks.empty()) return false;
  bool any_silent = false;
  bool all_silent = true;
  for (const LivingRank& one : ranks) {
    if (!node_at(one.node).told) return false;  // it has 15 s to be heard
    if (one.rank.steps >= kStepsBeforeStall && one.rank.event_idle_s > limit) return true;
    const bool silent = one.rank.idle_s > limit;
    if (silent && (one.rank.state == "T" || one.rank.state == "t")) return true;
    any_silent |= silent;
    all_silent &= silent;
  }
  // A node whose ranks are still being started may speak next.
  for (const Node& node : nodes_) all_silent &= node.done() || node.told;
  return all_silent || (any_silent && machines_idle(now_ns));
}

std::string RoundMachine::rank_text(const LivingRank& one) const {
  const std::string who = rank_on_host(one.rank.rank, one.node);
  const std::string state = process_state_text(one.rank.state);
  if (one.rank.steps >= kStepsBeforeStall)
    return fmt::format("{} made no step for {:.1f} s (last step {}{})", who, one.rank.event_idle_s,
                       one.rank.step.value_or(static_cast<std::int64_t>(one.rank.steps)), state);
  return fmt::format("{} silent for {:.1f} s{}", who, one.rank.idle_s, state);
}

// Names those that the others wait for; where nobody stands out, all that are silent, or that run.
void RoundMachine::conclude_hang(RoundStatus status, const std::string& what,
                                 const std::string& advice) {
  const std::vector<LivingRank> ranks = living();
  std::vector<LivingRank> silent;
  for (const LivingRank& one : ranks)
    if (node_at(one.node).silent.contains(one.rank.rank)) silent.push_back(one);
  const Culprits culprits = setup_.independent_ranks ? Culprits{} : tell_culprits(silent);
  RoundOutcome outcome{status, what + ": ", advice};
  const std::vector<LivingRank>& named = culprits.ranks.empty() ? silent : culprits.ranks;
  std::vector<std::string> texts;
  for (const LivingRank& one : named)
    if (texts.size() < kMaxRanksNamed) texts.push_back(rank_text(one));
  if (texts.empty()) texts.push_back("no rank was silent for long");
  if (named.size() > texts.size())
    texts.push_back(fmt::format("{} more", named.size() - texts.size()));
  outcome.reason += join(texts, "; ");
  const std::size_t others = silent.size() - named.size();
  if (!culprits.ranks.empty() && others > 0)
    outcome.reason += fmt::format(
        "; {} for {}{}", counted(others, "other rank") + (others == 1 ? " waits" : " wait"),
        culprits.ranks.size() == 1 ? "it" : "them",
        culprits.why.empty() ? "" : " (" + culprits.why + ")");
  if (status == RoundStatus::timed_out) outcome.reason += "; still running: " + running_text(ranks);
  for (const LivingRank& one : culprits.ranks) outcome.culprits.push_back(one.rank.rank);
  if (!outcome_) outcome_ = std::move(outcome);
}

// "rank 0, 4 on alpha; rank 1 on beta"
std::string RoundMachine::running_text(const std::vector<LivingRank>& ranks) const {
  std::map<int, std::vector<int>> by_node;
  for (const LivingRank& one : ranks) by_node[one.node].push_back(one.rank.rank);
  std::vector<std::string> texts;
  for (auto& [node, numbers] : by_node) {
    const std::size_t more = numbers.size() - std::min(numbers.size(), kMaxRanksNamed);
    numbers.resize(numbers.size() - more);
    texts.push_back(fmt::format("rank {}{} on {}", fmt::join(numbers, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : "", host(node)));
    if (texts.size() == kMaxRanksNamed) break;
  }
  return join(texts, "; ");
}

}  // namespace assay::launch
