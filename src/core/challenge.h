#pragma once

#include <cstdint>
#include <string>

namespace assay {

inline constexpr std::int64_t kMaxChallengeSeed = 999'999'999;  ///< every workload takes it

/// A tester's request to measure a case again with a seed that nobody could know before
/// (docs/tester.md). The same in the tester's database, in the file that is handed over, and in the
/// plan of the run that answers it.
struct Challenge {
  std::string id;            ///< 32 hex digits; the tester knows all that it issued
  std::string test;          ///< "20261115-ab3dE9": what is measured again
  std::string suite;         ///< its name, for people
  std::string suite_sha256;  ///< of the suite's file
  std::string case_name;
  std::int64_t seed = 0;
  std::string issued;   ///< ISO, UTC, by the tester's clock
  std::string expires;  ///< the answer must have come by then

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
