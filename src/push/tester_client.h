#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/json.h"

namespace assay::push {

/// A tester (`assay serve`) and its access token.
struct Tester {
  std::string url;                ///< "https://host:port"
  std::string token;              ///< from `assay serve token add`; never in an Error or a file
  std::filesystem::path ca_file;  ///< trusted certificate; empty: the system's
};

struct PushOptions {
  std::string name;           ///< for people, in the tester's list; may be empty
  Json ais = Json::object();  ///< ais-bench's Mode, Model, Divsion, Scenario, test_object_type
  std::optional<std::string> test_id;  ///< from reserve_test(); nothing: creates one
  /// Reports evidence bytes that the tester has, and their total; in the calling thread.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  std::stop_token stop;  ///< ends the push within seconds with an Error; it can be resumed
};

struct PushOutcome {
  std::string test_id;
  bool accepted = false;  ///< the tester computed the claimed result
  Json answer;            ///< to /finish: "status", then "verdict" and "metrics", or "reasons"
  std::string page_url;
};

/// ASSAY_TESTER_TOKEN, or the first line of `token_file` if not empty, which only its owner may be
/// able to read. Throws Error of kind environment that says how to get one.
[[nodiscard]] std::string find_token(const std::filesystem::path& token_file);

/// Requests a test id ("20261115-ab3dE9") from the tester before there is a run.
[[nodiscard]] std::string reserve_test(const Tester& tester, const PushOptions& options);

/// Checks, before there is a run, whether the tester will accept one for this test. Throws Error as
/// push_run does if this token does not know the test, or the test already has a run.
void check_test(const Tester& tester, const std::string& test_id);

/// Sends the evidence of an ended run, with its result.json as the claim, and waits for the
/// tester's judgement. An interrupted push is resumed by calling it again; its state is in
/// `run`/push.json. Throws Error of kind launch if the tester cannot be reached, environment if it
/// denies access or has no room, config or usage if `run` cannot be sent.
[[nodiscard]] PushOutcome push_run(const std::filesystem::path& run, const Tester& tester,
                                   const PushOptions& options);

}  // namespace assay::push
