#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tester/evidence_state.h"

namespace assay::tester {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using judge::Soundness;

judge::RunResult result_of(Soundness seal, Soundness integrity) {
  judge::RunResult result;
  result.seal = {seal, fmt::format("the seal is {}", to_text(seal)), "ed25519:AA", "SHA256:xy", ""};
  judge::RoundResult round;
  round.round = 1;
  round.evidence.integrity = {integrity, fmt::format("it is {}", to_text(integrity))};
  judge::CaseResult one;
  one.name = "quick";
  one.rounds.push_back(round);
  result.cases.push_back(one);
  return result;
}

TEST(IntegrityFaults, AreAFlawedSealAndFlawedRounds) {
  EXPECT_THAT(integrity_faults(result_of(Soundness::ok, Soundness::ok)), IsEmpty());
  EXPECT_THAT(integrity_faults(result_of(Soundness::flawed, Soundness::ok)),
              ElementsAre("the seal is flawed"));
  EXPECT_THAT(integrity_faults(result_of(Soundness::ok, Soundness::flawed)),
              ElementsAre("quick, round 1: it is flawed"));
}

TEST(IntegrityFaults, AreFindingsThatNoRuleAskedFor) {
  judge::RunResult result = result_of(Soundness::ok, Soundness::unknown);
  result.findings.resize(2);
  result.findings[0].severity = judge::Severity::invalid;
  result.findings[0].aspect = judge::Aspect::integrity;
  result.findings[0].reason = "a log was changed";
  result.findings[1].severity = judge::Severity::incomplete;
  result.findings[1].aspect = judge::Aspect::completeness;
  result.findings[1].reason = "no system.json";
  EXPECT_THAT(integrity_faults(result), ElementsAre("a log was changed"));
}

TEST(IntegrityFaults, AreNotThatNothingWasSealed) {
  EXPECT_THAT(integrity_faults(result_of(Soundness::unknown, Soundness::unknown)), IsEmpty());
  EXPECT_THAT(integrity_faults(judge::RunResult{}), IsEmpty());
}

TEST(EvidenceSummary, NamesTheSignerWhoIsKnown) {
  const auto lab = [](const std::string& key) {
    return key == "ed25519:AA" ? std::string("lab") : std::string();
  };
  EXPECT_EQ(evidence_summary(result_of(Soundness::ok, Soundness::ok), lab)["seal"]["signer"],
            "lab");
  EXPECT_EQ(evidence_summary(result_of(Soundness::ok, Soundness::ok), lab)["seal"]["trusted"],
            true);
  const auto nobody = [](const std::string&) { return std::string(); };
  const Json summary = evidence_summary(result_of(Soundness::ok, Soundness::ok), nobody);
  EXPECT_FALSE(summary["seal"].contains("signer"));
  EXPECT_EQ(summary["seal"]["fingerprint"], "SHA256:xy");
  EXPECT_EQ(summary["seal"]["trusted"], false);
  EXPECT_EQ(summary["rounds"][0]["integrity"]["state"], "ok");
}

}  // namespace
}  // namespace assay::tester
