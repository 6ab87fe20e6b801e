#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support.h"
#include "telemetry/device_parser.h"

namespace assay::telemetry {
namespace {

using Line = DeviceParser::Line;
using testing::HasSubstr;

DeviceParser csv(std::vector<std::string> fields) {
  DeviceSource source;
  source.format = DeviceSource::Format::csv;
  source.fields = std::move(fields);
  return DeviceParser(source, "test");
}

DeviceParser regex(std::string pattern, std::vector<std::string> fields) {
  DeviceSource source;
  source.format = DeviceSource::Format::regex;
  source.pattern = std::move(pattern);
  source.fields = std::move(fields);
  return DeviceParser(source, "test");
}

DeviceParser assay_lines() {
  DeviceSource source;
  source.format = DeviceSource::Format::assay;
  return DeviceParser(source, "test");
}

TEST(DeviceParser, ConvertsUnitsOfCsvColumns) {
  DeviceReading r;
  ASSERT_EQ(csv({"index", "util:%", "mem_used_bytes:MiB", "power_w:mW", "", "energy_j:mJ"})
                .parse_line("3, 35, 15, 57120, whatever, 1500", r),
            Line::reading);
  EXPECT_EQ(r.index, 3);
  EXPECT_DOUBLE_EQ(value(r, Column::util), 0.35);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_used_bytes), 15.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(value(r, Column::power_w), 57.12);
  EXPECT_DOUBLE_EQ(value(r, Column::energy_j), 1.5);
  EXPECT_TRUE(std::isnan(value(r, Column::temp_c)));
}

TEST(DeviceParser, AUnitPrintedWithTheValueWins) {
  DeviceReading r;
  ASSERT_EQ(csv({"util", "mem_used_bytes:GiB", "power_w", "temp_c"})
                .parse_line("3 %, 2048 MiB, 0.5kW, 31C", r),
            Line::reading);
  EXPECT_DOUBLE_EQ(value(r, Column::util), 0.03);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_used_bytes), 2048.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(value(r, Column::power_w), 500);
  EXPECT_DOUBLE_EQ(value(r, Column::temp_c), 31);
}

TEST(DeviceParser, WhatAToolDoesNotKnowIsUnknownNotZero) {
  const DeviceParser parser = csv({"index", "power_w", "util:%"});
  for (const char* word :
       {"[N/A]", "[Not Supported]", "N/A", "-", "", "Unknown", "[Unknown Error]"}) {
    DeviceReading r;
    ASSERT_EQ(parser.parse_line("0, " + std::string(word) + ", 7", r), Line::reading) << word;
    EXPECT_TRUE(std::isnan(value(r, Column::power_w))) << word;
    EXPECT_DOUBLE_EQ(value(r, Column::util), 0.07);
  }
}

TEST(DeviceParser, NonsenseIsNotAReading) {
  const DeviceParser parser = csv({"index", "power_w", "util"});
  DeviceReading r;
  for (const char* line : {"0, 57", "x, 57, 0.5", "0, abc, 0.5", "0, 57 Furlongs, 0.5", "-1, 57, 0",
                           "0, 57, 35", "0, inf, 0.1", "99999999, 1, 0", "\x01\xff garbage"})
    EXPECT_EQ(parser.parse_line(line, r), Line::nonsense) << line;
  EXPECT_EQ(parser.parse_line("   ", r), Line::nothing);
}

TEST(DeviceParser, ThrottleReadsMasksAndWords) {
  const DeviceParser parser = csv({"throttle", "throttle"});
  const auto throttle = [&](const std::string& line) {
    DeviceReading r;
    EXPECT_EQ(parser.parse_line(line, r), Line::reading) << line;
    return value(r, Column::throttle);
  };
  EXPECT_EQ(throttle("0x0000000000000001, Not Active"), 0);  // idle
  EXPECT_EQ(throttle("0x0000000000000004, Not Active"), 0);  // the software power cap
  EXPECT_EQ(throttle("0x0000000000000002, 0"), 0);           // applications clocks
  EXPECT_EQ(throttle("0x0000000000000048, Not Active"), 1);  // hardware, heat
  EXPECT_EQ(throttle("0x0000000000000020, Not Active"), 1);  // heat
  EXPECT_EQ(throttle("0x0000000000000080, Not Active"), 1);  // power brake
  EXPECT_EQ(throttle("Active, Not Active"), 1);
  EXPECT_EQ(throttle("Not Active, Active"), 1);
}

TEST(DeviceParser, MemoryInPercentNeedsTheTotal) {
  DeviceReading r;
  ASSERT_EQ(csv({"mem_used_bytes:%", "mem_total_bytes:MiB"}).parse_line("25, 1000", r),
            Line::reading);
  EXPECT_DOUBLE_EQ(value(r, Column::mem_used_bytes), 250.0 * 1024 * 1024);
  ASSERT_EQ(csv({"mem_used_bytes:%", "temp_c"}).parse_line("25, 30", r), Line::reading);
  EXPECT_TRUE(std::isnan(value(r, Column::mem_used_bytes)));
}

TEST(DeviceParser, EveryMatchOfThePatternIsADevice) {
  // The two-line layout of npu-smi.
  const char* screen =
      "+-------------------+-----------------+------------------------+\n"
      "| 0     910B        | OK              | 93.1   45     0    / 0 |\n"
      "| 0                 | 0000:C1:00.0    | 12     0 / 0  3161 / 65536 |\n"
      "+===================+=================+========================+\n"
      "| 1     910B        | OK              | 90.5   44     0    / 0 |\n"
      "| 0                 | 0000:01:00.0    | 0      0 / 0  3152 / 65536 |\n";
  const auto out =
      regex(
          "\\| (\\d+) +910\\w+ +\\| \\w+ +\\| ([0-9.]+) +(\\d+)[^\\n]*\\n"
          "\\|[^|]*\\|[^|]*\\| (\\d+) +\\d+ */ *\\d+ +(\\d+) */ *(\\d+)",
          {"index", "power_w", "temp_c", "util:%", "mem_used_bytes:MiB", "mem_total_bytes:MiB"})
          .parse_output(screen);
  ASSERT_EQ(out.readings.size(), 2U);
  EXPECT_EQ(out.nonsense, 0U);
  EXPECT_EQ(out.readings[1].index, 1);
  EXPECT_DOUBLE_EQ(value(out.readings[0], Column::power_w), 93.1);
  EXPECT_DOUBLE_EQ(value(out.readings[0], Column::util), 0.12);
  EXPECT_DOUBLE_EQ(value(out.readings[1], Column::mem_used_bytes), 3152.0 * 1024 * 1024);
}

TEST(DeviceParser, DevicesWithoutIndexAreNumberedAsTheyCome) {
  const auto out = regex("(\\d+)C", {"temp_c"}).parse_output("31C 57W\n30C 54W\n29C\n");
  ASSERT_EQ(out.readings.size(), 3U);
  EXPECT_EQ(out.readings[2].index, 2);
  EXPECT_DOUBLE_EQ(value(out.readings[2], Column::temp_c), 29);
}

TEST(DeviceParser, LongOutputAndCarelessPatternsAreHarmless) {
  const std::string megabyte(1 << 20, 'a');
  EXPECT_TRUE(
      regex("a[\\s\\S]*?(\\d+)", {"util"}).parse_output(megabyte.substr(0, 4000)).readings.empty());
  EXPECT_TRUE(regex("x[\\s\\S]*?(\\d+)", {"util"}).parse_output("x" + megabyte).readings.empty());
  EXPECT_TRUE(
      regex("(a+)+b(\\d)", {"", "util"}).parse_output(megabyte.substr(0, 300)).readings.empty());
}

TEST(DeviceParser, ReadsTheLinesOfAssayNvml) {
  const DeviceParser parser = assay_lines();
  DeviceReading r;
  ASSERT_EQ(parser.parse_line("dev=2 mono_ns=123 util=0.35 power_w=57.12 energy_j=1e3 throttle=0 "
                              "reasons=0x4 something_new=7",
                              r),
            Line::reading);
  EXPECT_EQ(r.index, 2);
  EXPECT_EQ(r.mono_ns, 123);
  EXPECT_DOUBLE_EQ(value(r, Column::power_w), 57.12);
  EXPECT_DOUBLE_EQ(value(r, Column::energy_j), 1000);
  ASSERT_EQ(parser.parse_line("dev=0 error=nvml_15", r), Line::reading);
  EXPECT_EQ(r.error, "nvml_15");
  EXPECT_EQ(parser.parse_line("# a note", r), Line::nothing);
  for (const char* line : {"util=0.5", "dev=0 util", "dev=0 util=nan", "dev=0 util=0.5x", "hello",
                           "dev=-1", "dev=0 mono_ns=later", "dev=0 pids=1,x", "dev=0 pids=-1"})
    EXPECT_EQ(parser.parse_line(line, r), Line::nonsense) << line;
}

TEST(DeviceParser, ATitleAboveTheCsvIsNotNonsense) {
  const auto out =
      csv({"index", "util:%"}).parse_output("index, utilization.gpu [%]\n0, 5 %\nbad\n");
  EXPECT_EQ(out.readings.size(), 1U);
  EXPECT_EQ(out.nonsense, 1U);
  EXPECT_EQ(out.first_nonsense, "bad");
}

TEST(DeviceParser, BackReferencesAreRefusedWithAdvice) {
  try {
    regex("(a)\\1(b)", {"util", "temp_c"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.message(), HasSubstr("back-references (\\1) are not supported"));
    EXPECT_THAT(e.advice(), HasSubstr("RE2"));
  }
}

}  // namespace
}  // namespace assay::telemetry
