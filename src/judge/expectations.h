#pragma once

#include <optional>
#include <string>

#include "baseline/baseline.h"
#include "core/json.h"
#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// The entry of the baseline for a case.
struct ExpectedCase {
  const baseline::CaseEntry* entry = nullptr;  ///< nullptr: none, for the reason in `absent`
  std::string absent{};
};

/// The baseline of a plan.
class Expectations {
 public:
  /// If a baseline cannot be read or does not match its hash, that becomes the reason why nothing
  /// is known. Does not throw.
  explicit Expectations(const plan::Plan& plan);
  /// The expectation for a case on the machines of system.json; nothing when the plan has no
  /// baseline. Valid as long as this object lives.
  [[nodiscard]] std::optional<ExpectedCase> of(const plan::CasePlan& case_plan,
                                               const Json& system) const;

 private:
  bool given_ = false;
  std::string problem_;
  std::string suite_file_;
  baseline::Baseline baseline_;
};

/// States baseline_unknown, baseline_worse and baseline_better for a case with a completed round.
void state_expected(const ExpectedCase& expected, const CaseResult& result, Facts& facts);

}  // namespace assay::judge
