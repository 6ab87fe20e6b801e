#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// The evidence of a run about the challenge in its plan (docs/tester.md). Only the tester can say
/// whether the challenge is its own.
class ChallengeAnswer {
 public:
  explicit ChallengeAnswer(const plan::Plan& plan);

  /// Must be called for every round of every case, in the plan's order.
  void see(const store::RunDir& run, const plan::CasePlan& case_plan, const RoundEvidence& round);

  /// {"challenge": {…}, "began": ISO time of the first round, or null; "seed": "applied" or
  /// "offered" (the command may or may not read it), "faults": [text]}; null when the plan has no
  /// challenge.
  [[nodiscard]] Json json() const;

 private:
  std::optional<Challenge> challenge_;
  std::string seed_ = "offered";
  std::optional<std::int64_t> began_ns_;
  std::vector<std::string> faults_;
};

}  // namespace assay::judge
