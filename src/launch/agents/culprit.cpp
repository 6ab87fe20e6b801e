#include "launch/agents/culprit.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

namespace assay::launch {

namespace {

using Ranks = std::vector<LivingRank>;

// Shares of a core. Between them nothing is said: a rank that waits now and then uses a little.
constexpr double kSleeps = 0.05;
constexpr double kComputes = 0.5;
// Ranks that wait for the same one fall silent within a step of each other.
constexpr double kWellBefore = 2;     // times as long
constexpr double kWellBefore_s = 10;  // and so much longer at least
// Its last step is so many times longer ago than its last output, which therefore is another.
constexpr double kTalks = 2;

Ranks those(const Ranks& ranks, const std::function<bool(const LivingRank&)>& fits) {
  Ranks out;
  std::ranges::copy_if(ranks, std::back_inserter(out), fits);
  return out;
}

// Fewer than half: the others are the rule, and these are the exception.
bool are_few(const Ranks& some, const Ranks& all) {
  return !some.empty() && some.size() * 2 < all.size();
}

bool stopped(const LivingRank& one) {
  return one.rank.state == "T" || one.rank.state == "t";
}

// How far a rank is by its events; nothing: it does not tell.
std::optional<std::tuple<std::uint64_t, bool>> how_far(const LivingRank& one) {
  if (one.rank.events == 0) return std::nullopt;
  return std::tuple(one.rank.steps, one.rank.in_step);
}

Culprits least_far(const Ranks& ranks) {
  std::optional<std::tuple<std::uint64_t, bool>> least;
  bool differ = false;
  for (const LivingRank& one : ranks) {
    const auto far = how_far(one);
    if (!far) return {};  // it may be anywhere
    differ |= least && far != least;
    least = std::min(least.value_or(*far), *far);
  }
  if (!differ) return {};
  return {those(ranks, [&](const LivingRank& one) { return how_far(one) == least; }),
          "the others are further on"};
}

// A rank that has printed since its last step, and goes on to, is not the one that hangs.
bool talks(const LivingRank& one) {
  return one.rank.idle_s * kTalks < one.rank.event_idle_s;
}

// Where all have told of their steps: programs whose first rank alone prints have others that are
// silent, and mean nothing by it.
Culprits silent_among_talkers(const Ranks& ranks) {
  if (!std::ranges::all_of(ranks, [](const LivingRank& one) { return how_far(one).has_value(); }))
    return {};
  const Ranks silent = those(ranks, std::not_fn(talks));
  if (silent.size() == ranks.size()) return {};
  if (silent.size() == 1 || are_few(silent, ranks))
    return {silent, "it fell silent and the others still print"};
  return {};
}

Culprits by_cpu(const Ranks& ranks) {
  if (std::ranges::any_of(ranks, [](const LivingRank& one) { return !one.rank.cpu; })) return {};
  const Ranks asleep = those(ranks, [](const LivingRank& one) { return *one.rank.cpu < kSleeps; });
  const Ranks busy = those(ranks, [](const LivingRank& one) { return *one.rank.cpu > kComputes; });
  if (asleep.size() + busy.size() != ranks.size()) return {};
  if (are_few(busy, ranks)) return {busy, "it computes and the others sleep"};
  if (are_few(asleep, ranks)) return {asleep, "it sleeps and the others compute"};
  return {};
}

Culprits by_place(const Ranks& ranks) {
  std::map<std::string, Ranks> places;
  for (const LivingRank& one : ranks) places[one.rank.waits_in].push_back(one);
  if (places.size() != 2 || places.contains("")) return {};
  for (const auto& [place, there] : places)
    if (are_few(there, ranks)) return {there, "it sleeps in " + place + ", the others elsewhere"};
  return {};
}

Culprits silent_longest(const Ranks& ranks) {
  const auto longest =
      std::ranges::max_element(ranks, {}, [](const LivingRank& one) { return one.rank.idle_s; });
  for (auto other = ranks.begin(); other != ranks.end(); ++other) {
    if (other == longest) continue;
    if (longest->rank.idle_s < other->rank.idle_s * kWellBefore ||
        longest->rank.idle_s < other->rank.idle_s + kWellBefore_s)
      return {};
  }
  return {{*longest}, "it fell silent first"};
}

}  // namespace

Culprits tell_culprits(const Ranks& living) {
  if (living.size() < 2) return {living, {}};
  if (const Ranks some = those(living, stopped); !some.empty()) return {some, {}};
  if (Culprits behind = least_far(living); !behind.ranks.empty()) return behind;
  // Before what their processes are at just now, which for those that print is something else soon.
  if (Culprits quiet = silent_among_talkers(living); !quiet.ranks.empty()) return quiet;
  const Ranks held = those(living, [](const LivingRank& one) { return one.rank.state == "D"; });
  if (are_few(held, living)) return {held, {}};
  for (const auto tell : {by_cpu, by_place, silent_longest})
    if (Culprits some = tell(living); !some.ranks.empty()) return some;
  return {};
}

std::string process_state_text(const std::string& state) {
  if (state == "T" || state == "t") return ", stopped by a signal";
  if (state == "D") return ", waiting for the kernel (disk or driver)";
  if (state == "Z") return ", ended but not reaped";
  return {};
}

}  // namespace assay::launch
