#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// A training as assay-train logs it: `ranks` ranks of `steps` steps of `batch` samples each.
struct Training {
  int ranks = 2;
  int steps = 30;
  double batch = 32;
  Json config = {{"batch_size", 32}, {"accumulation", 1}, {"epochs", 3.0}};
  std::optional<double> train_samples = 640;  // ten steps an epoch
  plan::ConfigUse use = plan::ConfigUse::applied;
};

Fact counted(const Training& how, const std::function<void(RoundEvidence&)>& change = {}) {
  std::vector<RankEvidence> ranks;
  for (int rank = 0; rank < how.ranks; ++rank) {
    ranks.push_back(constant_rank(rank, {.steps = how.steps, .samples = how.batch}));
    if (how.train_samples)
      ranks.back().log.finished_values.emplace_back("train_samples", *how.train_samples);
  }
  RoundEvidence evidence = round_of(std::move(ranks));
  if (change) change(evidence);
  plan::CasePlan plan = case_plan(1, how.ranks, 1);
  plan.config = how.config;
  plan.config_use = how.use;
  Facts facts;
  (void)judge_round(plan, evidence, &facts);
  const auto found = facts.find("samples_impossible");
  return found == facts.end() ? Fact{-1, "not known"} : found->second;
}

TEST(SampleCounts, OfAnHonestTrainingFit) {
  EXPECT_EQ(counted({}).value, 0);
}

TEST(SampleCounts, ATrainingThatWentOnFromACheckpointHasFewer) {
  EXPECT_EQ(counted({.steps = 7}).value, 0);
}

TEST(SampleCounts, ALastShortBatchHasFewer) {
  EXPECT_EQ(counted({},
                    [](RoundEvidence& evidence) {
                      for (RankEvidence& rank : evidence.ranks) rank.log.samples.sum -= 5;
                    })
                .value,
            0);
}

TEST(SampleCounts, HalfAnEpochMayEndWithAWholeStep) {
  Training how;
  how.config["epochs"] = 0.25;  // 2.5 steps: three are taken
  how.steps = 3;
  EXPECT_EQ(counted(how).value, 0);
}

TEST(SampleCounts, PaddingOfTheRanksSharesFits) {
  // 630 samples on two ranks of 32: the set of ten whole steps has ten that were padded.
  Training how;
  how.config["train_size"] = 630;
  EXPECT_EQ(counted(how).value, 0);
}

TEST(SampleCounts, AStepOfMoreThanAnEpochIsWhatAccumulationCanAskFor) {
  Training how;
  how.config["accumulation"] = 40;  // a step has 2560 samples, an epoch 640
  how.batch = 32 * 40;
  how.steps = 3;
  EXPECT_EQ(counted(how).value, 0);
}

TEST(SampleCounts, MoreThanTheStepsHaveIsNamedWithItsRank) {
  const Fact found =
      counted({}, [](RoundEvidence& evidence) { evidence.ranks[1].log.samples.sum += 67; });
  EXPECT_EQ(found.value, 67);
  EXPECT_EQ(found.detail,
            "30 steps of 32 samples in rank 1: 1,027 are counted, and there can be 960 at most");
}

TEST(SampleCounts, MoreThanTheEpochsHaveIsNamed) {
  Training how;
  how.steps = 60;  // six epochs where three were asked for
  const Fact found = counted(how);
  EXPECT_EQ(found.value, 3840 - 3 * 640 - 64);
  EXPECT_THAT(found.detail, HasSubstr("3 epochs of 640 samples: 3,840 are counted"));
}

TEST(SampleCounts, AnInflatedSetIsNamed) {
  Training how;
  how.config["train_size"] = 640;
  how.train_samples = 1e12;
  EXPECT_THAT(counted(how).detail, HasSubstr("train_samples of a set of train_size"));
}

TEST(SampleCounts, RanksMustAgreeAboutTheSet) {
  const Fact found = counted({}, [](RoundEvidence& evidence) {
    evidence.ranks[1].log.finished_values = {{"train_samples", 6400}};
  });
  EXPECT_THAT(found.detail, HasSubstr("which rank 1 does not report as the others do"));
}

TEST(SampleCounts, ACommandOfTheUsersIsHeldToItsOwnReportAlone) {
  Training how;
  how.use = plan::ConfigUse::offered;  // it may train with any batch
  how.batch = 99;
  EXPECT_EQ(counted(how).value, 0);
  const auto report_epochs = [](RoundEvidence& evidence) {
    for (RankEvidence& rank : evidence.ranks) rank.log.finished_values.emplace_back("epochs", 2);
  };
  EXPECT_EQ(counted(how, report_epochs).value, 2 * 30 * 99 - 2 * 640 - 2 * 99);
  how.train_samples = 2970;
  EXPECT_EQ(counted(how, report_epochs).value, 0);
}

TEST(SampleCounts, ATrainingThatBeganAgainIsNotHeldToItsEpochs) {
  Training how;
  how.steps = 60;
  EXPECT_EQ(counted(how, [](RoundEvidence& evidence) { evidence.ranks[0].log.restarts = 1; }).value,
            0);
}

TEST(SampleCounts, NumbersThatAreNoneAreNotAskedAbout) {
  Training how;
  how.config = {{"batch_size", "auto"}, {"epochs", 0}, {"train_size", 0}};
  how.train_samples = -5;
  EXPECT_EQ(counted(how).detail, "not known");
}

}  // namespace
}  // namespace assay::judge
