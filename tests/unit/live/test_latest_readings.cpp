#include <cmath>

#include <gtest/gtest.h>

#include "live/latest_readings.h"
#include "run_folder.h"

namespace assay::live {
namespace {

using telemetry::Column;

class LatestReadings : public ::testing::Test {
 protected:
  void begin(Json nodes) {
    run_.journal({{"event", "round_start"},
                  {"case", "c"},
                  {"round", 1},
                  {"id", "r1"},
                  {"nodes", std::move(nodes)}});
  }
  static std::string rows(int count, double util) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{0},{0},dev0,{1},{2}\n{0},{0},dev1,{1},\n", i + 1, util, 50 + i % 2);
    return text;
  }
  static constexpr const char* kHeader = "mono_ns,wall_ns,source,util,temp_c\n";
  testing::RunFolder run_;
};

TEST_F(LatestReadings, AreTheLastRowOfEachSource) {
  begin({{{"host", "n0"}, {"node", 0}}});
  run_.append("c/round1/n0_noderank0/telemetry.csv", kHeader + rows(1, 0.25) + rows(1, 0.75));
  const auto readings = latest_readings(run_.path());
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].host, "n0");
  EXPECT_DOUBLE_EQ(readings[0].sources.at("dev0")[Column::util], 0.75);
  EXPECT_DOUBLE_EQ(readings[0].sources.at("dev0")[Column::temp_c], 50);
  EXPECT_TRUE(std::isnan(readings[0].sources.at("dev1")[Column::temp_c])) << "not known, not 0";
  EXPECT_LT(readings[0].age, std::chrono::seconds(60));
}

TEST_F(LatestReadings, OfALongFileAreAtItsEnd) {
  begin({{{"host", "n0"}, {"node", 0}}});
  const std::string file = "c/round1/n0_noderank0/telemetry.csv";
  run_.append(file, kHeader + rows(20'000, 0.1) + rows(1, 0.9) + "7,7,dev0,0.3");
  const auto readings = latest_readings(run_.path());
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_DOUBLE_EQ(readings[0].sources.at("dev0")[Column::util], 0.9) << "a row without its end";
}

// What an agent sends of a node that writes elsewhere.
TEST_F(LatestReadings, ComeFromOtherMachinesToo) {
  begin({{{"host", "n0"}, {"node", 0}}, {{"host", "n1"}, {"node", 1}}});
  run_.append("live-logs/c/round1/n1_noderank1/telemetry.csv", kHeader + rows(1, 0.5));
  const auto readings = latest_readings(run_.path());
  ASSERT_EQ(readings.size(), 1U) << "nothing came of n0";
  EXPECT_EQ(readings[0].host, "n1");
}

TEST_F(LatestReadings, AreOfARoundThatRuns) {
  begin({{{"host", "n0"}, {"node", 0}}});
  run_.append("c/round1/n0_noderank0/telemetry.csv", kHeader + rows(1, 0.5));
  run_.journal({{"event", "round_end"}, {"case", "c"}, {"round", 1}}, 1);
  EXPECT_TRUE(latest_readings(run_.path()).empty());
  EXPECT_TRUE(latest_readings(run_.path() / "nowhere").empty());
}

TEST_F(LatestReadings, AJournalThatLiesNamesNoPlaceOutside) {
  run_.append("out_noderank0/telemetry.csv", kHeader + rows(1, 0.5));
  begin({{{"host", "../../out"}, {"node", 0}}});
  EXPECT_TRUE(latest_readings(run_.path()).empty());
}

}  // namespace
}  // namespace assay::live
