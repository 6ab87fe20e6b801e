#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs/job_state.h"
#include "platform/clock_watch.h"
#include "platform_fixture.h"

namespace assay::platform {
namespace {

using jobs::EventKind;
using jobs::State;
using testing::eventually;

constexpr std::int64_t kOneSecond = 1'000'000'000;
constexpr std::int64_t kOneHour = 3600 * kOneSecond;

TEST(ClockWatch, NoticesASetClockAndNoOther) {
  ClockWatch watch({.wall_ns = 1000 * kOneHour, .boot_ns = 7 * kOneHour});
  EXPECT_EQ(watch.set_by({1001 * kOneHour, 8 * kOneHour}).count(), 0);
  EXPECT_EQ(watch.set_by({1001 * kOneHour + kOneSecond / 2, 8 * kOneHour}).count(), 0)
      << "a thread was held up between two clocks";
  EXPECT_EQ(watch.set_by({1003 * kOneHour, 8 * kOneHour}).count(), 2 * kOneHour);
  EXPECT_EQ(watch.set_by({1003 * kOneHour, 8 * kOneHour}).count(), 2 * kOneHour)
      << "until it is taken";
  watch.take(Nanoseconds(2 * kOneHour));
  EXPECT_EQ(watch.set_by({1004 * kOneHour, 9 * kOneHour}).count(), 0);
  EXPECT_EQ(watch.set_by({1001 * kOneHour, 9 * kOneHour}).count(), -3 * kOneHour);
}

class ClockThatIsSet : public PlatformTest {
 protected:
  /// One that has an hour, and runs.
  jobs::JobId running() {
    jobs::NewJob limited = job();
    limited.submission.time = jobs::WrittenDuration{std::chrono::hours(1)};
    limited.submission.retries.count = 1;
    const jobs::JobId id = submit(limited);
    EXPECT_TRUE(log_->saw("start 1.1"));
    log_->report({id, 1}, EventKind::started);
    EXPECT_TRUE(becomes(id, State::running));
    return id;
  }
  /// Whatever was to be done when the clock had been set has been done.
  void set_clock(std::int64_t seconds) {
    clock_set_s_ = seconds;
    const jobs::JobId next = submit(job("next"));
    ASSERT_TRUE(log_->saw(fmt::format("start {}.1", next)));
  }
  [[nodiscard]] std::int64_t ran_ns(jobs::JobId id) {
    const jobs::Life life = platform_->find(id)->job.life;
    return jobs::time_run(life.state, life.started_ns, life.ran_ns, clocks()().wall_ns);
  }
};

TEST_F(ClockThatIsSet, AheadEndsNoJobAndAddsNothingToItsTime) {
  const jobs::JobId id = running();
  set_clock(24 * 3600);
  EXPECT_EQ(state(id), State::running);
  EXPECT_LT(ran_ns(id), kOneHour);
  exit(id, 1);
  ASSERT_TRUE(becomes(id, State::finished));
  EXPECT_LT(ran_ns(id), kOneHour);
  std::vector<UsageRow> used;
  ASSERT_TRUE(eventually([&] {
    used = platform_->usage(0, std::numeric_limits<jobs::WallTime>::max());
    return !used.empty();
  }));
  EXPECT_LT(used[0].device_hours, 1);
}

TEST_F(ClockThatIsSet, BackTakesNothingFromAJobsTimeAndHoldsUpNoRetry) {
  clock_set_s_ = 24 * 3600;
  restart();
  const jobs::JobId id = running();
  set_clock(0);
  EXPECT_GT(ran_ns(id), 0);
  exit(id, 1, jobs::Ending::failed, 3);
  ASSERT_TRUE(becomes(id, State::queued));
  set_clock(-24 * 3600);
  ASSERT_TRUE(log_->saw("start 1.2")) << "after its pause of 10 s, not after a day";
}

}  // namespace
}  // namespace assay::platform
