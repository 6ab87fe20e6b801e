#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/report_check.h"

namespace assay::automl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExperimentSettings sized(std::int64_t train, std::int64_t held_out) {
  ExperimentSettings settings;
  settings.workers = 2;
  if (train > 0) settings.data["train_size"] = train;
  if (held_out > 0) settings.data["eval_size"] = held_out;
  return settings;
}

Epoch epoch(int number, std::int64_t trained, std::int64_t validated, double at_s = 0) {
  return {0, number, 0.5, 1, trained, validated, at_s};
}

Done done(bool ok, int epochs, std::int64_t trained, std::int64_t validated, double seconds = 0) {
  return {0, ok, "", 0.5, epochs, trained, validated, seconds, 0, 0};
}

const ReportCheck::Attempt kFresh{.epochs = 3, .batch_size = 32};

TEST(ReportCheck, TakesWhatATrialReports) {
  ReportCheck check(sized(256, 64));
  ReportCheck::Attempt attempt = kFresh;
  for (int e = 1; e <= 3; ++e)
    EXPECT_THAT(check.epoch(attempt, epoch(e, 256 * e, 64 * e, e), e), IsEmpty());
  EXPECT_THAT(check.done(attempt, done(true, 3, 768, 192, 3.1), 3.1), IsEmpty());
  // Cut off in the middle of an epoch, before the first one, and by a loss that is no number.
  ReportCheck::Attempt cut = kFresh;
  EXPECT_THAT(check.done(cut, done(false, 0, 64, 0), 1), IsEmpty());
  EXPECT_THAT(check.epoch(cut, epoch(1, 256, 64), 1), IsEmpty());
  EXPECT_THAT(check.done(cut, done(false, 1, 300, 64), 1), IsEmpty());
  EXPECT_THAT(check.done(cut, done(false, 2, 512, 128), 1), IsEmpty());
}

TEST(ReportCheck, RefusesMoreSamplesThanThereAre) {
  ReportCheck check(sized(256, 64));
  ReportCheck::Attempt attempt = kFresh;
  EXPECT_THAT(check.epoch(attempt, epoch(1, 1'000'000'000'000, 64), 1),
              HasSubstr("of a training set of 256"));
  EXPECT_THAT(check.epoch(attempt, epoch(1, 256, 65), 1), HasSubstr("of 64 that are held out"));
  EXPECT_THAT(check.done(attempt, done(false, 0, 257, 0), 1), HasSubstr("257 samples trained"));
  EXPECT_EQ(attempt.epoch, 0);
}

TEST(ReportCheck, HoldsWorkersToEachOthersSizesWhereNoneIsStated) {
  ReportCheck check(sized(0, 0));
  ReportCheck::Attempt attempt = kFresh;
  EXPECT_THAT(check.epoch(attempt, epoch(1, 992, 100), 1), IsEmpty());
  // Another batch leaves out another rest: 1000 to 1023 samples.
  ReportCheck::Attempt other{.epochs = 3, .batch_size = 100};
  EXPECT_THAT(check.epoch(other, epoch(1, 1000, 100), 1), IsEmpty());
  other = {.epochs = 3, .batch_size = 16};
  EXPECT_THAT(check.epoch(other, epoch(1, 2000, 100), 1), HasSubstr("1000 to 1023"));
  EXPECT_THAT(check.epoch(other, epoch(1, 960, 100), 1), HasSubstr("1000 to 1023"));
  EXPECT_THAT(check.epoch(other, epoch(1, 1008, 99), 1), HasSubstr("99 samples validated"));
  EXPECT_THAT(check.epoch(other, epoch(1, 1008, 100), 1), IsEmpty());
}

TEST(ReportCheck, RefusesEpochsOutOfTurn) {
  ReportCheck check(sized(256, 64));
  ReportCheck::Attempt attempt = kFresh;
  EXPECT_THAT(check.epoch(attempt, epoch(9999, 256 * 9999, 64 * 9999), 1),
              HasSubstr("epoch 9999 after 0 of at most 3"));
  EXPECT_THAT(check.epoch(attempt, epoch(2, 512, 128), 1), HasSubstr("epoch 2 after 0"));
  EXPECT_THAT(check.epoch(attempt, epoch(1, 256, 64), 1), IsEmpty());
  EXPECT_THAT(check.epoch(attempt, epoch(1, 256, 64), 1), HasSubstr("epoch 1 after 1"));
  EXPECT_THAT(check.epoch(attempt, epoch(2, 256 + 128, 128), 1), HasSubstr("after 256 in each"));
  EXPECT_THAT(check.done(attempt, done(true, 2, 256, 64), 1), HasSubstr("2 epochs at its end"));
  EXPECT_THAT(check.done(attempt, done(true, 1, 300, 64), 1), HasSubstr("300 samples trained"));
}

TEST(ReportCheck, HoldsAWorkersClockToTheCoordinators) {
  ReportCheck check(sized(256, 64));
  ReportCheck::Attempt attempt = kFresh;
  EXPECT_THAT(check.epoch(attempt, epoch(1, 256, 64, 100), 10), HasSubstr("10.000 s ago"));
  EXPECT_THAT(check.epoch(attempt, epoch(1, 256, 64, 10.9), 10), IsEmpty());
  EXPECT_THAT(check.done(attempt, done(true, 1, 256, 64, 100), 10), HasSubstr("10.000 s ago"));
}

TEST(ReportCheck, KnowsTheRanks) {
  const ReportCheck check(sized(0, 0));
  EXPECT_THAT(check.rank(1), IsEmpty());
  EXPECT_EQ(check.rank(99), "rank 99 of 2 workers");
}

}  // namespace
}  // namespace assay::automl
