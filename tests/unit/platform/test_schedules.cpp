#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/time.h"
#include "database/database.h"
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
  enum class Refusal { usage, environment, database, other };

  SchedulesTest() { made_.emplace(file(), submit()); }

  std::filesystem::path file() { return folder_.path() / "schedules.json"; }
  Schedules::Submit submit() {
    return [this](const jobs::NewJob& job) -> std::vector<jobs::JobId> {
      if (!refuse_.empty() && job.request_key.starts_with(refuses_)) fail();
      keys_.push_back(job.request_key);
      return {static_cast<jobs::JobId>(keys_.size())};
    };
  }
  void fail() const {
    if (refusal_ == Refusal::other) throw std::runtime_error(refuse_);
    if (refusal_ == Refusal::database)
      throw database::DatabaseError(database::Cause::locked, refuse_, "jobs.db");
    throw Error(refusal_ == Refusal::usage ? ErrorKind::usage : ErrorKind::environment, refuse_);
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
  std::string refuses_;  ///< how the keys of what is refused begin
  Refusal refusal_ = Refusal::usage;
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

TEST_F(SchedulesTest, GoOnAtOnceWhenTheClockWasSetBack) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  constexpr jobs::WallTime kDay = 24 * 60 * kMinute;
  EXPECT_EQ(schedules().submit_due(kThree + 365 * kDay), kThree + 366 * kDay) << "a wrong clock";
  EXPECT_EQ(schedules().submit_due(kThree - kMinute), kThree) << "and then the right one";
  EXPECT_EQ(schedules().submit_due(kThree), kThree + kDay);
  EXPECT_THAT(keys_, ElementsAre("schedule:nightly:2027-11-16T03:00:00Z",
                                 "schedule:nightly:2026-11-16T03:00:00Z"));
}

TEST_F(SchedulesTest, OfACopyAreHeldUntilTheyAreReleased) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  Schedule other = nightly();
  other.name = "paused";
  other.paused = true;
  schedules().put(other, kThree - 60 * kMinute);
  const auto held = schedules().hold("it is a copy");
  EXPECT_THAT(held, ElementsAre(Held::OfSchedule{"ann", "nightly"}));
  made_.emplace(file(), submit());
  EXPECT_EQ(schedules().hold("it is a copy"), held) << "after a start that was cut off";
  EXPECT_EQ(schedules().submit_due(kThree), std::nullopt);
  EXPECT_EQ(schedules().of("ann").at(0).last_error, "it is a copy");
  schedules().release(held, kThree + kMinute);
  EXPECT_EQ(schedules().submit_due(kThree + 2 * kMinute), kThree + 24 * 60 * kMinute);
  EXPECT_TRUE(keys_.empty()) << "what came due meanwhile is not made up for";
  EXPECT_TRUE(schedules().of("ann").at(1).paused) << "by its owner";
}

TEST_F(SchedulesTest, SayWhyAJobWasNotSubmitted) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "its owner may not submit jobs any more";
  (void)schedules().submit_due(kThree);
  EXPECT_EQ(schedules().of("ann").at(0).last_error, refuse_);
  EXPECT_EQ(schedules().of("ann").at(0).last_job, 0);
}

TEST_F(SchedulesTest, AFailureLeavesTheLastJobTheLast) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  (void)schedules().submit_due(kThree);
  refuse_ = "its owner may not submit jobs any more";
  (void)schedules().submit_due(kThree + 24 * 60 * kMinute);
  EXPECT_EQ(schedules().of("ann").at(0).last_error, refuse_);
  EXPECT_EQ(schedules().of("ann").at(0).last_job, 1);
}

TEST_F(SchedulesTest, StayDueWhileNothingCanBeWrittenDown) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "the database is locked";
  refusal_ = Refusal::database;
  EXPECT_THAT(error_of([&] { (void)schedules().submit_due(kThree); }), HasSubstr("locked"));
  EXPECT_EQ(schedules().of("ann").at(0).last_error, "");
  refuse_.clear();
  (void)schedules().submit_due(kThree + kMinute);
  EXPECT_EQ(keys_.size(), 1U);
}

TEST_F(SchedulesTest, OneThatCannotBePlannedIsInNobodysWay) {
  for (const char* name : {"a", "nightly", "z"}) {
    Schedule one = nightly();
    one.name = name;
    schedules().put(one, kThree - 60 * kMinute);
  }
  refuse_ = "planning took too long";
  refusal_ = Refusal::environment;
  refuses_ = "schedule:nightly:";
  (void)schedules().submit_due(kThree);
  EXPECT_THAT(keys_,
              ElementsAre("schedule:a:2026-11-16T03:00:00Z", "schedule:z:2026-11-16T03:00:00Z"));
  EXPECT_EQ(schedules().of("ann").at(1).last_error, refuse_);
  EXPECT_EQ(schedules().of("ann").at(1).last_ns, kThree);
}

// A machine that was short of something for a moment costs nobody their job.
TEST_F(SchedulesTest, AreTriedAgainForAWhileWhereTheMachineFailed) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "cannot start a process";
  for (const Refusal failure : {Refusal::environment, Refusal::other}) {
    refusal_ = failure;
    const auto next = schedules().submit_due(kThree);
    ASSERT_TRUE(next);
    EXPECT_LT(*next, kThree + 10 * kMinute);
    EXPECT_EQ(schedules().of("ann").at(0).last_error, refuse_);
  }
  made_.emplace(file(), submit());
  refuse_.clear();
  EXPECT_EQ(schedules().submit_due(kThree + 2 * kMinute), kThree + 24 * 60 * kMinute);
  EXPECT_THAT(keys_, ElementsAre("schedule:nightly:2026-11-16T03:00:00Z"));
  EXPECT_EQ(schedules().of("ann").at(0).last_error, "");
  EXPECT_EQ(schedules().of("ann").at(0).last_job, 1);
}

TEST_F(SchedulesTest, AreGivenUpWhereTheMachineGoesOnFailing) {
  schedules().put(nightly(), kThree - 60 * kMinute);
  refuse_ = "planning took too long";
  refusal_ = Refusal::environment;
  (void)schedules().submit_due(kThree);
  refuse_.clear();
  EXPECT_EQ(schedules().submit_due(kThree + 11 * kMinute), kThree + 24 * 60 * kMinute);
  EXPECT_TRUE(keys_.empty());
  EXPECT_EQ(schedules().of("ann").at(0).last_error, "planning took too long");
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
