#pragma once

#include <string>

#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Where a case stands that is repeated until its result is certain.
struct RepeatState {
  bool enough = false;                 ///< no further round is needed, or none would help
  std::string why;                     ///< for people, in either case
  std::optional<double> half_width{};  ///< of the headline's 95 % interval, relative to the mean
};

/// By the rounds that count, their summary and the headline. Pure.
[[nodiscard]] RepeatState repeat_state(const plan::CasePlan& plan, const CaseResult& so_far);

/// What rules ask for about a case's rounds besides their statistics: warm-up rounds, repeats until
/// the result is certain, a first round that began cold.
void state_rounds(const plan::CasePlan& plan, const CaseResult& result, Facts& facts);

/// A first round that took longer than all others before its steps, which were as fast as theirs.
struct ColdStart {
  double seconds = 0;  ///< longer than the median of the others
  std::string text;    ///< for people: in which parts, by how much
};
[[nodiscard]] std::optional<ColdStart> find_cold_start(const CaseResult& result);

}  // namespace assay::judge
