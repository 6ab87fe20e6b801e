#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support.h"
#include "telemetry/recorder.h"

namespace assay::telemetry {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// A sampler written as a shell script; the shell is what every machine has.
DeviceSource script(DeviceSource::Mode mode, const std::string& text,
                    std::vector<std::string> fields = {"index", "util:%", "power_w"}) {
  DeviceSource source;
  source.vendor = "acme";
  source.mode = mode;
  source.command = {"/bin/sh", "-c", text};
  source.fields = std::move(fields);
  source.monitor_log = "acme_monitor.log";
  return source;
}

DeviceSource loop_script(const std::string& text) {
  return script(DeviceSource::Mode::loop, text);
}

constexpr const char* kGood = "while :; do echo '0, 50, 100'; echo '1, 30, 80'; sleep 0.02; done";
constexpr const char* kOther = "while :; do echo '0, 10, 7'; sleep 0.02; done";

class RecorderDevices : public testing::Test {
 protected:
  RecorderDevices() {
    config_.directory = out_.path();
    config_.interval = 20ms;
    config_.root = root_.path();
    config_.stall_limit = 150ms;
  }

  void TearDown() override {
    if (recorder_) recorder_.reset();
  }

  void start(std::vector<DeviceSource> sources) {
    config_.sources = std::move(sources);
    recorder_ = std::make_unique<Recorder>(loop_, config_,
                                           [this](const Gap& gap) { gaps_.push_back(gap); });
    recorder_->start();
  }
  Table table() const { return read_table(config_.directory / "telemetry.csv"); }
  bool wait_for(const std::function<bool()>& done) { return run_until(loop_, done); }
  bool has_gap(const std::string& words) const {
    return std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
      return gap.source == "acme" && gap.reason.find(words) != std::string::npos;
    });
  }
  // Without those of the node: a busy machine may miss samples.
  std::vector<Gap> device_gaps() const {
    std::vector<Gap> out;
    std::copy_if(gaps_.begin(), gaps_.end(), std::back_inserter(out),
                 [](const Gap& gap) { return gap.source == "acme"; });
    return out;
  }
  bool power_is(double watts) const { return recorder_->latest().power_w == watts; }

  FakeRoot root_;
  TemporaryFolder out_;
  asio::io_context loop_;
  RecorderConfig config_;
  std::vector<Gap> gaps_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderDevices, RowsAndSnapshotComeFromTheSampler) {
  start({loop_script(kGood)});
  ASSERT_TRUE(wait_for([&] { return recorder_->latest().devices == 2; }));
  const Snapshot snapshot = recorder_->latest();
  EXPECT_DOUBLE_EQ(*snapshot.device_util, 0.4);
  EXPECT_DOUBLE_EQ(*snapshot.power_w, 180);
  EXPECT_EQ(recorder_->sampler_pids().size(), 1U);
  EXPECT_TRUE(stop(loop_, *recorder_));
  const auto rows = rows_of(table(), "dev1");
  ASSERT_FALSE(rows.empty());
  EXPECT_DOUBLE_EQ(rows[0][Column::util], 0.3);
  EXPECT_TRUE(std::isnan(rows[0][Column::temp_c]));
  EXPECT_THAT(lines_of(out_.path() / "acme_monitor.log"),
              testing::Contains("N/A 100W N/A N/A 50%"));
  EXPECT_TRUE(recorder_->sampler_pids().empty());
}

TEST_F(RecorderDevices, AOnceSourceIsRunAgainForEverySample) {
  start({script(DeviceSource::Mode::once, "echo '50, 100'; echo '30, 80'", {"util:%", "power_w"})});
  ASSERT_TRUE(wait_for([&] { return rows_of(table(), "dev1").size() >= 3; }));
  EXPECT_TRUE(stop(loop_, *recorder_));
  EXPECT_FALSE(has_gap(""));
}

TEST_F(RecorderDevices, ASamplerThatDiesIsRestarted) {
  const std::string mark = (out_.path() / "mark").string();
  start({loop_script("if [ ! -e " + mark + " ]; then touch " + mark +
                     "; echo oops >&2; exit 5; fi; " + kGood)});
  ASSERT_TRUE(wait_for([&] { return recorder_->latest().devices == 2; }));
  ASSERT_EQ(device_gaps().size(), 1U);
  EXPECT_THAT(device_gaps()[0].reason, HasSubstr("exit 5: oops; restarted"));
  EXPECT_GE(device_gaps()[0].seconds, 0.1);  // the first back-off
}

TEST_F(RecorderDevices, AfterThreeDeathsTheNextSourceIsUsed) {
  start({loop_script("echo x >> " + (out_.path() / "starts").string() + "; exit 1"),
         loop_script(kOther)});
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
  EXPECT_EQ(lines_of(out_.path() / "starts").size(), 3U);
  EXPECT_TRUE(has_gap("given up: ended with exit 1; going on with sh"));
}

TEST_F(RecorderDevices, ASilentSamplerIsKilledAndTheRecorderKeepsItsRate) {
  start({loop_script("echo '0, 50, 100'; exec sleep 1000"), loop_script(kOther)});
  const std::int64_t begin = mono_now_ns();
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
  EXPECT_TRUE(has_gap("silent for"));
  const double seconds = static_cast<double>(mono_now_ns() - begin) / 1e9;
  double missed = 0;
  for (const Gap& gap : gaps_)
    if (gap.source == "node") missed += gap.seconds;
  EXPECT_GE(static_cast<double>(rows_of(table(), "node").size()), (seconds - missed) / 0.02 - 3);
}

TEST_F(RecorderDevices, NonsenseIsCountedReportedAndReplaced) {
  start({loop_script("while :; do echo 'panic: \\033[31m{{}}'; done"), loop_script(kOther)});
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
  EXPECT_TRUE(has_gap("lines in a row not understood"));
  EXPECT_TRUE(stop(loop_, *recorder_));
  EXPECT_TRUE(has_gap("lines not understood, the first: panic"));
}

TEST_F(RecorderDevices, ALineWithoutEndAndAFloodAreBounded) {
  start({loop_script("exec tr '\\0' x < /dev/zero"), loop_script("yes '0, 50, 100'"),
         loop_script(kOther)});
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
  EXPECT_TRUE(has_gap("floods its output"));
  EXPECT_TRUE(stop(loop_, *recorder_));
  EXPECT_LT(rows_of(table(), "dev0").size(), 1000U);
}

TEST_F(RecorderDevices, AMissingProgramIsPassedOverAtOnce) {
  DeviceSource missing = loop_script("");
  missing.command = {"no-such-smi"};
  start({missing, loop_script(kOther)});
  ASSERT_EQ(gaps_.size(), 1U);
  EXPECT_THAT(gaps_[0].reason, HasSubstr("no-such-smi: not found"));
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
}

TEST_F(RecorderDevices, WithNoSourceLeftTheRestOfTheTimeIsAGap) {
  DeviceSource missing = loop_script("");
  missing.command = {"no-such-smi"};
  start({missing});
  run_for(loop_, 60ms);
  EXPECT_TRUE(stop(loop_, *recorder_));
  ASSERT_EQ(device_gaps().size(), 2U);
  EXPECT_THAT(device_gaps()[0].reason, HasSubstr("no other source"));
  EXPECT_GE(device_gaps()[1].seconds, 0.05);
  EXPECT_FALSE(rows_of(table(), "node").empty());
}

TEST_F(RecorderDevices, AOnceSourceThatSaysNothingIsGivenUp) {
  start({script(DeviceSource::Mode::once, "echo hello world 1 2"),
         script(DeviceSource::Mode::once, "exit 4"), loop_script(kOther)});
  ASSERT_TRUE(wait_for([&] { return power_is(7); }));
  EXPECT_TRUE(has_gap("output not understood: hello world"));
  EXPECT_TRUE(has_gap("ended with exit 4"));
}

TEST_F(RecorderDevices, StopEndsASamplerThatIgnoresSigtermWithinTwoSeconds) {
  start({loop_script(std::string("trap '' TERM; ") + kGood)});
  ASSERT_TRUE(wait_for([&] { return recorder_->latest().devices == 2; }));
  const int pid = recorder_->sampler_pids().at(0);
  const std::int64_t begin = mono_now_ns();
  EXPECT_TRUE(stop(loop_, *recorder_));
  EXPECT_LT(mono_now_ns() - begin, Nanoseconds(2s).count());
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(RecorderDevices, GrandchildrenThatKeepThePipeAreKilledToo) {
  config_.stall_limit = 60ms;
  start({loop_script("sleep 1000 & echo $! > " + (out_.path() / "pid").string() + "; exit 1")});
  ASSERT_TRUE(wait_for([&] { return has_gap("given up"); }));
  const int pid = std::stoi(lines_of(out_.path() / "pid").at(0));
  EXPECT_TRUE(wait_for([&] { return ::kill(pid, 0) != 0; }));
}

TEST_F(RecorderDevices, DestroyingTheRecorderKillsTheSampler) {
  start({loop_script(kGood)});
  ASSERT_TRUE(wait_for([&] { return recorder_->latest().devices == 2; }));
  const int pid = recorder_->sampler_pids().at(0);
  recorder_.reset();
  EXPECT_TRUE(wait_for([&] { return ::kill(pid, 0) != 0; }));
}

TEST_F(RecorderDevices, DevicesWithoutIndexAreNumberedPerSample) {
  // Samples are told apart by the pause between them: longer than a busy machine holds a reader up.
  config_.interval = 500ms;
  config_.stall_limit = 5s;
  DeviceSource source = script(DeviceSource::Mode::loop,
                               "while :; do printf '50\\n30\\n'; sleep 0.5; done", {"util:%"});
  start({source});
  ASSERT_TRUE(wait_for([&] { return rows_of(table(), "dev1").size() >= 3; }));
  EXPECT_EQ(recorder_->latest().devices, 2);
}

}  // namespace
}  // namespace assay::telemetry
