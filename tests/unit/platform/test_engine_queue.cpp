// An engine that has a queue of its own, as Slurm has.

#include <gmock/gmock.h>

#include "platform_fixture.h"

namespace assay::platform {
namespace {

using jobs::EventKind;
using jobs::State;
using ::testing::IsEmpty;

const engine::Traits kWithQueue{.name = "queue", .has_queue = true};

class EngineQueue : public PlatformTest {
 protected:
  void SetUp() override { begin(kWithQueue); }
  [[nodiscard]] jobs::NewJob large() const {
    jobs::NewJob large = job();
    large.submission.nodes = 50;
    return large;
  }
};

TEST_F(EngineQueue, GetsEveryJobAtOnceAndSaysWhatItWaitsFor) {
  log_->waits = "other jobs come first";
  const jobs::JobId id = submit(large());
  ASSERT_TRUE(log_->saw("start 1.1"));
  ASSERT_TRUE(becomes(id, State::scheduling));
  EXPECT_THAT(log_->orders[(engine::Execution{id, 1})].placement, IsEmpty());
  EXPECT_EQ(jobs::to_words(*platform_->find(id)->pending), "other jobs come first");
  EXPECT_EQ(jobs::to_words(platform_->waits(id)->reason), "other jobs come first");
}

TEST_F(EngineQueue, SaysWhenItExpectsToStartAJob) {
  log_->waits = "other jobs come first";
  const jobs::JobId id = submit(large());
  ASSERT_TRUE(becomes(id, State::scheduling));
  EXPECT_FALSE(platform_->find(id)->estimated_start_ns);
  log_->expected_start_ns = 7'000'000'000;
  EXPECT_EQ(platform_->find(id)->estimated_start_ns, 7'000'000'000);
  EXPECT_EQ(platform_->waits(id)->estimated_start_ns, 7'000'000'000);
}

TEST_F(EngineQueue, ItsQueuesCanBeSubmittedTo) {
  jobs::NewJob urgent = job();
  urgent.submission.queue = "urgent";
  EXPECT_THROW((void)platform_->submit(urgent), Refused);
  log_->queues = {"urgent"};
  (void)submit(urgent);
  EXPECT_TRUE(log_->saw("start 1.1"));
}

TEST_F(EngineQueue, AJobThatAsksForNoTimeHasNoLimitHere) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  exit(id, 1);
  EXPECT_TRUE(becomes(id, State::finished));
}

TEST_F(EngineQueue, IsToldAgainAfterARestartWhatIsToStop) {
  const jobs::JobId id = submit(large());
  ASSERT_TRUE(log_->saw("start 1.1"));
  (void)platform_->ask(id, EventKind::kill_asked, "alice");
  ASSERT_TRUE(log_->saw("stop 1.1 60s"));
  restart(kWithQueue);
  ASSERT_TRUE(log_->saw("recall 1.1"));
  EXPECT_TRUE(testing::eventually([&] {
    for (const std::string& what : log_->all())
      if (what.starts_with("stop 1.1")) return true;
    return false;
  }));
}

}  // namespace
}  // namespace assay::platform
