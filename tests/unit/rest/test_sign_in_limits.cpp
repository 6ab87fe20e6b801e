#include <gtest/gtest.h>

#include "rest/sign_in_limits.h"

namespace assay::rest {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
const SignInTry kByPassword{SignInWay::password, "10.0.0.1", "ann"};
const SignInTry kByLink{SignInWay::link, "10.0.0.1", {}};
const SignInTry kByProvider{SignInWay::provider, "10.0.0.1", {}};

// How many fail until one is refused.
int failures(SignInLimits& limits, const SignInTry& one, std::int64_t now_ns = 0) {
  int n = 0;
  while (n < 1000 && limits.begin(one, now_ns) == 0) ++n;
  return n;
}

TEST(SignInLimits, WhatSucceedsIsNotCountedAsFailed) {
  SignInLimits limits;
  for (const SignInTry& one : {kByPassword, kByLink, kByProvider})
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(limits.begin(one, 0), 0) << i;
      limits.succeeded(one, 0);
    }
}

TEST(SignInLimits, FailuresAreBoundedByNameAndByAddress) {
  SignInLimits limits;
  EXPECT_EQ(failures(limits, kByPassword), 10);
  EXPECT_EQ(failures(limits, {SignInWay::password, "10.0.0.1", ""}), 10) << "no name is one, too";
  int all = 20;
  for (int i = 0; i < 100; ++i)
    all += failures(limits, {SignInWay::password, "10.0.0.1", "user" + std::to_string(i)});
  EXPECT_EQ(all, 60);
  EXPECT_EQ(failures(limits, kByPassword, 3600 * kSecond), 10) << "in time they are forgotten";
}

TEST(SignInLimits, FailuresOfAnAccountAreBoundedFromAllAddressesTogether) {
  SignInLimits limits;
  int all = 0;
  for (int i = 0; i < 50; ++i)
    all += failures(limits, {SignInWay::password, "10.0.1." + std::to_string(i), "ann"});
  EXPECT_EQ(all, 100);
}

TEST(SignInLimits, AttemptsThatAreMadeAtTheSameTimeAreCounted) {
  SignInLimits limits;
  EXPECT_EQ(failures(limits, kByPassword), 10) << "none of them has ended";
  EXPECT_EQ(limits.begin(kByPassword, 0), 10);
  limits.succeeded(kByPassword, 0);  // one of the ten
  EXPECT_EQ(limits.begin(kByPassword, 0), 0);
}

TEST(SignInLimits, WhoIsRefusedOneWayGetsInByAnother) {
  SignInLimits limits;
  EXPECT_EQ(failures(limits, kByProvider), 60);
  EXPECT_EQ(limits.begin(kByLink, 0), 0);
  EXPECT_EQ(limits.begin(kByPassword, 0), 0);
  while (limits.ask(kByProvider, 0) == 0) continue;
  EXPECT_EQ(limits.ask(kByLink, 0), 0);
  EXPECT_EQ(limits.ask(kByPassword, 0), 0);
}

TEST(SignInLimits, WhatIsRefusedDoesNotCount) {
  SignInLimits limits;
  EXPECT_EQ(failures(limits, kByPassword), 10);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(limits.begin(kByPassword, 0), 0);
  EXPECT_EQ(failures(limits, {SignInWay::password, "10.0.0.1", "bob"}), 10);
}

TEST(SignInLimits, EvenTheRightOnesAreNoFlood) {
  SignInLimits limits;
  int people = 0;
  while (people < 1000 && limits.ask(kByPassword, 0) == 0) ++people;
  EXPECT_EQ(people, 100);
  int steps = 0;
  while (steps < 1000 && limits.ask(kByProvider, 0) == 0) ++steps;
  EXPECT_EQ(steps, 400);
  EXPECT_EQ(limits.ask({SignInWay::provider, "10.0.0.2", {}}, 0), 0);
}

}  // namespace
}  // namespace assay::rest
