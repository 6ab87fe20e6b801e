#include <gtest/gtest.h>

#include "serve/rate_limit.h"

namespace assay::serve {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RateLimiter, GrantsABurstThenTheRate) {
  RateLimiter limiter(2, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("a", 0), 0);
  EXPECT_EQ(limiter.take("a", 0), 1);
  EXPECT_EQ(limiter.take("a", kSecond / 2), 0);
  EXPECT_EQ(limiter.take("a", kSecond / 2), 1);
}

TEST(RateLimiter, SaysHowLongToWait) {
  RateLimiter limiter(0.1, 1);
  EXPECT_EQ(limiter.take("a", 0), 0);
  EXPECT_EQ(limiter.take("a", 0), 10);
  EXPECT_EQ(limiter.take("a", 9 * kSecond), 1);
  EXPECT_EQ(limiter.take("a", 10 * kSecond), 0);
}

TEST(RateLimiter, KeepsKeysApart) {
  RateLimiter limiter(1, 1);
  EXPECT_EQ(limiter.take("a", 0), 0);
  EXPECT_EQ(limiter.take("b", 0), 0);
  EXPECT_NE(limiter.take("a", 0), 0);
}

TEST(RateLimiter, NeverHoldsMoreThanTheBurst) {
  RateLimiter limiter(100, 2);
  EXPECT_EQ(limiter.take("a", 0), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter.take("a", 3600 * kSecond), 0);
  EXPECT_NE(limiter.take("a", 3600 * kSecond), 0);
}

TEST(RateLimiter, SharesOneBucketWhenThereAreTooManyKeys) {
  RateLimiter limiter(0.001, 1, 2);
  EXPECT_EQ(limiter.take("a", 0), 0);
  EXPECT_EQ(limiter.take("b", 0), 0);
  EXPECT_EQ(limiter.take("c", 0), 0);  // the first of those without a bucket
  EXPECT_NE(limiter.take("d", 0), 0);
  EXPECT_NE(limiter.take("a", 0), 0);
  // Full again, and forgotten.
  EXPECT_EQ(limiter.take("e", 2000 * kSecond), 0);
}

TEST(RateLimiter, WhatIsGivenBackCanBeTakenAgain) {
  RateLimiter limiter(0.001, 1, 1);
  EXPECT_EQ(limiter.take("a", 0), 0);
  limiter.give_back("a", 0);
  limiter.give_back("a", 0);  // not more than the burst
  EXPECT_EQ(limiter.take("a", 0), 0);
  EXPECT_NE(limiter.take("a", 0), 0);
  EXPECT_EQ(limiter.take("b", 0), 0);  // of the shared one
  limiter.give_back("c", 0);
  EXPECT_EQ(limiter.take("d", 0), 0);
  limiter.give_back("nobody's", 5000 * kSecond);
}

TEST(RateLimiter, IsNotConfusedByAClockThatStands) {
  RateLimiter limiter(1, 1);
  EXPECT_EQ(limiter.take("a", 5 * kSecond), 0);
  EXPECT_NE(limiter.take("a", 4 * kSecond), 0);
}

}  // namespace
}  // namespace assay::serve
