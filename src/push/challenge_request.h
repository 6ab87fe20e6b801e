#pragma once

#include <chrono>
#include <string>

#include "core/challenge.h"
#include "push/tester_client.h"

namespace assay::push {

/// Has the tester issue a challenge about a test. An empty `case_name`: the tester chooses. Throws
/// Error as push_run does.
[[nodiscard]] Challenge request_challenge(const Tester& tester, const std::string& test,
                                          const std::string& case_name, std::chrono::seconds valid);

/// A challenge as it is handed over: its JSON, or the path of a file that holds it, or its address
/// at the tester ("https://host:port/api/v1/challenges/ID", for which `tester` has token and
/// certificate, and whose token is asked for only then). Throws Error of kind usage or config for
/// what is none.
struct ChallengeSource {
  std::string text;
  std::string token_file;
  std::string ca_file;
};
[[nodiscard]] Challenge read_challenge(const ChallengeSource& source);

}  // namespace assay::push
