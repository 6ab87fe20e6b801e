#pragma once

#include <optional>
#include <string>

#include "baseline/baseline.h"
#include "core/json.h"
#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// The expected results of a case.
struct ExpectedCase {
  const baseline::CaseEntry* entry = nullptr;  ///< nullptr: there is none, and `absent` says why
  std::string absent{};
};

/// The baseline that a plan compares its cases with.
class Expectations {
 public:
  /// A baseline that cannot be read, or is not what its hash says, becomes the reason why nothing
  /// is known. Does not throw.
  explicit Expectations(const plan::Plan& plan);
  /// What is expected of a case on the machines of system.json; nothing when the plan has no
  /// baseline. Valid as long as this object is.
  [[nodiscard]] std::optional<ExpectedCase> of(const plan::CasePlan& case_plan,
                                               const Json& system) const;

 private:
  bool given_ = false;
  std::string problem_;
  std::string suite_file_;
  baseline::Baseline baseline_;
};

/// States baseline_unknown, baseline_worse and baseline_better of a case with a completed round.
void state_expected(const ExpectedCase& expected, const CaseResult& result, Facts& facts);

}  // namespace assay::judge
