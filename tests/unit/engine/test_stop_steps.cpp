#include <gtest/gtest.h>

#include "engine/stop_steps.h"

namespace assay::engine {
namespace {

using namespace std::chrono_literals;
using Step = StopSteps::Step;

constexpr std::int64_t ns(Nanoseconds time) {
  return time.count();
}

/// Does what is due, and gives it.
Step step(StopSteps& steps, Nanoseconds now) {
  const Step due = steps.due(ns(now));
  if (due != Step::none) steps.did(due, ns(now));
  return due;
}

TEST(StopSteps, NothingIsDueUnlessItIsToEnd) {
  StopSteps steps;
  EXPECT_EQ(step(steps, 1h), Step::none);
  EXPECT_EQ(steps.next_ns(), StopSteps::kNever);
}

TEST(StopSteps, TellsAtOnceAgainAfterTheGraceAndThenKills) {
  StopSteps steps;
  steps.want(ns(1s), 10s);
  EXPECT_EQ(step(steps, 1s), Step::tell);
  EXPECT_EQ(steps.next_ns(), ns(11s));
  EXPECT_EQ(step(steps, 10999ms), Step::none);
  EXPECT_EQ(step(steps, 11s), Step::tell_again);
  EXPECT_EQ(steps.next_ns(), ns(31s));
  EXPECT_EQ(step(steps, 30s), Step::none);
  EXPECT_EQ(step(steps, 31s), Step::kill);
  EXPECT_TRUE(steps.killed());
  EXPECT_EQ(step(steps, 1h), Step::none);
  EXPECT_EQ(steps.next_ns(), StopSteps::kNever);
}

TEST(StopSteps, AStepThatCouldNotBeDoneStaysDue) {
  StopSteps steps;
  steps.want(ns(1s), 10s);
  EXPECT_EQ(steps.due(ns(1s)), Step::tell);
  EXPECT_EQ(steps.due(ns(20s)), Step::tell);
}

TEST(StopSteps, TwoSignalsAreNeverOne) {
  StopSteps steps;
  steps.want(ns(1s), 0s);
  EXPECT_EQ(step(steps, 5s), Step::tell);  // the watch was late
  EXPECT_EQ(step(steps, 5099ms), Step::none);
  EXPECT_EQ(step(steps, 5100ms), Step::tell_again);
}

TEST(StopSteps, AnotherWishCanOnlyShortenTheGrace) {
  StopSteps steps;
  steps.want(ns(1s), 10s);
  (void)step(steps, 1s);
  steps.want(ns(2s), 60s);
  EXPECT_EQ(steps.next_ns(), ns(11s));
  steps.want(ns(3s), 1s);
  EXPECT_EQ(steps.next_ns(), ns(4s));
}

TEST(StopSteps, WhatAnEarlierServerToldIsToldAgainAfterTheRestOfTheGrace) {
  StopSteps steps;
  steps.was_told();
  EXPECT_EQ(step(steps, 1s), Step::none);
  steps.want(ns(1s), 4s);
  EXPECT_EQ(step(steps, 1s), Step::none);
  EXPECT_EQ(step(steps, 5s), Step::tell_again);
}

TEST(StopSteps, TheSignalOfAnEarlierServerIsAnotherTooWhateverTheGrace) {
  StopSteps steps;
  steps.was_told();
  steps.want(ns(1s), 0s);
  EXPECT_EQ(step(steps, 1099ms), Step::none);
  EXPECT_EQ(step(steps, 1100ms), Step::tell_again);
}

}  // namespace
}  // namespace assay::engine
