#include <gtest/gtest.h>

#include "jobs/fair_share.h"

namespace assay::jobs {
namespace {

constexpr WallTime kWeek = 7LL * 24 * 3600 * 1'000'000'000;

std::vector<Team> two_teams(double first, double second) {
  std::vector<Team> teams(2);
  teams[0].name = "a";
  teams[0].weight = first;
  teams[1].name = "b";
  teams[1].weight = second;
  return teams;
}

TEST(FairShare, UsageCountsHalfAfterAHalfLife) {
  FairShare share;
  share.add("a", "ann", 100, 0);
  EXPECT_DOUBLE_EQ(share.usage("a", "ann", 0), 100);
  EXPECT_DOUBLE_EQ(share.usage("a", "ann", kWeek), 50);
  EXPECT_DOUBLE_EQ(share.usage("a", "ann", 2 * kWeek), 25);
  EXPECT_DOUBLE_EQ(share.usage("a", "bob", 0), 0);
}

TEST(FairShare, TheOrderOfReportsDoesNotMatter) {
  FairShare forward;
  forward.add("a", "ann", 100, 0);
  forward.add("a", "ann", 60, kWeek);
  FairShare backward;
  backward.add("a", "ann", 60, kWeek);
  backward.add("a", "ann", 100, 0);
  EXPECT_DOUBLE_EQ(forward.usage("a", "ann", kWeek), 110);
  EXPECT_DOUBLE_EQ(backward.usage("a", "ann", kWeek), 110);
}

TEST(FairShare, AClockThatWasSetBackDoesNotMakeUsageGrow) {
  FairShare share;
  share.add("a", "ann", 100, kWeek);
  EXPECT_DOUBLE_EQ(share.usage("a", "ann", 0), 100);
}

TEST(FairShare, WhatIsNotANumberOfSecondsIsNotCounted) {
  FairShare share;
  share.add("a", "ann", -5, 0);
  share.add("a", "ann", std::numeric_limits<double>::quiet_NaN(), 0);
  share.add("a", "ann", std::numeric_limits<double>::infinity(), 0);
  EXPECT_DOUBLE_EQ(share.usage("a", "ann", 0), 0);
}

TEST(FairShare, WhoHasUsedNothingStandsBest) {
  FairShare share;
  share.add("a", "ann", 100, 0);
  const auto standing = share.standing(two_teams(1, 1), 0);
  EXPECT_DOUBLE_EQ(standing.factor("b", "bob"), 1);
  EXPECT_LT(standing.factor("a", "ann"), standing.factor("a", "new"));
  EXPECT_LT(standing.factor("a", "new"), 1);
}

TEST(FairShare, ATeamWithThreeTimesTheWeightMayUseThreeTimesAsMuch) {
  FairShare share;
  share.add("a", "ann", 300, 0);
  share.add("b", "bob", 100, 0);
  const auto standing = share.standing(two_teams(3, 1), 0);
  EXPECT_DOUBLE_EQ(standing.factor("a", "ann"), standing.factor("b", "bob"));
  EXPECT_DOUBLE_EQ(standing.factor("a", "ann"), 0.5);
}

TEST(FairShare, ATeamThatNobodyKnowsHasNoShare) {
  FairShare share;
  share.add("gone", "zoe", 100, 0);
  EXPECT_LT(share.standing(two_teams(1, 1), 0).factor("gone", "zoe"), 0.2);
  EXPECT_DOUBLE_EQ(share.standing({}, 0).factor("gone", "zoe"), 0.5) << "without teams all share";
}

}  // namespace
}  // namespace assay::jobs
