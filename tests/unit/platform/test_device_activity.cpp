#include <gtest/gtest.h>

#include "platform/device_activity.h"
#include "platform_fixture.h"

namespace assay::platform {
namespace {

using jobs::EventKind;

constexpr std::int64_t kSecond = 1'000'000'000;

/// One sample a second of every utilisation, of devices 0, 1, … in turn; 100 W each.
std::string samples(const std::vector<std::vector<double>>& utils) {
  std::string out = "mono_ns,wall_ns,source,util,power_w\n";
  for (std::size_t t = 0; t < utils.size(); ++t)
    for (std::size_t device = 0; device < utils[t].size(); ++device)
      out += std::to_string((t + 1) * kSecond) + "," + std::to_string((t + 1001) * kSecond) +
             ",dev" + std::to_string(device) + "," + std::to_string(utils[t][device]) + ",100\n";
  return out;
}

class DeviceActivityTest : public ::testing::Test {
 protected:
  [[nodiscard]] DeviceActivity read(const std::string& text,
                                    const std::vector<int>& devices = {}) const {
    temporary_.write("run1/main/round1/node1_noderank0/telemetry.csv", text);
    return activity_of_run(temporary_.path() / "run1", {{"node1", devices}});
  }
  testing::TemporaryFolder temporary_;
};

TEST_F(DeviceActivityTest, CountsIdleSecondsAndEnergy) {
  const DeviceActivity activity = read(samples({{0.9}, {0.9}, {0.0}, {0.0}}));
  EXPECT_DOUBLE_EQ(activity.idle_device_s, 2);
  EXPECT_DOUBLE_EQ(activity.watched_device_s, 3);
  EXPECT_DOUBLE_EQ(activity.energy_j, 300);
  EXPECT_EQ(activity.last_busy_ns, 1002 * kSecond);
  EXPECT_EQ(activity.last_ns, 1004 * kSecond);
}

// Others may work on the devices beside.
TEST_F(DeviceActivityTest, LooksAtTheDevicesOfTheJobAlone) {
  const std::string text = samples({{0.9, 0.0}, {0.9, 0.0}, {0.9, 0.0}});
  EXPECT_DOUBLE_EQ(read(text, {1}).idle_device_s, 2);
  EXPECT_EQ(read(text, {1}).last_busy_ns, 0);
  EXPECT_DOUBLE_EQ(read(text, {0}).idle_device_s, 0);
}

TEST_F(DeviceActivityTest, OfNothingIsNothing) {
  EXPECT_EQ(read("").last_ns, 0);
  EXPECT_EQ(read("").watched_device_s, 0);
  EXPECT_EQ(read("garbage\n1,2\n").last_ns, 0);
  EXPECT_EQ(activity_of_run(temporary_.path() / "nowhere", {}).last_ns, 0);
}

TEST(JudgeActivity, WarnsStopsAndClears) {
  const IdlePolicy policy{.warn_s = 10, .stop_s = 30};
  DeviceActivity activity;
  activity.first_ns = 100 * kSecond;
  activity.last_busy_ns = 200 * kSecond;
  const auto judged = [&](std::int64_t idle_s, bool warned) {
    activity.last_ns = (200 + idle_s) * kSecond;
    return judge_activity(activity, policy, warned, 90 * kSecond);
  };
  EXPECT_EQ(judged(9, false), std::nullopt);
  EXPECT_EQ(judged(10, false), EventKind::idle_warned);
  EXPECT_EQ(judged(20, true), std::nullopt);
  EXPECT_EQ(judged(30, true), EventKind::idle_limit);
  EXPECT_EQ(judged(1, true), EventKind::idle_cleared);
}

TEST(JudgeActivity, AJobThatIsNotMeasuredOrHasJustStartedIsNotIdle) {
  const IdlePolicy policy{.warn_s = 10, .stop_s = 30};
  EXPECT_EQ(judge_activity({}, policy, false, 0), std::nullopt);
  DeviceActivity activity;
  activity.first_ns = 100 * kSecond;
  activity.last_ns = 500 * kSecond;
  EXPECT_EQ(judge_activity(activity, policy, false, 495 * kSecond), std::nullopt);
  EXPECT_EQ(judge_activity(activity, {}, false, 0), std::nullopt);
}

TEST(PauseBetweenLooks, IsAQuarterOfWhatComesFirst) {
  using std::chrono::seconds;
  EXPECT_EQ(pause_between_looks({}), std::nullopt);
  EXPECT_EQ(pause_between_looks({.warn_s = 60, .stop_s = 86'400}), seconds(15));
  EXPECT_EQ(pause_between_looks({.warn_s = 86'400, .stop_s = 60}), seconds(15));
  EXPECT_EQ(pause_between_looks({.warn_s = 40}), seconds(10));
  EXPECT_EQ(pause_between_looks({.stop_s = 40}), seconds(10));
  EXPECT_EQ(pause_between_looks({.warn_s = 1, .stop_s = 2}), seconds(1));
  EXPECT_EQ(pause_between_looks({.warn_s = 86'400, .stop_s = 86'400}), seconds(300));
}

// Devices of the first job that do nothing, for ten seconds from its start on.
void write_idle_run(const testing::TemporaryFolder& temporary, jobs::WallTime started_ns) {
  const std::int64_t since_s = started_ns / kSecond;
  std::string text = "mono_ns,wall_ns,source,util\n";
  for (std::int64_t t = 0; t < 10; ++t)
    text +=
        std::to_string(t * kSecond) + "," + std::to_string((since_s + t) * kSecond) + ",dev0,0\n";
  const std::string run = "data/jobs/1/attempt-1/run/run1/";
  temporary.write(run + "plan.json", "{}");
  temporary.write(run + "main/round1/node1_noderank0/telemetry.csv", text);
}

// The engine's scheduler gives it a time, which is not known here.
TEST_F(PlatformTest, StopsAnIdleJobThatAskedForNoTimeOfAnEngineWithAQueue) {
  restart({.name = "queue", .has_queue = true});
  Settings settings = platform_->settings();
  settings.idle = {.warn_s = 1, .stop_s = 2};
  platform_->change_settings(settings);
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, jobs::State::running));
  write_idle_run(temporary_, platform_->find(id)->job.life.started_ns);
  EXPECT_TRUE(log_->saw("stop 1.1 60s"));
  EXPECT_EQ(platform_->find(id)->job.life.cause, jobs::Cause::idle_limit);
}

TEST_F(PlatformTest, StopsAJobWhoseDevicesDoNothingAfterAWarning) {
  Settings settings = platform_->settings();
  settings.idle = {.warn_s = 1, .stop_s = 2};
  platform_->change_settings(settings);
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, jobs::State::running));
  write_idle_run(temporary_, platform_->find(id)->job.life.started_ns);
  EXPECT_TRUE(log_->saw("stop 1.1 60s"));
  EXPECT_EQ(platform_->find(id)->job.life.cause, jobs::Cause::idle_limit);
  int events = 0;
  for (const jobs::TimelineEntry& entry : platform_->timeline(id))
    if (entry.event == EventKind::idle_warned || entry.event == EventKind::idle_limit) ++events;
  EXPECT_EQ(events, 2);  // the first was the warning
}

}  // namespace
}  // namespace assay::platform
