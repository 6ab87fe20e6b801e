#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "support.h"
#include "telemetry/recorder.h"

namespace assay::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    config_.directory = out_.path() / "node0";
    config_.interval = 20ms;
    config_.root = root_.path();
  }

  Recorder make() {
    return Recorder(loop_, config_, [this](const Gap& gap) { gaps_.push_back(gap); });
  }
  Table table() const { return read_table(config_.directory / "telemetry.csv"); }

  FakeRoot root_;
  TemporaryFolder out_;
  asio::io_context loop_;
  RecorderConfig config_;
  std::vector<Gap> gaps_;
};

TEST_F(RecorderTest, FirstSampleIsTakenAtOnceAndALastOneAtStop) {
  config_.interval = 60s;
  Recorder recorder = make();
  recorder.start();
  EXPECT_EQ(rows_of(table(), "node").size(), 1U);
  root_.stat({{150, 950}, {75, 475}, {75, 475}});
  EXPECT_TRUE(stop(loop_, recorder));
  const auto rows = rows_of(table(), "node");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(rows[1][Column::util], 0.5);
  EXPECT_EQ(rows_of(table(), "cpu1").size(), 1U);
  EXPECT_TRUE(gaps_.empty());
}

TEST_F(RecorderTest, TheMemoryOfTheJobIsASourceOfItsOwn) {
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  root_.write("proc/41/statm", "900 500 200 1 0 90 0\n");
  root_.write("proc/42/statm", "900 300 250 1 0 90 0\n");
  root_.write("proc/43/statm", "nonsense\n");
  std::vector<int> job;
  config_.interval = 60s;
  config_.job_processes = [&] { return job; };
  Recorder recorder = make();
  recorder.start();
  EXPECT_TRUE(rows_of(table(), "job").empty()) << "no process yet: not known, and not zero";
  job = {41, 42, 43, 44};  // 44 has ended
  EXPECT_TRUE(stop(loop_, recorder));
  const auto rows = rows_of(table(), "job");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0][Column::mem_used_bytes], (300 + 50 + 250) * page)
      << "what they share counts once";
}

TEST_F(RecorderTest, ShowsTheNewestRowOfEverySourceWhileItRuns) {
  config_.interval = 60s;
  Recorder recorder = make();
  recorder.start();
  std::map<std::string, double> memory;
  const auto look = [&] {
    memory.clear();
    recorder.visit_rows([&](std::string_view source, const auto& values) {
      memory[std::string(source)] = values[Column::mem_total_bytes];
    });
  };
  look();
  EXPECT_EQ(memory.at("node"), rows_of(table(), "node")[0][Column::mem_total_bytes]);
  EXPECT_FALSE(memory.contains("cpu0"));
  EXPECT_TRUE(stop(loop_, recorder));
  look();
  EXPECT_TRUE(memory.empty());
}

TEST_F(RecorderTest, ASlowSampleDoesNotDelayTheNext) {
  config_.clock = [] {
    const std::int64_t until = mono_now_ns() + Nanoseconds(10ms).count();
    while (mono_now_ns() < until) {
    }
    return now();
  };
  Recorder recorder = make();
  recorder.start();
  ASSERT_TRUE(run_until(loop_, [&] { return rows_of(table(), "node").size() >= 20; }));
  const auto rows = rows_of(table(), "node");
  double missed = 0;
  for (const Gap& gap : gaps_) missed += gap.seconds;
  // 19 intervals; with the time of the samples added it would be 0.57 s.
  EXPECT_LT(static_cast<double>(rows[19].mono_ns - rows[0].mono_ns) / 1e9 - missed, 0.38 + 0.08);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GT(rows[i].mono_ns, rows[i - 1].mono_ns);
}

TEST_F(RecorderTest, LateSamplesAreSkippedAndReported) {
  Recorder recorder = make();
  recorder.start();
  // Nothing runs the loop for ten intervals.
  const std::int64_t until = mono_now_ns() + Nanoseconds(210ms).count();
  while (mono_now_ns() < until) {
  }
  ASSERT_TRUE(run_until(loop_, [&] { return !gaps_.empty(); }));
  EXPECT_EQ(gaps_[0].source, "node");
  EXPECT_GE(gaps_[0].seconds, 0.18 - 1e-9);
  const auto rows = rows_of(table(), "node");
  ASSERT_EQ(rows.size(), 2U);  // no burst to catch up
  // What is reported is what is missing: two rows stand for one interval, the gap for the others.
  EXPECT_NEAR(static_cast<double>(rows[1].mono_ns - rows[0].mono_ns) / 1e9, 0.02 + gaps_[0].seconds,
              0.02 + 0.05);
}

TEST_F(RecorderTest, AWallClockThatStepsBackDoesNotTouchTheRates) {
  std::int64_t step = 0;
  config_.interval = 60s;
  config_.clock = [&] {
    Instant at = now();
    at.wall_ns += step;
    return at;
  };
  root_.net("eth0", 0, 0);
  Recorder recorder = make();
  recorder.start();
  run_for(loop_, 20ms);
  root_.net("eth0", 1'000'000, 0);
  step = -3'600'000'000'000;
  EXPECT_TRUE(stop(loop_, recorder));
  const auto rows = rows_of(table(), "node");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_LT(rows[1].wall_ns, rows[0].wall_ns);
  const double seconds = static_cast<double>(rows[1].mono_ns - rows[0].mono_ns) / 1e9;
  EXPECT_NEAR(rows[1][Column::net_rx_bps], 1e6 / seconds, 1);
}

TEST_F(RecorderTest, WritesFlagPerfsLogs) {
  config_.interval = 60s;
  Recorder recorder = make();
  recorder.start();
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_THAT(lines_of(config_.directory / "mem_monitor.log"), Contains(HasSubstr("\t0.4000")));
  EXPECT_TRUE(std::filesystem::exists(config_.directory / "cpu_monitor.log"));
  EXPECT_TRUE(std::filesystem::exists(config_.directory / "pwr_monitor.log"));
}

TEST_F(RecorderTest, RaplPackagesAreThePowerWhereThereIsNoIpmi) {
  const auto energy = [&](int package, const std::string& uj) {
    const std::string folder = "sys/class/powercap/intel-rapl:" + std::to_string(package) + "/";
    root_.write(folder + "name", "package-" + std::to_string(package) + "\n");
    root_.write(folder + "energy_uj", uj + "\n");
  };
  energy(0, "0");
  energy(1, "0");
  config_.interval = 60s;
  Recorder recorder = make();
  recorder.start();
  EXPECT_FALSE(recorder.latest().power_w);
  run_for(loop_, 30ms);
  energy(0, "2000000");
  energy(1, "1000000");
  EXPECT_TRUE(stop(loop_, recorder));
  const Table t = table();
  const auto first = rows_of(t, "rapl0");
  const auto second = rows_of(t, "rapl1");
  ASSERT_EQ(first.size(), 2U);
  EXPECT_DOUBLE_EQ(first[1][Column::energy_j], 2);
  const double seconds = static_cast<double>(first[1].mono_ns - first[0].mono_ns) / 1e9;
  EXPECT_NEAR(first[1][Column::power_w], 2 / seconds, 0.001);
  EXPECT_NEAR(*recorder.latest().power_w, first[1][Column::power_w] + second[1][Column::power_w],
              0.01);
}

TEST_F(RecorderTest, IpmiIsThePowerOfTheNodeWhereItIs) {
  root_.write("dev/ipmi0", "");
  root_.write_program("usr/bin/ipmitool",
                      "#!/bin/sh\necho 'Instantaneous power reading:  226 Watts'\n");
  root_.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root_.write("sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
  Recorder recorder = make();
  recorder.start();
  ASSERT_TRUE(run_until(loop_, [&] { return recorder.latest().power_w == 226; }));
  EXPECT_TRUE(stop(loop_, recorder));
  const auto rows = rows_of(table(), "ipmi");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][Column::power_w], 226);
  EXPECT_THAT(lines_of(config_.directory / "pwr_monitor.log"), Contains(HasSubstr("\t226")));
}

TEST_F(RecorderTest, UnreadableEnergyCountersAreOneNote) {
  root_.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root_.write("sys/class/powercap/intel-rapl:1/name", "package-1\n");
  for (const char* zone : {"intel-rapl:0", "intel-rapl:1"})
    std::filesystem::create_symlink("/nonexistent",
                                    root_.path() / "sys/class/powercap" / zone / "energy_uj");
  Recorder recorder = make();
  recorder.start();
  EXPECT_TRUE(stop(loop_, recorder));
  ASSERT_EQ(gaps_.size(), 1U);
  EXPECT_EQ(gaps_[0].source, "rapl");
  EXPECT_EQ(gaps_[0].seconds, 0);
}

TEST_F(RecorderTest, AFolderThatCannotBeWrittenIsAnErrorAtStart) {
  root_.write("file", "");
  config_.directory = root_.path() / "file" / "node0";
  Recorder recorder = make();
  try {
    recorder.start();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::environment);
  }
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_FALSE(recorder.latest().cpu_util);
}

TEST_F(RecorderTest, ImpossibleIntervalIsAConfigurationError) {
  config_.interval = 0s;
  Recorder recorder = make();
  EXPECT_THROW(recorder.start(), Error);
}

TEST_F(RecorderTest, AFullDiskIsReportedOnceAndOvercome) {
  Recorder recorder = make();
  recorder.start();
  run_for(loop_, 30ms);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_TRUE(run_until(loop_, [&] { return !gaps_.empty(); }));
  run_for(loop_, 100ms);
  ::setrlimit(RLIMIT_FSIZE, &old);
  const auto writing = [](const Gap& gap) { return gap.reason.find("writ") != std::string::npos; };
  EXPECT_EQ(std::count_if(gaps_.begin(), gaps_.end(), writing), 1);
  EXPECT_TRUE(
      run_until(loop_, [&] { return std::count_if(gaps_.begin(), gaps_.end(), writing) == 2; }));
  EXPECT_THAT(gaps_.back().reason, HasSubstr("written again"));
  EXPECT_GE(gaps_.back().seconds, 0.1);
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_EQ(table().malformed_rows, 0U);
}

TEST_F(RecorderTest, StopTwiceAndStopWithoutStartStillSayDone) {
  Recorder idle = make();
  EXPECT_TRUE(stop(loop_, idle));
  Recorder recorder = make();
  recorder.start();
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_TRUE(stop(loop_, recorder));
}

TEST_F(RecorderTest, DestroyingItWhileItRunsLeavesTheLoopHarmless) {
  {
    Recorder recorder = make();
    recorder.start();
    run_for(loop_, 25ms);
  }
  run_for(loop_, 40ms);
  SUCCEED();
}

}  // namespace
}  // namespace assay::telemetry
