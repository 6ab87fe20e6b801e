#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/challenge.h"
#include "core/json.h"
#include "judge/result.h"

namespace assay::tester {

// Requests to measure a case of an accepted test again with a seed that nobody could know before,
// and what answers them. docs/tester.md says what that proves.

struct ChallengeRecord {
  Challenge challenge;
  std::string by;           ///< name of the token that asked for it
  std::string answered_by;  ///< id of the test that answered it; empty: none yet
};

/// By how much the clock of a machine that is measured may be wrong.
inline constexpr std::chrono::minutes kClockTolerance{5};
inline constexpr std::chrono::hours kMaxChallengeTime{30 * 24};

/// A new one about a case of the accepted test `test`, with its result. An empty
/// `case_name`: one of the cases that take a seed, by chance. Throws Refusal when the test has no
/// such case, or the case takes no seed.
[[nodiscard]] Challenge new_challenge(const std::string& test, const judge::RunResult& result,
                                      const std::string& case_name, std::int64_t now_ns,
                                      std::chrono::seconds valid);

/// The test that claims to answer a challenge.
struct Answering {
  std::string test;                ///< its id
  std::string token;               ///< name of its token
  const judge::RunResult& result;  ///< the tester's own of it
  std::string challenged_token;    ///< of the test that is measured again; empty: it is gone
};

/// Why it does not answer the challenge that its plan has; empty: it does. `known`: what the tester
/// has under that challenge's id.
[[nodiscard]] std::vector<std::string> challenge_faults(const Answering& answer,
                                                        const std::optional<ChallengeRecord>& known,
                                                        std::int64_t now_ns);

/// The id in the challenge of a result's plan; nothing: the run answers none.
[[nodiscard]] std::optional<std::string> answered_challenge(const judge::RunResult& result);

/// {"id", "test", "case", "seed", "seed_use", "differs": [text], "metric", "unit", "before", "now",
/// "difference" (ratio), "overlap"}: the headline of the case in both results, the settings,
/// programs and keys that differ, and whether the confidence intervals overlap (null: one is not
/// known). Without "metric" and what follows where the results have no headline in common.
[[nodiscard]] Json compare_answer(const Challenge& challenge, const judge::RunResult& before,
                                  const judge::RunResult& now);

/// "p_whole 101.2 samples/s, 100.9 before (+0.3 %)"; for people.
[[nodiscard]] std::string comparison_text(const Json& comparison);

}  // namespace assay::tester
