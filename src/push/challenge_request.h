#pragma once

#include <chrono>
#include <string>

#include "core/challenge.h"
#include "push/tester_client.h"

namespace assay::push {

/// Asks the tester for a challenge about a test. With an empty `case_name` the tester chooses.
/// Throws Error as push_run does.
[[nodiscard]] Challenge request_challenge(const Tester& tester, const std::string& test,
                                          const std::string& case_name, std::chrono::seconds valid);

/// A challenge as handed over: its JSON, the path of a file with it, or its address at the tester
/// ("https://host:port/api/v1/challenges/ID"; `tester` supplies token and certificate, and its
/// token is requested only in this case). Throws Error of kind usage or config for anything else.
struct ChallengeSource {
  std::string text;
  std::string token_file;
  std::string ca_file;
};
[[nodiscard]] Challenge read_challenge(const ChallengeSource& source);

}  // namespace assay::push
