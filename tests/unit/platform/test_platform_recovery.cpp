#include <gmock/gmock.h>

#include "platform_fixture.h"

namespace assay::platform {
namespace {

using jobs::EventKind;
using jobs::State;
using ::testing::ElementsAre;

// What a new server finds when the old one was killed.

TEST_F(PlatformTest, AsksTheEngineAboutWhatHeldNodes) {
  const jobs::JobId running = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({running, 1}, EventKind::started);
  ASSERT_TRUE(becomes(running, State::running));
  const jobs::JobId done = submit(job());
  ASSERT_TRUE(log_->saw("start 2.1"));
  exit(done, 1);
  ASSERT_TRUE(becomes(done, State::finished));
  restart();
  EXPECT_THAT(log_->all(), ElementsAre("recall 1.1", "recalled"));
  log_->report({running, 1}, EventKind::found);
  exit(running, 1);
  EXPECT_TRUE(becomes(running, State::finished));
}

TEST_F(PlatformTest, StartsAgainWhatTheEngineNeverHeardOf) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  restart();
  ASSERT_TRUE(log_->saw("recalled"));
  log_->report({id, 1}, EventKind::not_found);
  ASSERT_TRUE(log_->saw("start 1.2"));
  EXPECT_EQ(log_->orders.at({id, 2}).restarts, 0);  // the first one never began
}

TEST_F(PlatformTest, GoesOnStoppingWhatWasBeingStopped) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  (void)platform_->ask(id, EventKind::pause_asked, "alice");
  restart();
  log_->report({id, 1}, EventKind::found);
  // The rest of its grace, and not all of it anew.
  ASSERT_TRUE(testing::eventually([&] { return log_->all().back().starts_with("stop 1.1 "); }));
  EXPECT_NE(log_->all().back(), "stop 1.1 60s");
  exit(id, 1, jobs::Ending::interrupted);
  EXPECT_TRUE(becomes(id, State::paused));
}

TEST_F(PlatformTest, EventsOfAnEarlierAttemptChangeNothing) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  restart();
  log_->report({id, 1}, EventKind::not_found);
  ASSERT_TRUE(log_->saw("start 1.2"));
  exit(id, 1);
  log_->report({id, 2}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
}

TEST_F(PlatformTest, KeepsItsLimitsOverARestart) {
  jobs::NewJob limited = job();
  limited.submission.time = jobs::WrittenDuration{std::chrono::seconds(1)};
  const jobs::JobId id = submit(limited);
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  platform_->drain("node1", "maintenance", "alice");
  restart();
  log_->report({id, 1}, EventKind::found);
  EXPECT_TRUE(log_->saw("stop 1.1 60s"));
  EXPECT_TRUE(platform_->nodes().front().drained);
}

TEST_F(PlatformTest, AnswersARepeatedRequestWithTheSameJob) {
  jobs::NewJob keyed = job();
  keyed.request_key = "k1";
  const jobs::JobId id = submit(keyed);
  restart();
  EXPECT_EQ(submit(keyed), id);
}

TEST_F(PlatformTest, TakesNoJobWhenTheFileOfJobsIsGone) {
  ASSERT_EQ(submit(job()), 1);
  std::filesystem::remove(temporary_.path() / "data/jobs.db");
  EXPECT_THAT(testing::error_of([&] { return submit(job()); }),
              ::testing::AllOf(::testing::HasSubstr("jobs.db"),
                               ::testing::HasSubstr("removed or replaced")));
}

TEST_F(PlatformTest, GivesNoNumberWhoseFolderIsThere) {
  platform_.reset();
  for (const char* file : {"jobs.db", "jobs.db-wal", "jobs.db-shm"})
    std::filesystem::remove(temporary_.path() / "data" / file);
  for (const char* name : {"7", "notes", "99999999999999999999"})
    std::filesystem::create_directories(temporary_.path() / "data/jobs" / name);
  begin();
  EXPECT_EQ(submit(job()), 8);
}

}  // namespace
}  // namespace assay::platform
