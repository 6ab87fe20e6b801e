// assay-nvml with a fake libnvidia-ml.so, alone and under a Recorder.

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/subprocess.h"
#include "probe/device_state.h"
#include "support.h"
#include "telemetry/device_parser.h"
#include "telemetry/recorder.h"

namespace assay::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const std::string kProgram = ASSAY_BIN_DIR "/assay-nvml";
const std::string kLibrary = ASSAY_BIN_DIR "/libfake_nvml.so";

class NvmlTest : public testing::Test {
 protected:
  CommandResult run(const std::string& script, std::vector<std::string> options,
                    const std::string& library = kLibrary) {
    folder_.write("script", script);
    options.insert(options.begin(), kProgram);
    CommandOptions how;
    how.env = {{"ASSAY_NVML_LIBRARY", library},
               {"FAKE_NVML_SCRIPT", (folder_.path() / "script").string()}};
    return run_command(options, how);
  }

  // The readings of one run with --once.
  std::vector<DeviceReading> once(const std::string& script) {
    const CommandResult result = run(script, {"--once"});
    EXPECT_TRUE(result.status.ok()) << result.err;
    DeviceSource source;
    source.format = DeviceSource::Format::assay;
    const auto output = DeviceParser(source, "test").parse_output(result.out);
    EXPECT_EQ(output.nonsense, 0U) << result.out;
    return output.readings;
  }

  probe::DeviceStates state(const std::string& script, const std::string& library = kLibrary) {
    const CommandResult result = run(script, {"--state"}, library);
    EXPECT_TRUE(result.status.ok()) << result.err;
    probe::DeviceStates states = probe::device_states_from_text(result.out);
    EXPECT_EQ(states.problem, "") << result.out;
    return states;
  }

  TemporaryFolder folder_;
};

TEST_F(NvmlTest, ConvertsNvmlsUnits) {
  const auto readings = once(
      "devices 2\n1 util 35\n1 used 1048576\n1 total 4194304\n1 power 57120\n1 energy 1500\n"
      "1 temp 64\n1 sm 1395\n1 mem 1593\n1 reasons 0x0\n1 ecc 2\n1 limit 700000\n"
      "1 max_sm 1980\n");
  ASSERT_EQ(readings.size(), 2U);
  const DeviceReading& r = readings[1];
  EXPECT_EQ(r.index, 1);
  EXPECT_DOUBLE_EQ(value(r, Column::util), 0.35);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_used_bytes), 1048576);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_total_bytes), 4194304);
  EXPECT_DOUBLE_EQ(value(r, Column::power_w), 57.12);
  EXPECT_DOUBLE_EQ(value(r, Column::energy_j), 1.5);
  EXPECT_DOUBLE_EQ(value(r, Column::temp_c), 64);
  EXPECT_DOUBLE_EQ(value(r, Column::clock_mhz), 1395);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_clock_mhz), 1593);
  EXPECT_DOUBLE_EQ(value(r, Column::throttle), 0);
  EXPECT_DOUBLE_EQ(value(r, Column::ecc_errors), 2);
  EXPECT_DOUBLE_EQ(value(r, Column::power_limit_w), 700);
  EXPECT_DOUBLE_EQ(value(r, Column::power_capped), 0);
  EXPECT_DOUBLE_EQ(value(r, Column::clock_max_mhz), 1980);
  EXPECT_LE(std::abs(static_cast<double>(mono_now_ns() - r.mono_ns)), 10e9);
}

TEST_F(NvmlTest, TellsWhatComputesOnADevice) {
  const auto readings = once("devices 2\n1 pids 12 34\n");
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].pids, std::vector<int>());
  EXPECT_EQ(readings[1].pids, (std::vector{12, 34}));
}

TEST_F(NvmlTest, WhatIsNotSupportedIsUnknown) {
  const auto readings = once(
      "* energy error 3\n* ecc error 3\n* memory_v2 error 3\n* used 5\n* limit error 3\n"
      "* max_sm error 13\n");
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_TRUE(std::isnan(value(readings[0], Column::energy_j)));
  EXPECT_TRUE(std::isnan(value(readings[0], Column::ecc_errors)));
  EXPECT_TRUE(std::isnan(value(readings[0], Column::power_limit_w)));
  EXPECT_TRUE(std::isnan(value(readings[0], Column::clock_max_mhz)));
  EXPECT_DOUBLE_EQ(value(readings[0], Column::power_w), 57);
  EXPECT_DOUBLE_EQ(value(readings[0], Column::mem_used_bytes), 5);
}

TEST_F(NvmlTest, ThrottleIsHeatAndHardwareNotThePowerCap) {
  for (const auto& [mask, expected] : {std::pair{"0x1", 0.0},
                                       {"0x2", 0.0},
                                       {"0x4", 0.0},
                                       {"0x8", 1.0},
                                       {"0x20", 1.0},
                                       {"0x40", 1.0},
                                       {"0x80", 1.0},
                                       {"0x100", 0.0},
                                       {"0x24", 1.0}})
    EXPECT_DOUBLE_EQ(value(once(std::string("* reasons ") + mask + "\n").at(0), Column::throttle),
                     expected)
        << mask;
  EXPECT_THAT(run("* reasons 0x24\n", {"--once"}).out, HasSubstr("reasons=0x24"));
}

TEST_F(NvmlTest, ThePowerCapIsAFlagOfItsOwn) {
  for (const auto& [mask, expected] : {std::pair{"0x0", 0.0}, {"0x4", 1.0}, {"0x24", 1.0}})
    EXPECT_DOUBLE_EQ(
        value(once(std::string("* reasons ") + mask + "\n").at(0), Column::power_capped), expected)
        << mask;
  EXPECT_TRUE(std::isnan(value(once("* reasons error 3\n").at(0), Column::power_capped)));
}

TEST_F(NvmlTest, ALostDeviceIsNamedAndTheOthersGoOn) {
  const auto readings = once("devices 3\n1 handle error 15\n");
  ASSERT_EQ(readings.size(), 3U);
  EXPECT_EQ(readings[1].error, "nvml_15");
  EXPECT_EQ(readings[2].error, "");
  EXPECT_DOUBLE_EQ(value(readings[2], Column::power_w), 57);
}

TEST_F(NvmlTest, ListsTheDevicesAsJson) {
  const CommandResult result = run("devices 2\ndriver 550.1\n* total 4096\n", {"--list"});
  const Json json = parse_json(result.out, "list");
  EXPECT_EQ(json["driver"], "550.1");
  ASSERT_EQ(json["devices"].size(), 2U);
  EXPECT_EQ(json["devices"][1]["index"], 1);
  EXPECT_EQ(json["devices"][1]["memory_bytes"], 4096);
  EXPECT_THAT(json["devices"][1]["uuid"].get<std::string>(), HasSubstr("GPU-"));
}

TEST_F(NvmlTest, TellsTheStateOfItsDevices) {
  const probe::DeviceStates states = state(
      "devices 2\ndriver 550.1\n1 persistence 0\n1 ecc_mode 0\n1 ecc_mode_pending 1\n1 ecc 1\n"
      "1 ecc_ever 2\n1 corrected 3\n1 corrected_ever 4\n1 rows_corrected 5\n"
      "1 rows_uncorrected 6\n1 rows_pending 1\n1 rows_failed 1\n1 pcie_generation 1\n"
      "1 pcie_generation_max 5\n1 pcie_width 8\n1 pcie_width_max 16\n1 nvlinks 18\n"
      "1 nvlinks_active 17\n1 max_sm 1980\n1 app_clock 1200\n1 default_clock 1500\n1 mig 1\n"
      "1 mig_pending 0\n1 limit 500000\n1 limit_default 700000\n1 temp 88\n1 slowdown 90\n"
      "1 pstate 8\n1 compute_mode 2\n1 pids 12 34\nprocess 12 /usr/bin/python3\n");
  EXPECT_EQ(states.driver, "550.1");
  EXPECT_EQ(states.library, "12.550.1");
  EXPECT_EQ(states.runtime, "CUDA 12.4");
  ASSERT_EQ(states.devices.size(), 2U);
  const probe::DeviceState& d = states.devices[1];
  EXPECT_EQ(d.index, 1);
  EXPECT_EQ(d.name, "Fake A100-SXM4-40GB");
  EXPECT_EQ(d.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(d.firmware, "96.00.A5.00.01");
  EXPECT_EQ(d.persistence, false);
  EXPECT_EQ(d.prohibited, true);
  EXPECT_EQ(d.ecc, false);
  EXPECT_EQ(d.ecc_pending, true);
  EXPECT_EQ(d.ecc_uncorrected, 1U);
  EXPECT_EQ(d.uncorrected_ever, 2U);
  EXPECT_EQ(d.ecc_corrected, 3U);
  EXPECT_EQ(d.corrected_ever, 4U);
  EXPECT_EQ(d.rows_corrected, 5U);
  EXPECT_EQ(d.rows_uncorrected, 6U);
  EXPECT_EQ(d.rows_pending, true);
  EXPECT_EQ(d.rows_failed, true);
  EXPECT_EQ(d.pcie_generation, 1);
  EXPECT_EQ(d.pcie_generation_max, 5);
  EXPECT_EQ(d.pcie_width, 8);
  EXPECT_EQ(d.pcie_width_max, 16);
  EXPECT_EQ(d.links, 18);
  EXPECT_EQ(d.links_active, 17);
  EXPECT_EQ(d.clock_max_mhz, 1980);
  EXPECT_EQ(d.clock_set_mhz, 1200);
  EXPECT_EQ(d.clock_default_mhz, 1500);
  EXPECT_EQ(d.partitioned, true);
  EXPECT_EQ(d.partitioned_pending, false);
  EXPECT_EQ(d.power_limit_w, 500);
  EXPECT_EQ(d.power_limit_default_w, 700);
  EXPECT_EQ(d.temp_c, 88);
  EXPECT_EQ(d.slowdown_c, 90);
  EXPECT_EQ(d.full_speed, false);
  ASSERT_EQ(d.processes->size(), 2U);
  EXPECT_EQ(d.processes->at(0).name, "/usr/bin/python3");
  EXPECT_EQ(d.processes->at(1).pid, 34);
  EXPECT_TRUE(d.unknown.empty());
}

TEST_F(NvmlTest, ADeviceThatIsFitPassesEveryCheck) {
  for (const probe::Check& check : probe::check_device_states(state("devices 2\n* nvlinks 12\n")))
    EXPECT_EQ(check.level, probe::Level::pass) << check.id << ": " << check.seen;
}

TEST_F(NvmlTest, WhatADeviceDoesNotTellIsNamedWithTheReason) {
  const std::map<std::string, std::string> names{{"persistence", "persistence"},
                                                 {"compute_mode", "prohibited"},
                                                 {"ecc_mode", "ecc"},
                                                 {"ecc", "ecc_uncorrected"},
                                                 {"ecc_ever", "uncorrected_ever"},
                                                 {"corrected", "ecc_corrected"},
                                                 {"corrected_ever", "corrected_ever"},
                                                 {"rows_corrected", "rows_failed"},
                                                 {"pcie_generation", "pcie_generation"},
                                                 {"pcie_generation_max", "pcie_generation_max"},
                                                 {"pcie_width", "pcie_width"},
                                                 {"pcie_width_max", "pcie_width_max"},
                                                 {"nvlinks", "links"},
                                                 {"max_sm", "clock_max_mhz"},
                                                 {"app_clock", "clock_set_mhz"},
                                                 {"default_clock", "clock_default_mhz"},
                                                 {"mig", "partitioned"},
                                                 {"limit", "power_limit_w"},
                                                 {"limit_default", "power_limit_default_w"},
                                                 {"temp", "temp_c"},
                                                 {"slowdown", "slowdown_c"},
                                                 {"pstate", "full_speed"}};
  const std::vector<std::pair<int, std::string>> codes{{3, "not supported"},
                                                       {4, "no permission"},
                                                       {13, "the library is too old to tell"},
                                                       {26, "not supported"},
                                                       {999, "Some Error (999)"}};
  for (const auto& [code, reason] : codes) {
    std::string script;
    for (const auto& [name, key] : names)
      script += "* " + name + " error " + std::to_string(code) + "\n";
    const probe::DeviceState device = state(script).devices.at(0);
    for (const auto& [name, key] : names) {
      ASSERT_TRUE(device.unknown.contains(key)) << key << " " << code;
      EXPECT_EQ(device.unknown.at(key), reason) << key;
    }
    EXPECT_EQ(device.error, "");
  }
}

TEST_F(NvmlTest, AnOldLibraryPassesNothingThatItCannotTell) {
  const probe::DeviceStates states = state("", ASSAY_BIN_DIR "/libfake_nvml_old.so");
  EXPECT_EQ(states.library, "");
  for (const probe::Check& check : probe::check_device_states(states)) {
    if (check.id == "device-state" || check.id == "driver" || check.id == "device-users" ||
        check.id == "device-heat")
      continue;
    EXPECT_EQ(check.level, probe::Level::warn) << check.id << ": " << check.seen;
    EXPECT_THAT(check.seen, HasSubstr("too old")) << check.id;
  }
}

TEST_F(NvmlTest, ADeviceThatIsLostHasNoState) {
  const probe::DeviceStates states = state("devices 3\n1 handle error 15\n2 temp error 16\n");
  ASSERT_EQ(states.devices.size(), 3U);
  EXPECT_EQ(states.devices[0].error, "");
  EXPECT_THAT(states.devices[1].error, HasSubstr("15"));
  EXPECT_THAT(states.devices[2].error, HasSubstr("16"));  // a reset is required
  EXPECT_EQ(run("init error 9\n", {"--state"}).status.code, 3);
}

TEST_F(NvmlTest, SamplesOnlyTheChosenDevices) {
  const std::string script = "devices 4\n";
  const std::string out =
      run(script, {"--once", "--devices", "3,GPU-00000000-0000-0000-0000-000000000001"}).out;
  EXPECT_THAT(out, HasSubstr("dev=3 "));
  EXPECT_THAT(out, HasSubstr("dev=1 "));
  EXPECT_THAT(out, Not(HasSubstr("dev=0 ")));
  const CommandResult wrong = run(script, {"--once", "--devices", "4"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("no device '4'"));
}

TEST_F(NvmlTest, ExitsWith3WithoutLibraryOrDriver) {
  EXPECT_EQ(run("init error 9\n", {"--once"}).status.code, 3);
  CommandOptions how;
  how.env = {{"ASSAY_NVML_LIBRARY", "/nonexistent.so"}};
  const CommandResult missing = run_command({kProgram, "--once"}, how);
  EXPECT_EQ(missing.status.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("cannot load /nonexistent.so"));
  EXPECT_EQ(run("", {"--interval-ms", "0"}).status.code, 2);
}

TEST_F(NvmlTest, EndsWhenNobodyReadsAnyMore) {
  folder_.write("script", "devices 1\n");
  CommandOptions how;
  how.timeout = 5s;
  how.env = {{"ASSAY_NVML_LIBRARY", kLibrary},
             {"FAKE_NVML_SCRIPT", (folder_.path() / "script").string()}};
  // The shell waits for the whole pipeline; a minute's interval shows that it is not the next
  // write that notices.
  const CommandResult result =
      run_command({"/bin/sh", "-c", kProgram + " --interval-ms 60000 | head -n 1"}, how);
  EXPECT_FALSE(result.timed_out);
  EXPECT_THAT(result.out, HasSubstr("dev=0"));
}

class RecorderNvml : public testing::Test {
 protected:
  RecorderNvml() {
    ::setenv("ASSAY_NVML_LIBRARY", kLibrary.c_str(), 1);
    ::setenv("FAKE_NVML_SCRIPT", (folder_.path() / "script").c_str(), 1);
    config_.directory = folder_.path() / "out";
    config_.interval = 20ms;
    config_.root = root_.path();
    config_.stall_limit = 150ms;
    DeviceSource nvml;
    nvml.vendor = "nvidia";
    nvml.mode = DeviceSource::Mode::loop;
    nvml.format = DeviceSource::Format::assay;
    nvml.command = {"assay-nvml", "--interval-ms", "{interval_ms}"};
    nvml.monitor_log = "nvidia_monitor.log";
    DeviceSource smi = nvml;
    smi.format = DeviceSource::Format::csv;
    smi.command = {"/bin/sh", "-c", "while :; do echo '0, 7'; sleep 0.02; done"};
    smi.fields = {"index", "power_w"};
    config_.sources = {nvml, smi};
  }
  ~RecorderNvml() override {
    ::unsetenv("ASSAY_NVML_LIBRARY");
    ::unsetenv("FAKE_NVML_SCRIPT");
  }

  Recorder& start(const std::string& script) {
    folder_.write("script", script);
    recorder_ = std::make_unique<Recorder>(loop_, config_,
                                           [this](const Gap& gap) { gaps_.push_back(gap); });
    recorder_->start();
    return *recorder_;
  }
  bool falls_back(const Recorder& recorder) {
    return run_until(loop_, [&] { return recorder.latest().power_w == 7; });
  }
  std::string reasons() const {
    std::string out;
    for (const Gap& gap : gaps_) out += gap.source + ": " + gap.reason + "\n";
    return out;
  }

  FakeRoot root_;
  TemporaryFolder folder_;
  asio::io_context loop_;
  RecorderConfig config_;
  std::vector<Gap> gaps_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderNvml, RecordsWhatTheLibrarySays) {
  Recorder& recorder = start("devices 2\n* util 40\n0 energy 1000 2000 3000\n");
  const auto path = config_.directory / "telemetry.csv";
  ASSERT_TRUE(run_until(loop_, [&] { return rows_of(read_table(path), "dev0").size() >= 4; }));
  EXPECT_EQ(recorder.latest().devices, 2);
  EXPECT_DOUBLE_EQ(*recorder.latest().device_util, 0.4);
  EXPECT_DOUBLE_EQ(*recorder.latest().power_w, 114);
  EXPECT_TRUE(stop(loop_, recorder));
  const auto rows = rows_of(read_table(path), "dev0");
  EXPECT_DOUBLE_EQ(rows[0][Column::energy_j], 1);
  EXPECT_DOUBLE_EQ(rows[1][Column::energy_j], 2);
  EXPECT_DOUBLE_EQ(rows[3][Column::energy_j], 3);
  EXPECT_THAT(lines_of(config_.directory / "nvidia_monitor.log"),
              testing::Contains("31C 57W 15MiB 40536MiB 40%"));
}

TEST_F(RecorderNvml, ADriverThatHangsDoesNotHangTheRecorder) {
  Recorder& recorder = start("devices 2\nhang 45\n");
  const std::int64_t begin = mono_now_ns();
  ASSERT_TRUE(falls_back(recorder)) << reasons();
  const double seconds = static_cast<double>(mono_now_ns() - begin) / 1e9;
  EXPECT_THAT(reasons(), HasSubstr("nvidia: assay-nvml given up: silent for"));
  double missed = 0;
  for (const Gap& gap : gaps_)
    if (gap.source == "node") missed += gap.seconds;
  const auto rows = rows_of(read_table(config_.directory / "telemetry.csv"), "node");
  EXPECT_GE(static_cast<double>(rows.size()), (seconds - missed) / 0.02 - 3);
}

TEST_F(RecorderNvml, ADriverThatHangsAtTheStartIsGivenUp) {
  Recorder& recorder = start("hang init\n");
  ASSERT_TRUE(falls_back(recorder)) << reasons();
  EXPECT_THAT(reasons(), HasSubstr("silent for"));
}

TEST_F(RecorderNvml, ASamplerThatDiesAgainAndAgainIsReplaced) {
  Recorder& recorder = start("exit 25\n");
  ASSERT_TRUE(falls_back(recorder)) << reasons();
  EXPECT_THAT(reasons(), HasSubstr("given up: ended with exit 1; going on with sh"));
}

TEST_F(RecorderNvml, ALibraryThatPrintsNonsenseIsReplaced) {
  Recorder& recorder = start("garbage 1\n* util error 15\n* power error 15\n");
  ASSERT_TRUE(run_until(loop_, [&] {
    return reasons().find("not understood") != std::string::npos || recorder.latest().devices > 0;
  }));
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_THAT(reasons(), HasSubstr("not understood"));
}

TEST_F(RecorderNvml, WithoutADriverTheNextSourceIsUsedWithoutRetries) {
  Recorder& recorder = start("init error 9\n");
  ASSERT_TRUE(falls_back(recorder)) << reasons();
  EXPECT_EQ(std::count_if(gaps_.begin(), gaps_.end(),
                          [](const Gap& gap) { return gap.source == "nvidia"; }),
            1)
      << reasons();
  EXPECT_THAT(reasons(), HasSubstr("exit 3"));
  EXPECT_THAT(reasons(), HasSubstr("Driver Not Loaded"));
}

TEST_F(RecorderNvml, ALostDeviceIsReportedOnce) {
  Recorder& recorder = start("devices 2\n1 handle error 15\n");
  const auto path = config_.directory / "telemetry.csv";
  ASSERT_TRUE(run_until(loop_, [&] { return rows_of(read_table(path), "dev0").size() >= 4; }));
  EXPECT_TRUE(stop(loop_, recorder));
  EXPECT_EQ(
      std::count_if(gaps_.begin(), gaps_.end(),
                    [](const Gap& gap) { return gap.reason == "dev1 cannot be read: nvml_15"; }),
      1)
      << reasons();
  EXPECT_TRUE(rows_of(read_table(path), "dev1").empty());
}

}  // namespace
}  // namespace assay::telemetry
