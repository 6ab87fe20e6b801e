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

// Requests to measure a case of an accepted test again with a seed that nobody could know in
// advance, and their answers. docs/tester.md explains what that proves.

struct ChallengeRecord {
  Challenge challenge;
  std::string by;           ///< name of the requesting token
  std::string answered_by;  ///< id of the answering test; empty: none yet
};

/// How wrong the clock of a measured machine may be.
inline constexpr std::chrono::minutes kClockTolerance{5};
inline constexpr std::chrono::hours kMaxChallengeTime{30 * 24};

/// A new challenge for a case of the accepted test `test` with this result. An empty `case_name`
/// picks at random one of the cases that take a seed. Throws Refusal if the test has no such case,
/// or the case takes no seed.
[[nodiscard]] Challenge new_challenge(const std::string& test, const judge::RunResult& result,
                                      const std::string& case_name, std::int64_t now_ns,
                                      std::chrono::seconds valid);

/// A test that claims to answer a challenge.
struct Answering {
  std::string test;                ///< its id
  std::string token;               ///< name of its token
  const judge::RunResult& result;  ///< the tester's own
  std::string challenged_token;    ///< of the test being repeated; empty if it is gone
};

/// Why it does not answer the challenge in its plan; empty if it does. `known` is the tester's
/// record for that challenge's id.
[[nodiscard]] std::vector<std::string> challenge_faults(const Answering& answer,
                                                        const std::optional<ChallengeRecord>& known,
                                                        std::int64_t now_ns);

/// The id of the challenge in a result's plan; nothing if there is none.
[[nodiscard]] std::optional<std::string> answered_challenge(const judge::RunResult& result);

/// {"id", "test", "case", "seed", "seed_use", "differs": [text], "metric", "unit", "before", "now",
/// "difference" (ratio), "overlap"}: the case's headline in both results, the settings, programs
/// and keys that differ, and whether the confidence intervals overlap (null: one is unknown). Ends
/// before "metric" if the results have no headline in common.
[[nodiscard]] Json compare_answer(const Challenge& challenge, const judge::RunResult& before,
                                  const judge::RunResult& now);

/// "p_whole 101.2 samples/s, 100.9 before (+0.3 %)"; for people.
[[nodiscard]] std::string comparison_text(const Json& comparison);

}  // namespace assay::tester
