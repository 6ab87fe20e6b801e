#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sha256.h"
#include "judge/case_identity.h"
#include "judge/expectations.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Json kSystem = {
    {"nodes", {{{"node", 0}, {"cpu", {{"model", "AMD EPYC"}, {"cores", 2}, {"threads", 4}}}}}}};

std::string baseline_text(const std::string& hardware, const std::string& unit = "samples/s",
                          const std::string& model = "m") {
  return "assay_baseline: 1\ncases:\n  - case: probe\n    hardware: " + hardware +
         "\n    nodes: 1\n    procs: 1\n    work: {model: " + model +
         "}\n    rounds: 5\n    runs: [a, b]\n    metrics:\n      p_whole: {unit: " + unit +
         ", better: higher, median: 100, low: 95, high: 105, judged: true}\n"
         "      e2e_time: {unit: s, better: lower, median: 2, low: 1, high: 3}\n";
}

class Expected : public ::testing::Test {
 protected:
  void hold_against(const std::string& text) {
    plan_.baseline = plan::PlanBaseline{"b.yaml", sha256(text), text};
  }
  // The facts of a case whose rounds have this p_whole, and an e2e_time of 20 s.
  Facts facts(double p_whole) const {
    plan::CasePlan one;
    one.name = "probe";
    one.model = "m";
    CaseResult result;
    const auto add = [&](const MetricInfo& info, double median) {
      Summary summary;
      summary.info = info;
      summary.median = median;
      result.summary.push_back(summary);
    };
    add({"p_whole", "samples/s", Better::higher, ""}, p_whole);
    add({"e2e_time", "s", Better::lower, ""}, 20);
    Facts out;
    const Expectations expectations(plan_);
    if (const auto expected = expectations.of(one, kSystem)) state_expected(*expected, result, out);
    return out;
  }
  std::string unknown(double p_whole = 100) const {
    const Facts all = facts(p_whole);
    const auto found = all.find("baseline_unknown");
    return found == all.end() || found->second.value == 0 ? "" : found->second.detail;
  }

  plan::Plan plan_;
};

TEST_F(Expected, WithoutABaselineNothingIsStated) {
  EXPECT_TRUE(facts(100).empty());
}

TEST_F(Expected, AMetricWithinItsRangeIsFine) {
  hold_against(baseline_text("AMD EPYC, 2 cores, 4 threads"));
  const Facts all = facts(95);
  EXPECT_EQ(all.at("baseline_unknown").value, 0);
  EXPECT_EQ(all.at("baseline_worse").value, 0);
  EXPECT_EQ(all.at("baseline_better").value, 0);
}

TEST_F(Expected, OneBelowItsRangeIsStatedWithNumbers) {
  hold_against(baseline_text("AMD EPYC, 2 cores, 4 threads"));
  const Fact worse = facts(85).at("baseline_worse");
  EXPECT_NEAR(worse.value, 0.1, 1e-12);
  EXPECT_EQ(worse.detail,
            "p_whole is 85 samples/s, -15.0 % from the median; expected are 95 to 105 (median 100 "
            "of 5 rounds in 2 runs)");
  const Fact better = facts(115).at("baseline_better");
  EXPECT_NEAR(better.value, 0.1, 1e-12);
  EXPECT_EQ(facts(115).at("baseline_worse").value, 0);
}

TEST_F(Expected, WhatTheBaselineDoesNotKnowIsNeverFine) {
  hold_against(baseline_text("Xeon, 1 core"));
  EXPECT_THAT(unknown(),
              AllOf(HasSubstr("no entry for this hardware, AMD EPYC, 2 cores, 4 threads"),
                    HasSubstr("Xeon, 1 core")));
  EXPECT_FALSE(facts(1).contains("baseline_worse"));
  hold_against(baseline_text("AMD EPYC, 2 cores, 4 threads", "tokens/s"));
  EXPECT_THAT(unknown(), HasSubstr("p_whole is in samples/s here, and in tokens/s there"));
  hold_against(baseline_text("AMD EPYC, 2 cores, 4 threads", "samples/s", "other"));
  EXPECT_THAT(unknown(), HasSubstr("other work: model is other and m"));
  std::string text = baseline_text("AMD EPYC, 2 cores, 4 threads");
  text.replace(text.find("probe"), 5, "other");
  hold_against(text);
  EXPECT_THAT(unknown(), HasSubstr("no entry for the case"));
  hold_against("nonsense");
  EXPECT_THAT(unknown(), HasSubstr("not a baseline"));
  plan_.baseline->text += " ";
  EXPECT_THAT(unknown(), HasSubstr("does not fit its hash"));
}

TEST_F(Expected, TheDefaultRulesMakeFindingsOfIt) {
  hold_against(baseline_text("AMD EPYC, 2 cores, 4 threads"));
  plan::CasePlan one = case_plan(1, 1, 1);
  one.name = "probe";
  one.model = "m";
  catalog::Rule kept = rule("baseline-kept", "baseline_worse", std::nullopt, 0);
  kept.scope = catalog::RuleScope::whole_case;
  kept.reason = "too slow: {detail}";
  one.rules = {kept};
  RoundResult round;
  round.round = 1;
  round.status = RoundStatus::completed;
  round.validity = Validity::valid;
  round.metrics = {{{"p_whole", "samples/s", Better::higher, ""}, 50, Origin::measured, ""}};
  const Expectations expectations(plan_);
  const CaseResult slow = summarize_case(one, {round}, "", expectations.of(one, kSystem));
  ASSERT_EQ(slow.findings.size(), 1U);
  EXPECT_THAT(slow.findings[0].reason, HasSubstr("too slow: p_whole is 50 samples/s"));
  round.status = RoundStatus::failed;
  EXPECT_TRUE(summarize_case(one, {round}, "", expectations.of(one, kSystem)).findings.empty());
}

TEST(HardwareKind, IsTheSameForMachinesOfOneSort) {
  const auto node = [](int number, const char* host, int gpus) {
    Json out{{"node", number},
             {"host", host},
             {"cpu", {{"model", "AMD EPYC"}, {"sockets", 2}, {"cores", 64}, {"threads", 128}}},
             {"memory", {{"total_bytes", 1000 + number}}},
             {"accelerators", {{{"vendor", "aspeed"}, {"device_id", "0x2000"}}}}};
    for (int i = 0; i < gpus; ++i) out["devices"].push_back({{"name", "NVIDIA H200"}});
    return out;
  };
  const std::string one = "2 × AMD EPYC, 64 cores, 128 threads";
  EXPECT_EQ(hardware_kind({{"nodes", Json::array({node(0, "a", 0)})}}, 1), one);
  EXPECT_EQ(hardware_kind({{"nodes", Json::array({node(0, "b", 1)})}}, 1), one + ", NVIDIA H200");
  const Json two{{"nodes", {node(0, "a", 8), node(1, "b", 8)}}};
  EXPECT_EQ(hardware_kind(two, 2), "2 × (" + one + ", 8 × NVIDIA H200)");
  EXPECT_EQ(hardware_kind(two, 1), one + ", 8 × NVIDIA H200");
  const Json mixed{{"nodes", {node(0, "a", 8), node(1, "b", 4)}}};
  EXPECT_EQ(hardware_kind(mixed, 2),
            "(" + one + ", 4 × NVIDIA H200), (" + one + ", 8 × NVIDIA H200)");
  EXPECT_EQ(hardware_kind(two, 3), "");
  EXPECT_EQ(hardware_kind(Json::object(), 1), "");
  EXPECT_EQ(hardware_kind({{"nodes", {{{"node", 0}, {"host", "a"}}}}}, 1), "");
  EXPECT_EQ(hardware_kind(Json("text"), 1), "");
}

TEST(CaseIdentity, IsTheNameWithoutTheNumberOfRounds) {
  CaseResult result;
  result.model = "m";
  result.framework = "f";
  result.hardware = "cpu";
  result.procs = 2;
  result.name = "m:f:cpu:1:2:5";
  EXPECT_EQ(case_identity(result), "m:f:cpu:1:2");
  result.name = "m:f:cpu:1:2:x";
  EXPECT_EQ(case_identity(result), result.name);
  result.name = "mine";
  EXPECT_EQ(case_identity(result), "mine");
}

}  // namespace
}  // namespace assay::judge
