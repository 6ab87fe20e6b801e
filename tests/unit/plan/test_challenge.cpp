#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

const std::string kChallenged =
    "cases:\n"
    "  - {name: mine, command: [t.py, '{config}'], config: {seed: 1, lr: 2}}\n"
    "  - {name: other, command: [t.py]}\n";

Challenge challenge(const std::string& case_name = "mine") {
  return {"00112233445566778899aabbccddeeff",
          "20261115-ab3dE9",
          "s",
          testing::suite(kChallenged).sha256,
          case_name,
          4711,
          "2026-11-15T10:00:00Z",
          "2026-11-16T10:00:00Z"};
}

Plan answer(const Challenge& to, std::vector<std::string> only = {},
            std::vector<std::string> set = {}) {
  PlanOptions options;
  options.challenge = to;
  options.only = std::move(only);
  options.overrides = std::move(set);
  return make_plan(testing::suite(kChallenged), testing::small_catalog(), options);
}

TEST(Challenges, AnAnswerRunsTheCaseAloneWithTheSeed) {
  const Plan p = answer(challenge(), {}, {"cases.mine.config.seed=5"});
  ASSERT_EQ(p.cases.size(), 1U);
  EXPECT_EQ(p.cases[0].name, "mine");
  EXPECT_EQ(p.cases[0].config.at("seed"), 4711);
  EXPECT_EQ(p.challenge, challenge());
}

TEST(Challenges, SurviveThePlanFile) {
  const Plan back = plan_from_json(to_json(answer(challenge())), "plan.json");
  EXPECT_EQ(back.challenge, challenge());
  Json broken = to_json(back);
  broken["challenge"].erase("seed");
  EXPECT_THAT(error_of([&] { return plan_from_json(broken, "plan.json"); }),
              HasSubstr("plan.json: challenge: 'seed' is missing"));
}

TEST(Challenges, AnotherSuiteIsRefused) {
  Challenge other = challenge();
  other.suite_sha256 = std::string(64, '0');
  EXPECT_THAT(error_of([&] { return answer(other); }),
              HasSubstr("--challenge: the suite 's' is not the one that was measured then"));
}

TEST(Challenges, ACaseThatTheSuiteLacksOrThatTakesNoSeedIsRefused) {
  EXPECT_THAT(error_of([] { return answer(challenge("none")); }),
              HasSubstr("--challenge: the suite has no case 'none'"));
  EXPECT_THAT(error_of([] { return answer(challenge("other")); }),
              HasSubstr("config.seed has no way to the command of the case 'other'"));
}

TEST(Challenges, OnlyAnotherCaseIsAContradiction) {
  EXPECT_EQ(answer(challenge(), {"m*"}).cases.size(), 1U);
  EXPECT_THAT(error_of([] { return answer(challenge(), {"other"}); }),
              HasSubstr("--only names another"));
}

TEST(Challenges, ASeedThatNoWorkloadTakesIsRefused) {
  Challenge wild = challenge();
  wild.seed = -1;
  EXPECT_THAT(error_of([&] { return answer(wild); }), HasSubstr("not a valid seed: -1"));
}

}  // namespace
}  // namespace assay::plan
