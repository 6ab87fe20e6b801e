#include <gtest/gtest.h>

#include "agent/leftovers.h"

namespace assay::agent {
namespace {

using Action = Leftovers::Action;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

TEST(Leftovers, HelpersMayFollowTheirRankThenAreAskedThenKilled) {
  Leftovers leftovers;
  leftovers.begin(100 * kSecond);
  EXPECT_EQ(leftovers.next(100 * kSecond + 400 * kMillisecond, 3, {}), Action::wait);
  EXPECT_EQ(leftovers.noteworthy(), 0);
  EXPECT_EQ(leftovers.next(100 * kSecond + 600 * kMillisecond, 2, {}), Action::terminate);
  EXPECT_EQ(leftovers.next(101 * kSecond, 1, {}), Action::terminate);
  EXPECT_EQ(leftovers.next(102 * kSecond, 1, {}), Action::kill);
  EXPECT_EQ(leftovers.noteworthy(), 2) << "as many as there were when the patience ended";
}

TEST(Leftovers, WhatASignalDoesNotEndIsGivenUpAfterTenSeconds) {
  Leftovers leftovers;
  leftovers.begin(0);
  EXPECT_EQ(leftovers.next(9 * kSecond, 1, {}), Action::kill);
  EXPECT_EQ(leftovers.next(11 * kSecond, 1, {}), Action::give_up);
}

TEST(Leftovers, AfterAStopTheyHaveTheRestOfTheGrace) {
  Leftovers leftovers;
  leftovers.begin(10 * kSecond);
  const std::int64_t kill_at = 30 * kSecond;
  EXPECT_EQ(leftovers.next(10 * kSecond, 1, kill_at), Action::ask);
  EXPECT_EQ(leftovers.next(29 * kSecond, 1, kill_at), Action::wait) << "they were asked once";
  EXPECT_EQ(leftovers.next(30 * kSecond, 1, kill_at), Action::kill);
  EXPECT_EQ(leftovers.next(39 * kSecond, 1, kill_at), Action::kill);
  EXPECT_EQ(leftovers.next(41 * kSecond, 1, kill_at), Action::give_up);
  EXPECT_EQ(leftovers.noteworthy(), 0);
}

TEST(Leftovers, ASecondStopThatShortensTheGraceCounts) {
  Leftovers leftovers;
  leftovers.begin(10 * kSecond);
  EXPECT_EQ(leftovers.next(11 * kSecond, 1, 60 * kSecond), Action::ask);
  EXPECT_EQ(leftovers.next(12 * kSecond, 1, 12 * kSecond), Action::kill);
}

}  // namespace
}  // namespace assay::agent
