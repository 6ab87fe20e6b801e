#pragma once

#include <cstdint>
#include <string>

namespace assay {

inline constexpr std::int64_t kMaxChallengeSeed = 999'999'999;  ///< accepted by every workload

/// A tester's request to measure a case again with a seed that nobody could know in advance
/// (docs/tester.md). The tester's database, the file that is handed over and the plan of the run
/// that answers it all hold the same fields.
struct Challenge {
  std::string id;            ///< 32 hex digits; the tester knows every id it issued
  std::string test;          ///< "20261115-ab3dE9": the test to measure again
  std::string suite;         ///< its name, for people
  std::string suite_sha256;  ///< of the suite file
  std::string case_name;
  std::int64_t seed = 0;
  std::string issued;   ///< ISO, UTC, by the tester's clock
  std::string expires;  ///< deadline for the answer

  bool operator==(const Challenge&) const = default;

  static void fields(auto& self, auto&& field) {
    field("id", self.id);
    field("test", self.test);
    field("suite", self.suite);
    field("suite_sha256", self.suite_sha256);
    field("case", self.case_name);
    field("seed", self.seed);
    field("issued", self.issued);
    field("expires", self.expires);
  }
};

}  // namespace assay
