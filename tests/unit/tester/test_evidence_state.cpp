#include <gmock/gmock.h>

#include "tester/evidence_state.h"

namespace assay::tester {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json state(const char* word) {
  return {{"state", word}, {"text", std::string("it is ") + word}};
}

Json result_of(const char* seal, const char* integrity) {
  return {{"findings", Json::array()},
          {"seal",
           {{"state", seal},
            {"text", "the seal is " + std::string(seal)},
            {"public_key", "ed25519:AA"},
            {"fingerprint", "SHA256:xy"}}},
          {"cases",
           {{{"name", "quick"},
             {"rounds",
              {{{"round", 1},
                {"evidence",
                 {{"completeness", state("ok")},
                  {"integrity", state(integrity)},
                  {"plausibility", state("ok")}}}}}}}}}};
}

TEST(IntegrityFaults, AreAFlawedSealAndFlawedRounds) {
  EXPECT_THAT(integrity_faults(result_of("ok", "ok")), IsEmpty());
  EXPECT_THAT(integrity_faults(result_of("flawed", "ok")), ElementsAre("the seal is flawed"));
  EXPECT_THAT(integrity_faults(result_of("ok", "flawed")),
              ElementsAre("quick, round 1: it is flawed"));
}

TEST(IntegrityFaults, AreFindingsThatNoRuleAskedFor) {
  Json result = result_of("ok", "unknown");
  result["findings"] = {
      {{"aspect", "integrity"}, {"severity", "invalid"}, {"reason", "a log was changed"}},
      {{"aspect", "completeness"}, {"severity", "incomplete"}, {"reason", "no system.json"}}};
  EXPECT_THAT(integrity_faults(result), ElementsAre("a log was changed"));
}

TEST(IntegrityFaults, AreNotThatNothingWasSealed) {
  EXPECT_THAT(integrity_faults(result_of("unknown", "unknown")), IsEmpty());
  EXPECT_THAT(integrity_faults(Json::object()), IsEmpty());
}

TEST(EvidenceSummary, NamesTheSignerWhoIsKnown) {
  const auto lab = [](const std::string& key) {
    return key == "ed25519:AA" ? std::string("lab") : std::string();
  };
  EXPECT_EQ(evidence_summary(result_of("ok", "ok"), lab)["seal"]["signer"], "lab");
  EXPECT_EQ(evidence_summary(result_of("ok", "ok"), lab)["seal"]["trusted"], true);
  const auto nobody = [](const std::string&) { return std::string(); };
  const Json summary = evidence_summary(result_of("ok", "ok"), nobody);
  EXPECT_FALSE(summary["seal"].contains("signer"));
  EXPECT_EQ(summary["seal"]["fingerprint"], "SHA256:xy");
  EXPECT_EQ(summary["seal"]["trusted"], false);
  EXPECT_EQ(summary["rounds"][0]["integrity"]["state"], "ok");
}

}  // namespace
}  // namespace assay::tester
