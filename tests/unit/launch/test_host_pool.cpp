#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/host_pool.h"
#include "launch/agents/start_advice.h"
#include "launch/step_rates.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kOneSecond = 1'000'000'000;

TEST(HostPool, ASpareTakesThePlaceOfAHostThatCannotBeHad) {
  HostPool pool({"n1", "n2", "n3", "n4"});
  EXPECT_EQ(pool.replace(0, 2), 2);
  EXPECT_THAT(pool.hosts(), ElementsAre("n3", "n2", "n1", "n4"));
}

TEST(HostPool, AHostThatWasLeftOutIsNotASpare) {
  HostPool pool({"n1", "n2", "n3"});
  EXPECT_EQ(pool.replace(0, 2), 2);
  EXPECT_EQ(pool.replace(0, 2), std::nullopt) << "n3 is away as well, and n1 was tried";
}

TEST(HostPool, ASmallCaseTakesANodeOfALargerOne) {
  HostPool pool({"n1", "n2"});
  EXPECT_EQ(pool.replace(0, 1), 1);
  EXPECT_THAT(pool.hosts(), ElementsAre("n2", "n1"));
}

TEST(HostPool, EverybodyMayBeAskedAgainBeforeTheNextRound) {
  HostPool pool({"n1", "n2"});
  EXPECT_EQ(pool.replace(0, 1), 1);
  EXPECT_EQ(pool.replace(0, 1), std::nullopt);
  pool.begin();
  EXPECT_EQ(pool.replace(0, 1), 1);
  EXPECT_THAT(pool.hosts(), ElementsAre("n1", "n2"));
}

TEST(StartAdvice, IsForTheCause) {
  EXPECT_THAT(start_advice("n2: ended with exit 255: Host key verification failed."),
              HasSubstr("accept_new_keys"));
  EXPECT_THAT(start_advice("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n"
                           "Host key verification failed."),
              HasSubstr("ssh-keygen -R"));
  EXPECT_THAT(start_advice("bench@n2: Permission denied (publickey)."), HasSubstr("identity"));
  EXPECT_THAT(start_advice("connect to host n2 port 22: Connection refused"), HasSubstr("sshd"));
  EXPECT_THAT(start_advice("n2: ended with exit 0: Only backups here"), HasSubstr("ForceCommand"));
  EXPECT_THAT(start_advice("n2: ended with exit 1: This service allows sftp connections only."),
              HasSubstr("cluster.ssh.user"));
  EXPECT_THAT(start_advice("no answer in 30 s"), HasSubstr("reachable"));
  for (const char* said : {"n2: no answer in 30 s, and no word from ssh", "n2: ended with exit 1",
                           "n2: ended with exit 1; n3: ended with exit 7: killed",
                           "n2: ended with exit 1: rbash: line 1: exec: restricted"})
    EXPECT_THAT(start_advice(said), HasSubstr("login shell")) << said;
  EXPECT_THAT(start_advice("n2: ended with exit 255"), HasSubstr("reachable"));
  EXPECT_THAT(start_advice("n2: the programs came only in part in 60 s (70 % of 8.5 MiB)"),
              HasSubstr("goes on"));
}

TEST(StepRates, AreThoseOfTheLastHalfMinute) {
  StepRates rates;
  EXPECT_EQ(rates.rate(0, 0, 0), std::nullopt);
  std::optional<double> rate;
  for (int second = 1; second <= 100; ++second)
    rate = rates.rate(0, 10 * second, second * kOneSecond);
  EXPECT_NEAR(rate.value(), 10, 1e-9);
  for (int second = 101; second <= 140; ++second)
    rate = rates.rate(0, 1000 + 2 * (second - 100), second * kOneSecond);
  EXPECT_NEAR(rate.value(), 2, 0.1);
}

TEST(StepRates, OfSlowStepsDoNotFlicker) {
  StepRates rates;
  std::optional<double> rate;
  for (int second = 0; second <= 60; ++second)
    rate = rates.rate(0, second / 10, second * kOneSecond);
  EXPECT_NEAR(rate.value(), 0.1, 1e-9);
  rate = rates.rate(0, 6, 65 * kOneSecond);
  EXPECT_NEAR(rate.value(), 0.1, 1e-9) << "within a step";
}

TEST(StepRates, FallWhenNoStepComes) {
  StepRates rates;
  for (int second = 0; second <= 10; ++second) (void)rates.rate(0, second, second * kOneSecond);
  EXPECT_LT(rates.rate(0, 10, 100 * kOneSecond).value(), 0.2);
}

TEST(StepRates, BeginAnewWhenTheStepGoesBack) {
  StepRates rates;
  (void)rates.rate(0, 100, 0);
  EXPECT_EQ(rates.rate(0, 0, kOneSecond), std::nullopt);
  EXPECT_NEAR(rates.rate(0, 5, 2 * kOneSecond).value(), 5, 1e-9);
}

}  // namespace
}  // namespace assay::launch
