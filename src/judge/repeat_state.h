#pragma once

#include <string>

#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// The state of a case that repeats until its result is certain.
struct RepeatState {
  bool enough = false;                 ///< no further round is needed or would help
  std::string why;                     ///< the reason, for people, in either case
  std::optional<double> half_width{};  ///< of the headline's 95 % interval, relative to its mean
};

/// Computed from the rounds that count, their summary and the headline. Pure.
[[nodiscard]] RepeatState repeat_state(const plan::CasePlan& plan, const CaseResult& so_far);

/// States the facts that rules need about a case's rounds besides their statistics: warm-up rounds,
/// repeats until the result is certain, a cold first round.
void state_rounds(const plan::CasePlan& plan, const CaseResult& result, Facts& facts);

/// A first round that was slower than all others before its steps, which were as fast.
struct ColdStart {
  double seconds = 0;  ///< excess over the median of the others
  std::string text;    ///< for people: the parts concerned, and by how much
};
[[nodiscard]] std::optional<ColdStart> find_cold_start(const CaseResult& result);

}  // namespace assay::judge
