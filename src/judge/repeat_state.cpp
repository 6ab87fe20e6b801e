#include "judge/repeat_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace assay::judge {

namespace {

std::string percent_text(double ratio) {
  return format_number(100 * ratio) + " %";
}

}  // namespace

RepeatState repeat_state(const plan::CasePlan& plan, const CaseResult& so_far) {
  RepeatState state;
  int completed = 0;
  const RoundResult* failed = nullptr;
  for (const RoundResult& round : so_far.rounds) {
    if (round.status == RoundStatus::completed)
      ++completed;
    else if (is_result(round.status) && failed == nullptr)
      failed = &round;
  }
  const auto headline = std::ranges::find(so_far.summary, so_far.headline,
                                          [](const Summary& summary) { return summary.info.name; });
  const bool named = !so_far.headline.empty() && headline != so_far.summary.end();
  if (named && headline->ci95_low && headline->ci95_high && headline->mean != 0)
    state.half_width = (*headline->ci95_high - *headline->ci95_low) / 2 / std::abs(headline->mean);
  if (!plan.until) return state;

  const std::string rounds = counted(completed, "round");
  if (state.half_width)
    state.why =
        fmt::format("the mean of {} is known to ± {} after {}, ± {} is wanted", so_far.headline,
                    percent_text(*state.half_width), rounds, percent_text(plan.until->half_width));
  else
    state.why = fmt::format("nothing is known of the mean after {}", rounds);
  if (failed != nullptr) {
    state.enough = true;
    state.why = fmt::format("round {} {}: more rounds would not help", failed->round,
                            failed->status == RoundStatus::failed ? "failed" : "did not complete");
  } else if (completed >= plan.until->min) {
    const bool narrow = state.half_width && *state.half_width <= plan.until->half_width;
    // More rounds would not give a value to a metric that has none so far.
    state.enough = narrow || !named || completed >= plan.repeats;
  }
  return state;
}

void state_rounds(const plan::CasePlan& plan, const CaseResult& result, Facts& facts) {
  int unwarmed = 0;
  std::string first;
  for (const RoundResult& round : result.warmup_rounds) {
    if (round.status == RoundStatus::completed) continue;
    if (unwarmed++ == 0)
      first = fmt::format("round {}: {}", round.round,
                          round.reason.empty() ? std::string(to_text(round.status)) : round.reason);
  }
  if (!result.warmup_rounds.empty()) state(facts, "warmup_rounds_failed", unwarmed, first);
  if (plan.until) {
    const RepeatState repeats = repeat_state(plan, result);
    const bool ended = repeats.enough || !result.repeats_ended.empty();
    state(facts, "rounds_wanting", ended ? 0 : 1, repeats.why);
    if (ended && repeats.half_width && plan.until->half_width > 0)
      state(facts, "interval_to_wanted", *repeats.half_width / plan.until->half_width, repeats.why);
  }
  if (const std::optional<ColdStart> cold = find_cold_start(result))
    state(facts, "cold_start_s", cold->seconds, cold->text);
}

}  // namespace assay::judge
