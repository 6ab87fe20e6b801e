#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/time.h"
#include "error_of.h"
#include "platform/schedules.h"
#include "temporary_folder.h"

namespace assay::platform {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

constexpr jobs::WallTime kMinute = 60'000'000'000;
constexpr jobs::WallTime kThree = 1'794'798'000'000'000'000;  // 2026-11-16T03:00:00Z

class SchedulesTest : public ::testing::Test {
 protected:
  SchedulesTest() { made_.emplace(file(), submit()); }

  std::filesystem::path file() { return folder_.path() / "schedules.json"; }
  Schedules::Submit submit() {
    return [this](const jobs::NewJob& job) -> std::vector<jobs::JobId> {
      if (!refuse_.empty()) throw Error(refusal_, refuse_);
      keys_.push_back(job.request_key);
      return {static_cast<jobs::JobId>(keys_.size())};
    };
  }
  static Schedule nightly() {
    Schedule out;
    out.name = "nightly";
    out.owner = "ann";
    out.cron = "0 3 * * *";
    out.submission.name = "acceptance";
    out.submission.command = "true";
    return out;
  }
  Schedules& schedules() { return *made_; }

  testing::TemporaryFolder folder_;
  std::vector<std::string> keys_;
  std::string refuse_;
  ErrorKind refusal_ = ErrorKind::usage;
  std::optional<Schedules> made_;
};

TEST_F(SchedulesTest, AreSubmittedOnceForEachMoment) {
  ASSERT_EQ(iso_utc(kThree), "2026-11-16T03:00:00Z");
  schedules().put(nightly(), kThree - 60 * kMinute);
  EXPECT_EQ(schedules().submit_due(kThree - kMinute), kThree);
  EXPECT_EQ(schedules().submit_due(kThree), kThree + 24 * 60 * kMinute);
  EXPECT_EQ(schedules().submit_due(kThree + 5 * kMinute), kThree + 24 * 60 * kMinute);
  EXPECT_THAT(keys_, ElementsAre("schedule:nightly:2026-11-16T03:00:00Z"));
  EXPECT_EQ(schedules().of("ann").at(0).last_job, 1);
}

TEST_F(SchedulesTest, AreTheSameAfterARestart) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  (void)schedules().submit_due(kThree);
  made_.emplace(file(), submit());
  (void)schedules().submit_due(kThree + kMinute);
  EXPECT_EQ(keys_.size(), 1U) << "it was submitted before";
}

TEST_F(SchedulesTest, WhatWasMissedIsMadeUpForWithinMinutesOnly) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  EXPECT_EQ(schedules().submit_due(kThree + 11 * kMinute), kThree + 24 * 60 * kMinute);
  EXPECT_TRUE(keys_.empty());
  Schedule other = nightly();
  other.name = "other";
  schedules().put(other, kThree - 60 * kMinute);
  (void)schedules().submit_due(kThree + 9 * kMinute);
  EXPECT_EQ(keys_.size(), 2U);
}

TEST_F(SchedulesTest, WhatIsMadeAfterTheMomentWaitsForTheNext) {
  schedules().put(nightly(), kThree + kMinute);
  (void)schedules().submit_due(kThree + 2 * kMinute);
  EXPECT_TRUE(keys_.empty());
}

TEST_F(SchedulesTest, SayWhyAJobWasNotSubmitted) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "its owner may not submit jobs any more";
  (void)schedules().submit_due(kThree);
  EXPECT_EQ(schedules().of("ann").at(0).last_error, refuse_);
  EXPECT_EQ(schedules().of("ann").at(0).last_job, 0);
}

TEST_F(SchedulesTest, StayDueWhileTheDiskFails) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "no room";
  refusal_ = ErrorKind::environment;
  EXPECT_THAT(error_of([&] { (void)schedules().submit_due(kThree); }), HasSubstr("no room"));
  refuse_.clear();
  (void)schedules().submit_due(kThree + kMinute);
  EXPECT_EQ(keys_.size(), 1U);
}

TEST_F(SchedulesTest, ArePausedAndRemoved) {
  Schedule paused = nightly();
  paused.paused = true;
  schedules().put(paused, kThree - 60 * kMinute);
  EXPECT_EQ(schedules().submit_due(kThree), std::nullopt);
  EXPECT_FALSE(schedules().remove("bob", "nightly"));
  EXPECT_TRUE(schedules().remove("ann", "nightly"));
  EXPECT_TRUE(schedules().of("").empty());
}

TEST_F(SchedulesTest, ATimeThatIsNoneIsRefused) {
  Schedule wrong = nightly();
  wrong.cron = "0 25 * * *";
  EXPECT_THAT(error_of([&] { schedules().put(wrong, kThree); }), HasSubstr("hour"));
}

TEST_F(SchedulesTest, AFileThatCannotBeReadStopsTheServer) {
  schedules().put(nightly(), kThree);
  std::string text = read_file(file());
  write_file_atomic(file(), text.substr(0, text.size() / 2));
  EXPECT_THAT(error_of([&] { const Schedules again(file(), submit()); }),
              HasSubstr("the schedules cannot be read"));
}

}  // namespace
}  // namespace assay::platform
