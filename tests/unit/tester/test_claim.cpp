#include <limits>

#include <gtest/gtest.h>

#include "core/sha256.h"
#include "error_of.h"
#include "tester/claim.h"

namespace assay::tester {
namespace {

Json result_with(double value) {
  const Json metric = {{"value", value}, {"unit", "samples/s"}, {"better", "higher"}};
  return {{"run_id", "run1"},
          {"suite", "quick"},
          {"validity", "VALID"},
          {"provenance", {{"assay_version", "0.1.0"}}},
          {"cases",
           {{{"name", "fit"},
             {"validity", "VALID"},
             {"summary", {{"p_whole", {{"median", value}, {"n", 1}}}}},
             {"rounds",
              {{{"round", 1},
                {"status", "completed"},
                {"validity", "VALID"},
                {"metrics", {{"p_whole", metric}}}}}}}}}};
}

Json claim_with(double value) {
  return claim_of(result_with(value).dump(), "result.json");
}

std::vector<std::string> found(const Json& claim, const Json& recomputed) {
  std::vector<std::string> out;
  for (const Difference& one : differences(claim, recomputed))
    out.push_back(one.where + "|" + one.metric + "|" + one.claimed.dump() + "|" +
                  one.recomputed.dump());
  return out;
}

using Found = std::vector<std::string>;

TEST(Claim, HoldsEveryVerdictStatusAndMetric) {
  const std::string text = result_with(12.5).dump();
  const Json expected = {{"run_id", "run1"},
                         {"suite", "quick"},
                         {"verdict", "VALID"},
                         {"assay", "0.1.0"},
                         {"result_sha256", sha256(text)},
                         {"cases",
                          {{{"case", "fit"},
                            {"verdict", "VALID"},
                            {"summary", {{"p_whole", 12.5}}},
                            {"rounds",
                             {{{"round", 1},
                               {"status", "completed"},
                               {"verdict", "VALID"},
                               {"metrics", {{"p_whole", 12.5}}}}}}}}}};
  EXPECT_EQ(claim_of(text, "result.json"), expected);
}

TEST(Claim, OfWhatIsNoResultIsAnError) {
  EXPECT_NE(testing::error_of([] { return claim_of("{}", "r.json"); }).find("not the result"),
            std::string::npos);
  EXPECT_NE(testing::error_of([] { return claim_of("{", "r.json"); }).find("r.json"),
            std::string::npos);
}

TEST(Comparison, FindsNothingInTheSame) {
  EXPECT_EQ(found(claim_with(12.5), claim_with(12.5)), Found{});
}

TEST(Comparison, AllowsForTheLastBitsOnly) {
  EXPECT_EQ(found(claim_with(1000.0), claim_with(1000.0 * (1 + 5e-10))), Found{});
  EXPECT_EQ(found(claim_with(1000.0), claim_with(1000.0 * (1 + 2e-9))).size(), 2U);
  EXPECT_EQ(found(claim_with(0.0), claim_with(1e-300)).size(), 2U);
}

TEST(Comparison, NamesCaseMetricAndBothValues) {
  EXPECT_EQ(found(claim_with(13.0), claim_with(12.5)),
            (Found{"fit|p_whole|13.0|12.5", "fit, round 1|p_whole|13.0|12.5"}));
}

TEST(Comparison, FindsVerdictsAndStatuses) {
  Json claim = claim_with(1);
  claim["verdict"] = "INVALID";
  claim["cases"][0]["verdict"] = "INVALID";
  claim["cases"][0]["rounds"][0]["status"] = "failed";
  claim["cases"][0]["rounds"][0]["verdict"] = nullptr;
  EXPECT_EQ(found(claim, claim_with(1)),
            (Found{"|verdict|\"INVALID\"|\"VALID\"", "fit|verdict|\"INVALID\"|\"VALID\"",
                   "fit, round 1|status|\"failed\"|\"completed\"",
                   "fit, round 1|verdict|null|\"VALID\""}));
}

TEST(Comparison, FindsMetricsThatTheEvidenceDoesNotGive) {
  Json claim = claim_with(1);
  claim["cases"][0]["summary"]["mfu"] = 0.5;
  EXPECT_EQ(found(claim, claim_with(1)), (Found{"fit|mfu|0.5|null"}));
}

TEST(Comparison, LetsTheTesterKnowMore) {
  Json recomputed = claim_with(1);
  recomputed["cases"][0]["summary"]["mfu"] = 0.5;
  EXPECT_EQ(found(claim_with(1), recomputed), Found{});
}

TEST(Comparison, FindsCasesAndRoundsThatAreLeftOutOrMadeUp) {
  Json claim = claim_with(1);
  claim["cases"][0]["rounds"] = Json::array();
  EXPECT_EQ(found(claim, claim_with(1)), (Found{"fit|round|null|1"}));
  claim["cases"] = Json::array();
  EXPECT_EQ(found(claim, claim_with(1)), (Found{"|case|null|\"fit\""}));
  Json more = claim_with(1);
  more["cases"].push_back(more["cases"][0]);
  more["cases"][1]["case"] = "other";
  EXPECT_EQ(found(more, claim_with(1)), (Found{"|case|\"other\"|null"}));
  more["cases"][1]["case"] = "fit";
  EXPECT_EQ(found(more, claim_with(1)), (Found{"|case|\"fit\"|null"}));
}

TEST(Comparison, OfAClaimOfAnyShapeEndsWithDifferences) {
  for (const Json& claim :
       {Json(nullptr), Json(3), Json::array({1, 2}), Json{{"verdict", {1}}, {"cases", "x"}},
        Json{{"verdict", "VALID"}, {"cases", {{{"case", {{"a", 1}}}}, 7, nullptr}}},
        Json{{"verdict", "VALID"},
             {"cases", {{{"case", "fit"}, {"summary", 1}, {"rounds", {{{"round", "1"}}}}}}}}})
    EXPECT_FALSE(differences(claim, claim_with(1)).empty()) << claim;
}

TEST(Comparison, IsBounded) {
  Json claim = claim_with(1);
  for (int i = 0; i < 1000; ++i)
    claim["cases"][0]["summary"]["made_up_" + std::to_string(i)] = std::string(5000, 'x');
  const std::vector<Difference> all = differences(claim, claim_with(1));
  EXPECT_EQ(all.size(), 200U);
  EXPECT_LT(to_json(all.front()).dump().size(), 1000U);
}

}  // namespace
}  // namespace assay::tester
