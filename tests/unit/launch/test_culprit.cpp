#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/culprit.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Eight ranks that have been silent for about a minute, asleep at the same place.
std::vector<LivingRank> gang() {
  std::vector<LivingRank> out(8);
  for (int i = 0; i < 8; ++i) {
    agent::RankLiveness& rank = out[static_cast<std::size_t>(i)].rank;
    rank.rank = i;
    rank.idle_s = rank.event_idle_s = 60 + 0.01 * i;
    rank.state = "S";
    rank.waits_in = "futex_wait_queue";
    rank.cpu = 0.001;
  }
  return out;
}

std::vector<int> told(const std::vector<LivingRank>& ranks) {
  std::vector<int> out;
  for (const LivingRank& one : tell_culprits(ranks).ranks) out.push_back(one.rank.rank);
  return out;
}

void let_all_step(std::vector<LivingRank>& ranks, std::uint64_t steps, bool in_step) {
  for (LivingRank& one : ranks) {
    one.rank.events = 2 * steps + 1;
    one.rank.steps = steps;
    one.rank.in_step = in_step;
  }
}

TEST(Culprit, IsNobodyWhereAllAreAlike) {
  EXPECT_THAT(told(gang()), IsEmpty());
}

TEST(Culprit, IsTheOnlyRank) {
  std::vector<LivingRank> one(1);
  EXPECT_THAT(told(one), ElementsAre(0));
  EXPECT_THAT(told({}), IsEmpty());
}

TEST(Culprit, IsTheStoppedProcessWhateverItsSteps) {
  auto ranks = gang();
  let_all_step(ranks, 20, false);
  ranks[2].rank.steps = 19;
  ranks[5].rank.state = "T";
  EXPECT_THAT(told(ranks), ElementsAre(5));
}

TEST(Culprit, IsTheRankThatIsAStepBehind) {
  auto ranks = gang();
  let_all_step(ranks, 20, false);
  ranks[3].rank.steps = 19;
  EXPECT_THAT(told(ranks), ElementsAre(3));
  EXPECT_EQ(tell_culprits(ranks).why, "the others are further on");
}

// The others wait inside of their step for the one that has not begun it.
TEST(Culprit, IsTheRankOutsideOfTheStepThatTheOthersAreIn) {
  auto ranks = gang();
  let_all_step(ranks, 20, true);
  ranks[6].rank.in_step = false;
  EXPECT_THAT(told(ranks), ElementsAre(6));
}

TEST(Culprit, IsNotARankThatDoesNotSpeakPerfLog) {
  auto ranks = gang();
  let_all_step(ranks, 20, false);
  for (std::size_t i = 1; i < 8; ++i) ranks[i].rank.events = ranks[i].rank.steps = 0;
  EXPECT_THAT(told(ranks), IsEmpty());
}

TEST(Culprit, IsTheOneThatTheKernelHolds) {
  auto ranks = gang();
  ranks[4].rank.state = "D";
  EXPECT_THAT(told(ranks), ElementsAre(4));
}

TEST(Culprit, IsTheOneThatComputesWhileTheOthersSleep) {
  auto ranks = gang();
  ranks[1].rank.cpu = 0.99;
  EXPECT_THAT(told(ranks), ElementsAre(1));
}

// Waiting for a collective of NCCL polls.
TEST(Culprit, IsTheOneThatSleepsWhileTheOthersPoll) {
  auto ranks = gang();
  for (LivingRank& one : ranks) one.rank.cpu = 1.0;
  ranks[7].rank.cpu = 0.0;
  EXPECT_THAT(told(ranks), ElementsAre(7));
}

TEST(Culprit, IsNotToldByCpuTimeThatIsInBetweenOrUnknown) {
  auto ranks = gang();
  ranks[7].rank.cpu = 0.2;
  EXPECT_THAT(told(ranks), IsEmpty());
  ranks[7].rank.cpu.reset();
  EXPECT_THAT(told(ranks), IsEmpty());
}

TEST(Culprit, IsTheOneThatSleepsElsewhereInTheKernel) {
  auto ranks = gang();
  ranks[0].rank.waits_in = "nfs_wait_bit_killable";
  EXPECT_THAT(told(ranks), ElementsAre(0));
}

TEST(Culprit, IsTheOneThatFellSilentWellBeforeTheOthers) {
  auto ranks = gang();
  ranks[2].rank.idle_s = 200;
  EXPECT_THAT(told(ranks), ElementsAre(2));
}

// Three ranks at the same step: two say every half second that they wait.
TEST(Culprit, IsTheOneThatIsSilentWhileTheOthersPrintThatTheyWait) {
  auto ranks = gang();
  ranks.resize(3);
  let_all_step(ranks, 5, false);
  for (LivingRank& one : ranks) {
    one.rank.event_idle_s = 8.5;
    one.rank.idle_s = 0.4;
  }
  ranks[1].rank.event_idle_s = ranks[1].rank.idle_s = 7.5;  // of an earlier heartbeat
  EXPECT_THAT(told(ranks), ElementsAre(1));
  EXPECT_EQ(tell_culprits(ranks).why, "it fell silent and the others still print");
  ranks[2].rank.state = "D";  // it writes its line just now
  ranks[0].rank.waits_in = "pipe_write";
  EXPECT_THAT(told(ranks), ElementsAre(1));
}

TEST(Culprit, IsNotToldByTheSilenceOfMostRanks) {
  auto ranks = gang();
  let_all_step(ranks, 5, false);
  ranks[0].rank.idle_s = 0.4;  // the first rank alone prints
  EXPECT_THAT(told(ranks), IsEmpty());
  ranks.resize(2);
  ranks[1].rank.events = ranks[1].rank.steps = 0;
  ranks[1].rank.idle_s = 3;
  EXPECT_THAT(told(ranks), IsEmpty());
}

TEST(Culprit, IsNotToldByHalfOfTheRanks) {
  auto ranks = gang();
  for (std::size_t i = 0; i < 4; ++i) ranks[i].rank.cpu = 1.0;
  EXPECT_THAT(told(ranks), IsEmpty());
}

}  // namespace
}  // namespace assay::launch
