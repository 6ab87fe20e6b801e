#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// The facts in a run's evidence about the challenge in its plan (docs/tester.md). The tester
/// decides whether the challenge is one of its own.
class ChallengeAnswer {
 public:
  explicit ChallengeAnswer(const plan::Plan& plan);

  /// Every round of every case, in the plan's order.
  void see(const store::RunDir& run, const plan::CasePlan& case_plan, const RoundEvidence& round);

  /// {"challenge": {…}, "began": ISO time of the first round, or null; "seed": "applied" or
  /// "offered" (whether the command reads it is its own affair), "faults": [text]}; null: the plan
  /// has no challenge.
  [[nodiscard]] Json json() const;

 private:
  std::optional<Challenge> challenge_;
  std::string seed_ = "offered";
  std::optional<std::int64_t> began_ns_;
  std::vector<std::string> faults_;
};

}  // namespace assay::judge
