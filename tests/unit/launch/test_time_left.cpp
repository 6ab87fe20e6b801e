#include <gtest/gtest.h>

#include "launch/time_left.h"

namespace assay::launch {
namespace {

TEST(TimeLeft, IsNotKnownBeforeARoundHasEnded) {
  TimeLeft left;
  EXPECT_FALSE(left.seconds(0));
  left.round_started("a", 1, 3, 0, 3);
  EXPECT_FALSE(left.seconds(5));
}

TEST(TimeLeft, RoundsOfACaseTakeAsLongAsItsEarlierOnes) {
  TimeLeft left;
  left.round_started("a", 1, 3, 0, 3);
  left.round_ended(10);
  EXPECT_DOUBLE_EQ(*left.seconds(0), 20);
  left.round_started("a", 2, 3, 1, 3);
  EXPECT_DOUBLE_EQ(*left.seconds(4), 16);
  left.round_ended(20);
  EXPECT_DOUBLE_EQ(*left.seconds(0), 15);
}

TEST(TimeLeft, CasesThatWereNotRunYetTakeAsLongAsTheOthersOnAverage) {
  TimeLeft left;
  left.round_started("short", 1, 1, 0, 4);
  left.round_ended(2);
  left.round_started("long", 1, 2, 1, 4);
  left.round_ended(10);
  EXPECT_DOUBLE_EQ(*left.seconds(0), 10 + 6) << "one of its own, one of a case to come";
}

TEST(TimeLeft, ALastRoundThatTakesLongerThanThoseBeforeHasNoEstimate) {
  TimeLeft left;
  left.round_started("a", 1, 2, 0, 2);
  left.round_ended(10);
  left.round_started("a", 2, 2, 1, 2);
  EXPECT_FALSE(left.seconds(11));
}

TEST(TimeLeft, ARunThatWentOnCountsOnlyWhatIsLeft) {
  TimeLeft left;
  left.round_started("a", 3, 3, 2, 4);
  left.round_ended(10);
  EXPECT_DOUBLE_EQ(*left.seconds(0), 10);
}

TEST(TimeLeft, ReadsAsTheGuessThatItIs) {
  EXPECT_EQ(about_left(0.2), "about 5 s left");
  EXPECT_EQ(about_left(23), "about 25 s left");
  EXPECT_EQ(about_left(58), "about 1 min left");
  EXPECT_EQ(about_left(250), "about 4 min left");
  EXPECT_EQ(about_left(3590), "about 1 h left");
  EXPECT_EQ(about_left(4800), "about 1 h 20 min left");
  EXPECT_EQ(about_left(1e300), "more than a year left");
}

}  // namespace
}  // namespace assay::launch
