#include <cerrno>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/error.h"
#include "support.h"
#include "telemetry/log_file.h"
#include "telemetry/monitor_logs.h"
#include "telemetry/values.h"

namespace assay::telemetry {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Values device(double temp, double power, double used, double total, double util) {
  Values values;
  values[Column::temp_c] = temp;
  values[Column::power_w] = power;
  values[Column::mem_used_bytes] = used * 1024 * 1024;
  values[Column::mem_total_bytes] = total * 1024 * 1024;
  values[Column::util] = util;
  return values;
}

TEST(MonitorLogs, DeviceLineIsFlagPerfs) {
  EXPECT_EQ(monitor_line(device(31, 57.1, 15, 40536, 0)), "31C 57W 15MiB 40536MiB 0%");
  EXPECT_EQ(monitor_line(device(30, kNan, 74, 40536, 0.03)), "30C N/A 74MiB 40536MiB 3%");
}

class MonitorLogsTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "CST-8", 1);
    ::tzset();
  }
  void TearDown() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  TemporaryFolder folder_;
};

TEST_F(MonitorLogsTest, LinesAreStampedInLocalTimeAtMostOncePerSecond) {
  MonitorLogs logs(folder_.path(), "nvidia_monitor.log", [](const LogFile&, int) { FAIL(); });
  // 2023-03-27 03:20:05 UTC
  const std::int64_t wall = 1679887205 * kSecond;
  for (int i = 0; i < 12; ++i)
    logs.system({0, wall + i * kSecond / 10}, 0.03125 + i, 0.5, i == 0 ? kNan : 240);
  EXPECT_THAT(lines_of(folder_.path() / "cpu_monitor.log"),
              ElementsAre("2023-03-27-11:20:05\t0.0312", "2023-03-27-11:20:06\t10.0312"));
  EXPECT_THAT(lines_of(folder_.path() / "mem_monitor.log"),
              ElementsAre("2023-03-27-11:20:05\t0.5000", "2023-03-27-11:20:06\t0.5000"));
  EXPECT_THAT(lines_of(folder_.path() / "pwr_monitor.log"),
              ElementsAre("2023-03-27-11:20:05\t240", "2023-03-27-11:20:06\t240"));
}

TEST_F(MonitorLogsTest, AWallClockThatStepsBackDoesNotSilenceTheLogs) {
  MonitorLogs logs(folder_.path(), "", [](const LogFile&, int) { FAIL(); });
  const std::int64_t wall = 1679887205 * kSecond;
  logs.system({0, wall}, 0.1, 0.5, kNan);
  logs.system({kSecond, wall - 3600 * kSecond}, 0.2, 0.5, kNan);
  EXPECT_THAT(lines_of(folder_.path() / "cpu_monitor.log"),
              ElementsAre("2023-03-27-11:20:05\t0.1000", "2023-03-27-10:20:05\t0.2000"));
}

TEST_F(MonitorLogsTest, DevicesComeInBlocks) {
  MonitorLogs logs(folder_.path(), "nvidia_monitor.log", [](const LogFile&, int) { FAIL(); });
  const std::int64_t wall = 1679887205 * kSecond;
  const auto a = device(31, 57, 15, 40536, 0);
  const auto b = device(30, 54, 74, 40536, 0.03);
  logs.devices({0, wall}, {a, std::nullopt, b});
  logs.devices({0, wall + kSecond / 2}, {a, std::nullopt, b});
  logs.devices({0, wall + kSecond}, {a});
  EXPECT_THAT(
      lines_of(folder_.path() / "nvidia_monitor.log"),
      ElementsAre("2023-03-27-11:20:05", "31C 57W 15MiB 40536MiB 0%", "30C 54W 74MiB 40536MiB 3%",
                  "", "2023-03-27-11:20:06", "31C 57W 15MiB 40536MiB 0%", ""));
}

TEST(LogFile, StartsWithItsHeaderOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(LogFile(folder.path() / "x", "head\n").append("a\n"), 0);
  ASSERT_EQ(LogFile(folder.path() / "x", "head\n").append("b\n"), 0);
  EXPECT_THAT(lines_of(folder.path() / "x"), ElementsAre("head", "a", "b"));
}

TEST(LogFile, ALineTornByAnEarlierProcessDoesNotSpoilTheNext) {
  const TemporaryFolder folder;
  folder.write("x", "head\n1,2,3");
  ASSERT_EQ(LogFile(folder.path() / "x", "head\n").append("b\n"), 0);
  EXPECT_THAT(lines_of(folder.path() / "x"), ElementsAre("head", "1,2,3", "b"));
}

TEST(LogFile, AFailedAppendLeavesWholeLinesAndLaterOnesWork) {
  const TemporaryFolder folder;
  LogFile file(folder.path() / "x", "head\n");
  ASSERT_EQ(file.append("aaaa\n"), 0);
  // A size limit stands in for the full disk: the first bytes fit, the others do not.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{12, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(file.append("bbbbbbbbbb\n"), EFBIG);
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(file.append("cccc\n"), 0);
  EXPECT_THAT(lines_of(folder.path() / "x"), ElementsAre("head", "aaaa", "cccc"));
}

// Whatever failed, and whatever was there before: the record is what the file holds.
TEST(LogFile, KnowsTheHashOfWhatItHolds) {
  const TemporaryFolder folder;
  const auto path = folder.write("x", "an earlier process\ntor");
  LogFile file(path, "head\n", LogFile::Hashed::yes);
  EXPECT_EQ(file.record(), evidence::measure_file(path, "x"));
  ASSERT_EQ(file.append("aaaa\n"), 0);
  EXPECT_EQ(file.record(), evidence::measure_file(path, "x"));
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{30, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(file.append("bbbbbbbbbb\n"), EFBIG);
  EXPECT_EQ(file.record(), evidence::measure_file(path, "x"));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(file.append("cccc\n"), 0);
  file.close();
  EXPECT_EQ(file.record(), evidence::measure_file(path, "x"));
}

TEST(LogFile, AFolderThatIsNotThereIsAnEnvironmentError) {
  try {
    LogFile file("/nonexistent/x");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::environment);
    EXPECT_EQ(e.where(), "/nonexistent/x");
  }
}

}  // namespace
}  // namespace assay::telemetry
