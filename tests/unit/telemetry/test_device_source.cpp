#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/host.h"
#include "telemetry/device_source.h"
#include "telemetry/resolve.h"

namespace assay::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json example() {
  return Json::parse(R"({"vendor": "nvidia", "mode": "loop", "format": "csv",
    "command": ["nvidia-smi", "-lms", "{interval_ms}"],
    "fields": ["index", "power_w:W", "", "mem_used_bytes:MiB"],
    "monitor_log": "nvidia_monitor.log"})");
}

// The message of the Error that reading `json` throws.
std::string complaint(const Json& json) {
  try {
    static_cast<void>(device_source_from_json(json, "nvidia.yaml:3"));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::config);
    EXPECT_EQ(e.where(), "nvidia.yaml:3");
    return e.what();
  }
  return "";
}

TEST(DeviceSource, SurvivesTheRoundTripThroughJson) {
  const DeviceSource source = device_source_from_json(example(), "x");
  EXPECT_EQ(source.mode, DeviceSource::Mode::loop);
  EXPECT_EQ(source.format, DeviceSource::Format::csv);
  const DeviceSource again = device_source_from_json(to_json(source), "x");
  EXPECT_EQ(to_json(again), to_json(source));
  EXPECT_THAT(again.fields, ElementsAre("index", "power_w:W", "", "mem_used_bytes:MiB"));
}

TEST(DeviceSource, DefaultIsNoDevices) {
  EXPECT_EQ(device_source_from_json(Json::object(), "x").mode, DeviceSource::Mode::none);
}

TEST(DeviceSource, ComplainsAboutWhatCannotWork) {
  const auto with = [](const char* key, Json value) {
    Json json = example();
    json[key] = std::move(value);
    return complaint(json);
  };
  EXPECT_THAT(with("comand", "x"), HasSubstr("did you mean 'command'"));
  EXPECT_THAT(with("mode", "lop"), HasSubstr("did you mean 'loop'"));
  EXPECT_THAT(with("mode", 3), HasSubstr("must be a text"));
  EXPECT_THAT(with("command", "nvidia-smi"), HasSubstr("must be a list"));
  EXPECT_THAT(with("command", Json::array()), HasSubstr("needs a command"));
  EXPECT_THAT(with("command", Json::array({"x", "{intervall}"})), HasSubstr("intervall"));
  EXPECT_THAT(with("fields", Json::array({"powr_w"})), HasSubstr("did you mean 'power_w'"));
  EXPECT_THAT(with("fields", Json::array({"power_w:MiB"})), HasSubstr("not a unit of power_w"));
  EXPECT_THAT(with("fields", Json::array()), HasSubstr("no fields"));
  EXPECT_THAT(with("monitor_log", "../x.log"), HasSubstr("plain file name"));
  Json regex = example();
  regex["format"] = "regex";
  regex["pattern"] = "(";
  EXPECT_THAT(complaint(regex), HasSubstr("cannot be used"));
  regex["pattern"] = "(\\d+) ([0-9.]+)";
  EXPECT_THAT(complaint(regex), HasSubstr("2 groups for 4 fields"));
  EXPECT_THAT(complaint(Json::array()), HasSubstr("must be an object"));
}

TEST(DeviceSource, CommandGetsTheInterval) {
  EXPECT_THAT(expand_command({"t", "{interval_ms}", "-l{interval_s}", "{{x}}"},
                             std::chrono::milliseconds(1500), "x"),
              ElementsAre("t", "1500", "-l2", "{x}"));
  EXPECT_THAT(expand_command({"t", "{interval_s}"}, std::chrono::milliseconds(100), "x"),
              ElementsAre("t", "1"));
}

TEST(DeviceSource, ProgramsDeliveredWithThisOneAreFoundBesideIt) {
  const std::string nvml = (program_folder() / "assay-nvml").string();
  EXPECT_EQ(resolve_program("assay-nvml"), nvml);
  EXPECT_EQ(
      resolve_program(expand_command({"{bindir}/assay-nvml"}, std::chrono::seconds(1), "x")[0]),
      nvml);
  EXPECT_TRUE(resolve_program((program_folder() / "sh").string()).value_or("").ends_with("/sh"));
  EXPECT_EQ(resolve_program("/on/the/controller/assay-nvml"), nvml);
  EXPECT_FALSE(resolve_program("/nonexistent/sh"));
}

}  // namespace
}  // namespace assay::telemetry
