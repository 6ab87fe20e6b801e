#include <gmock/gmock.h>

#include "core/files.h"
#include "core/time.h"
#include "platform/retention_rounds.h"
#include "platform_fixture.h"

namespace assay::platform {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kDayNs = 24 * 3600 * 1'000'000'000LL;

class RetentionTest : public PlatformTest {
 protected:
  void keep(std::int64_t logs_days, std::int64_t jobs_days) {
    Settings settings = platform_->settings();
    settings.retention = {.logs_days = logs_days, .jobs_days = jobs_days};
    platform_->change_settings(settings);
  }
  jobs::JobId finished_job() {
    const jobs::JobId id = submit(job());
    EXPECT_TRUE(log_->saw("start " + std::to_string(id) + ".1"));
    exit(id, 1);
    EXPECT_TRUE(becomes(id, jobs::State::finished));
    for (const char* file :
         {"run/run1/result.json", "run/run1/plan.json", "run/run1/mllog/case.log",
          "run/run1/case/round1/n_noderank0/rank0.out.log", "work/train.py", "tensorboard/events",
          "controller.log"}) {
      fs::create_directories((folder(id) / file).parent_path());
      write_file_atomic(folder(id) / file, "x", false);
    }
    return id;
  }
  [[nodiscard]] fs::path folder(jobs::JobId id) const {
    return temporary_.path() / "data/jobs" / std::to_string(id) / "attempt-1";
  }
};

/// Rounds on a clock that the test sets.
class RetentionRoundsTest : public RetentionTest {
 protected:
  void SetUp() override {
    RetentionTest::SetUp();
    keep(30, 100);
    id_ = finished_job();
  }
  void set_clock(std::int64_t days) { clock_set_s_ = days * 24 * 3600; }
  /// What was said by then.
  [[nodiscard]] std::string said() { return std::exchange(said_, {}); }
  [[nodiscard]] RetentionRounds rounds() {
    return RetentionRounds({.platform = *platform_,
                            .every = std::chrono::hours(1),
                            .say = [this](const std::string& words) { said_ += words + "\n"; },
                            .clocks = clocks()});
  }

  jobs::JobId id_ = 0;
  std::string said_;
};

TEST_F(RetentionRoundsTest, AClockThatIsSetAheadIsSaidAndWaitedFor) {
  RetentionRounds rounds = this->rounds();
  rounds.say_ahead();
  EXPECT_TRUE(rounds.remove());
  EXPECT_EQ(said(), "");
  set_clock(365);
  EXPECT_FALSE(rounds.remove());
  EXPECT_TRUE(platform_->find(id_)) << "nothing goes before it was said";
  EXPECT_THAT(said(), AllOf(StartsWith("warning: "), HasSubstr("was set ahead by"),
                            HasSubstr("1 job and the logs of 0 jobs will be removed at")));
  // It was left as it is.
  EXPECT_TRUE(rounds.remove());
  EXPECT_FALSE(platform_->find(id_));
  EXPECT_THAT(said(), StartsWith("note: retention: 1 job"));
}

TEST_F(RetentionRoundsTest, AClockThatIsPutRightInTimeRemovesNothing) {
  RetentionRounds rounds = this->rounds();
  set_clock(365);
  EXPECT_FALSE(rounds.remove());
  (void)said();
  set_clock(0);
  EXPECT_TRUE(rounds.remove());
  EXPECT_TRUE(fs::exists(folder(id_) / "work/train.py"));
  EXPECT_EQ(said(), "");
}

TEST_F(RetentionRoundsTest, AStartLongAfterTheLastJobSaysToLookAtTheClock) {
  set_clock(40);
  RetentionRounds(rounds()).say_ahead();
  EXPECT_THAT(said(), AllOf(StartsWith("warning: "), HasSubstr("the last job was"),
                            HasSubstr("the logs of 1 job will be removed at")));
  // The server works by that clock: there are jobs of today.
  (void)submit(job());
  RetentionRounds(rounds()).say_ahead();
  EXPECT_THAT(said(), StartsWith("note: "));
}

TEST_F(RetentionTest, WithoutRulesEverythingStays) {
  const jobs::JobId id = finished_job();
  const Removal removal = platform_->remove_old(wall_now_ns() + 10'000 * kDayNs, false);
  EXPECT_EQ(removal.logs + removal.jobs, 0U);
  EXPECT_TRUE(fs::exists(folder(id) / "work/train.py"));
  EXPECT_FALSE(platform_->kept_until(wall_now_ns()).logs_ns);
}

TEST_F(RetentionTest, LogsGoAndResultsStay) {
  keep(30, 0);
  const jobs::JobId id = finished_job();
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 29 * kDayNs, false).logs, 0U);
  EXPECT_TRUE(fs::exists(folder(id) / "run/run1/case"));
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 1U);
  for (const char* gone : {"run/run1/case", "work", "tensorboard"})
    EXPECT_FALSE(fs::exists(folder(id) / gone)) << gone;
  for (const char* stays :
       {"run/run1/result.json", "run/run1/plan.json", "run/run1/mllog/case.log"})
    EXPECT_TRUE(fs::exists(folder(id) / stays)) << stays;
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 0U) << "once";
}

TEST_F(RetentionTest, ALinkThatLeadsNowhereIsInNobodysWay) {
  keep(30, 0);
  const jobs::JobId id = finished_job();
  for (const fs::path& where :
       {folder(id).parent_path(), folder(id) / "run", folder(id) / "run/run1"})
    fs::create_symlink("loop", where / "loop");
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 1U);
  EXPECT_FALSE(fs::exists(folder(id) / "run/run1/case"));
}

TEST_F(RetentionTest, WhatCouldNotBeLookedAtIsTriedAgain) {
  keep(30, 0);
  const jobs::JobId id = finished_job();
  fs::rename(folder(id) / "run", folder(id) / "aside");
  write_file_atomic(folder(id) / "run", "not a folder", false);
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 0U);
  fs::remove(folder(id) / "run");
  fs::rename(folder(id) / "aside", folder(id) / "run");
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 1U);
  EXPECT_FALSE(fs::exists(folder(id) / "run/run1/case"));
}

TEST_F(RetentionTest, WhatWasBegunIsRemovedForEverybodyAndGoesOn) {
  keep(30, 0);
  const jobs::JobId id = finished_job();
  EXPECT_EQ(platform_->logs_removed_at(id), "");
  // The second attempt cannot be looked at, as when the disk fails after the first one.
  const fs::path second = folder(id).parent_path() / "attempt-2";
  fs::create_directories(second);
  write_file_atomic(second / "run", "not a folder", false);
  const Removal removal = platform_->remove_old(wall_now_ns() + 31 * kDayNs, false);
  EXPECT_EQ(removal.logs, 0U);
  EXPECT_EQ(removal.failed, 1U);
  EXPECT_THAT(removal.first_why, ::testing::HasSubstr("attempt-2"));
  EXPECT_THAT(platform_->logs_removed_at(id), ::testing::HasSubstr("T"));
  fs::remove(second / "run");
  restart();
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 1U);
  EXPECT_FALSE(fs::exists(folder(id) / "work"));
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 0U);
}

TEST_F(RetentionTest, OfAnEarlierVersionWhatWasRemovedIsRemoved) {
  keep(30, 0);
  const jobs::JobId id = finished_job();
  write_file_atomic(folder(id).parent_path() / "logs-removed.json",
                    R"({"removed": "2026-11-15T10:15:00.000Z"})", false);
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 0U);
  EXPECT_EQ(platform_->logs_removed_at(id), "2026-11-15T10:15:00.000Z");
}

TEST_F(RetentionTest, StopsBetweenTwoJobs) {
  keep(30, 0);
  (void)finished_job();
  (void)finished_job();
  int asked = 0;
  const auto stop = [&] { return ++asked > 1; };
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false, stop).logs, 1U);
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, false).logs, 1U);
}

TEST_F(RetentionTest, SaysWhatWouldGoBeforeItDoes) {
  keep(30, 60);
  const jobs::JobId first = finished_job();
  const jobs::JobId second = finished_job();
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 31 * kDayNs, true).logs, 2U);
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 61 * kDayNs, true).jobs, 2U);
  EXPECT_TRUE(fs::exists(folder(first) / "work"));
  EXPECT_TRUE(platform_->find(second));
}

TEST_F(RetentionTest, OldJobsGoWithTheirRecords) {
  keep(30, 60);
  const jobs::JobId id = finished_job();
  const jobs::JobId running = submit(job());
  ASSERT_TRUE(log_->saw("start 2.1"));
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 61 * kDayNs, false).jobs, 1U);
  EXPECT_FALSE(platform_->find(id));
  EXPECT_FALSE(fs::exists(folder(id)));
  EXPECT_TRUE(platform_->find(running)) << "what has not ended is never old";
}

TEST_F(RetentionTest, AJobThatAnotherWaitsForStays) {
  keep(0, 60);
  const jobs::JobId id = finished_job();
  jobs::NewJob whole = job("blocker");
  whole.submission.devices = 4;
  const jobs::JobId blocker = submit(whole);
  jobs::NewJob later = job("later");
  later.submission.after = {id, blocker};
  const jobs::JobId waiting = submit(later);
  EXPECT_EQ(platform_->remove_old(wall_now_ns() + 61 * kDayNs, false).jobs, 0U);
  EXPECT_TRUE(platform_->find(id));
  EXPECT_TRUE(platform_->find(waiting));
}

TEST_F(RetentionTest, RulesAreKeptAndChecked) {
  keep(30, 60);
  restart();
  EXPECT_EQ(platform_->settings().retention.logs_days, 30);
  EXPECT_THAT(testing::error_of([&] {
                keep(-1, 0);
                return 0;
              }),
              ::testing::HasSubstr("retention"));
}

}  // namespace
}  // namespace assay::platform
