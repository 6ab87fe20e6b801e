#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/json.h"

namespace assay::push {

/// A tester (`assay serve`) and the token for it.
struct Tester {
  std::string url;                ///< "https://host:port"
  std::string token;              ///< of `assay serve token add`; never in an Error or a file
  std::filesystem::path ca_file;  ///< certificate to trust; empty: the system's
};

struct PushOptions {
  std::string name;           ///< for people, in the tester's list; may be empty
  Json ais = Json::object();  ///< ais-bench's Mode, Model, Divsion, Scenario, test_object_type
  std::optional<std::string> test_id;  ///< of reserve_test(); nothing: one is made
  /// Bytes of evidence that the tester has, of all; in the calling thread.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  std::stop_token stop;  ///< ends the push within seconds, with an Error; it can be resumed
};

struct PushOutcome {
  std::string test_id;
  bool accepted = false;  ///< the tester computed what the run claims
  Json answer;            ///< of /finish: "status", then "verdict" and "metrics", or "reasons"
  std::string page_url;
};

/// ASSAY_TESTER_TOKEN, or the first line of `token_file` when it is not empty, which only its
/// owner may read. Throws Error of kind environment that says how to get one.
[[nodiscard]] std::string find_token(const std::filesystem::path& token_file);

/// Asks the tester for a test id ("20261115-ab3dE9") before there is a run.
[[nodiscard]] std::string reserve_test(const Tester& tester, const PushOptions& options);

/// Whether the tester will take a run for this test, asked before there is one. Throws Error as
/// push_run does when it is not known to this token, or has a run already.
void check_test(const Tester& tester, const std::string& test_id);

/// Sends the evidence of a run that has ended, and its result.json as the claim, and waits for the
/// tester's judgement. A push that was interrupted continues where it was when it is called again;
/// its state is in `run`/push.json. Throws Error of kind launch when the tester cannot be
/// reached, environment when it does not let us in or has no room, config or usage when `run`
/// cannot be sent.
[[nodiscard]] PushOutcome push_run(const std::filesystem::path& run, const Tester& tester,
                                   const PushOptions& options);

}  // namespace assay::push
