#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "history/history_page.h"
#include "history/history_text.h"
#include "history/trends.h"
#include "made_runs.h"
#include "sound_page.h"
#include "temporary_folder.h"

namespace assay::history {
namespace {

using assay::testing::error_of;
using assay::testing::has;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TrendsTest : public assay::testing::Test {
 protected:
  void write(const std::vector<MadeRun>& runs) const {
    for (const MadeRun& run : runs) write_run(folder_.path(), run);
  }
  [[nodiscard]] History history(const TrendOptions& options = {}) const {
    return ask_index(folder_.path(), {},
                     [&](RunIndex& index) { return read_history(index, options); });
  }
  [[nodiscard]] std::vector<std::string> found(const RunFilter& filter) const {
    std::vector<std::string> out;
    const auto runs =
        ask_index(folder_.path(), {}, [&](RunIndex& index) { return find_runs(index, filter); });
    for (const FoundRun& run : runs) out.push_back(run.folder);
    return out;
  }

  assay::testing::TemporaryFolder folder_;
};

TEST_F(TrendsTest, APlantedSlowDownOfFivePercentIsMarkedWithTheDriverThatCameThen) {
  write(daily_runs(40, 25));
  const History found = history();
  ASSERT_EQ(found.trends.size(), 1);
  const Trend& trend = found.trends[0];
  EXPECT_EQ(trend.case_name, "resnet50");
  EXPECT_EQ(trend.machine, "node1");
  ASSERT_EQ(trend.changes.size(), 1);
  EXPECT_EQ(trend.changes[0].point.at, 25);
  EXPECT_EQ(trend.changes[0].direction, Direction::worse);
  EXPECT_EQ(change_words(trend, trend.changes[0]).substr(0, 9), "SLOWER by");
  ASSERT_EQ(trend.changes[0].differences.size(), 1);
  EXPECT_EQ(trend.changes[0].differences[0].what, "nodes 0.driver");
  EXPECT_EQ(trend.changes[0].differences[0].base, "550.54");
  EXPECT_EQ(trend.changes[0].differences[0].candidate, "560.28");
  EXPECT_THAT(worse_now(found, 0.02), ElementsAre(HasSubstr("worse by")));
  EXPECT_THAT(worse_now(found, 0.10), IsEmpty());
}

TEST_F(TrendsTest, AHistoryWithoutAChangeHasNoMark) {
  write(daily_runs(40, 40));
  EXPECT_THAT(history().trends.at(0).changes, IsEmpty());
}

TEST_F(TrendsTest, AnotherConfigurationIsACauseToo) {
  std::vector<MadeRun> runs = daily_runs(30, 30);
  for (std::size_t i = 15; i < runs.size(); ++i) {
    runs[i].batch_size = 64;
    for (double& speed : runs[i].speeds) speed *= 1.2;
  }
  write(runs);
  const TrendChange change = history().trends.at(0).changes.at(0);
  EXPECT_EQ(change.direction, Direction::better);
  EXPECT_EQ(change.differences.at(0).what, "config.batch_size");
}

TEST_F(TrendsTest, ACauseOneRunAwayIsNamedWithItsRun) {
  std::vector<MadeRun> runs = daily_runs(40, 25);
  runs[25].driver = "550.54";
  write(runs);
  const History found = history();
  const TrendChange& change = found.trends.at(0).changes.at(0);
  EXPECT_EQ(change.point.at, 25);
  EXPECT_EQ(change.differs_at, 26);
  EXPECT_THAT(cause_lines(found, found.trends[0], change, 4).at(0), HasSubstr(runs[26].id));
}

TEST_F(TrendsTest, MachinesAndUnitsAreTrendsOfTheirOwn) {
  std::vector<MadeRun> runs = daily_runs(6, 6);
  runs[1].host = "node2";
  runs[2].unit = "images/s";
  write(runs);
  std::vector<std::string> seen;
  for (const Trend& trend : history().trends)
    seen.push_back(trend.machine + " " + trend.info.unit + " " +
                   std::to_string(trend.points.size()));
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre("node1 samples/s 4", "node2 samples/s 1",
                                                    "node1 images/s 1"));
}

TEST_F(TrendsTest, WhatIsNotValidIsLeftOutAndCounted) {
  std::vector<MadeRun> runs = daily_runs(4, 4);
  runs[0].validity = judge::Validity::invalid;
  write(runs);
  EXPECT_EQ(history().trends.at(0).points.size(), 3);
  EXPECT_EQ(history().trends.at(0).left_out, 1);
  EXPECT_EQ(history({.invalid_too = true}).trends.at(0).points.size(), 4);
}

TEST_F(TrendsTest, AMetricCanBeChosenAndOneThatNoRunHasIsSaid) {
  write(daily_runs(4, 4));
  EXPECT_EQ(history({.metrics = {"energy_j"}}).trends.at(0).info.unit, "J");
  EXPECT_THAT(error_of([&] { return history({.metrics = {"enrgy_j"}}); }),
              HasSubstr("did you mean 'energy_j'"));
}

TEST_F(TrendsTest, RunsAreFoundByEverythingThatIsKnownOfThem) {
  std::vector<MadeRun> runs = daily_runs(3, 3);
  runs[0] = {"a", "2026-01-01T00:00:00Z", {100}, "node1"};
  runs[1] = {"b", "2026-02-01T00:00:00Z", {200}, "node2"};
  runs[2] = {"c", "2026-03-01T00:00:00Z", {300}, "node1"};
  runs[1].validity = judge::Validity::invalid;
  runs[2].case_name = "bert:pytorch:A100:1:8";
  write(runs);
  EXPECT_THAT(found({}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(found({.cases = {"bert*:8"}}), ElementsAre("c"));
  EXPECT_THAT(found({.cases = {"resnet"}}), ElementsAre("a", "b"));
  EXPECT_THAT(found({.cases = {"vgg"}}), IsEmpty());
  EXPECT_THAT(found({.hosts = {"node2", "node9"}}), ElementsAre("b"));
  EXPECT_THAT(found({.hosts = {"node"}}), IsEmpty());
  EXPECT_THAT(found({.verdicts = {judge::Validity::invalid}}), ElementsAre("b"));
  EXPECT_THAT(found({.conditions = {parse_condition("steady_throughput > 100")}}),
              ElementsAre("b", "c"));
  EXPECT_THAT(found({.cases = {"resnet"}, .conditions = {parse_condition("energy_j<=5000")}}),
              ElementsAre("b"));
  EXPECT_THAT(found({.since_ms = parse_when("2026-02-01", "--since", 0)}), ElementsAre("b", "c"));
  EXPECT_THAT(found({.until_ms = parse_when("2026-02-01T00:00:00Z", "--until", 0)}),
              ElementsAre("a", "b"));
}

TEST(Conditions, AreReadOrRefused) {
  const Condition condition = parse_condition(" mfu >= 40 % ");
  EXPECT_EQ(condition.metric, "mfu");
  EXPECT_EQ(condition.relation, Condition::Relation::at_least);
  EXPECT_DOUBLE_EQ(condition.value, 0.4);
  for (const char* text :
       {"", "mfu", "> 3", "mfu >", "mfu > x", "mfu > nan", "mfu > inf", "mfu <> 3", "a > 1 OR 1"})
    EXPECT_THAT(error_of([&] { return parse_condition(text); }), HasSubstr("not a valid condition"))
        << text;
}

TEST(Times, AreDaysMomentsOrAgo) {
  EXPECT_EQ(parse_when("1970-01-02", "--since", 0), 86'400'000);
  for (const char* text : {"1970-01-02 00:00 UTC", "1970-01-02 00:00", "1970-01-02T00:00Z",
                           "1970-01-02 00:00:00Z", "1970-01-02T00:00:00Z"})
    EXPECT_EQ(parse_when(text, "--since", 0), 86'400'000) << text;
  EXPECT_EQ(parse_when(show_time(86'460'000), "--since", 0), 86'460'000) << "as it is shown";
  EXPECT_EQ(parse_when("2d", "--since", 3 * 86'400'000), 86'400'000);
  for (const char* text : {"", "yesterday", "2026-13-01", "5", "-3d"})
    EXPECT_THAT(error_of([&] { return parse_when(text, "--since", 0); }), HasSubstr("--since"))
        << text;
}

TEST_F(TrendsTest, TheTableNamesTheChangeAndItsCause) {
  write(daily_runs(40, 25));
  const std::string text = render_history(history(), {.width = 200});
  EXPECT_THAT(text, HasSubstr("SLOWER by"));
  EXPECT_THAT(text, HasSubstr("nodes 0.driver: 550.54 → 560.28"));
  EXPECT_THAT(text, HasSubstr("2026-01-26"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(TrendsTest, JsonAndCsvHaveEveryPoint) {
  write(daily_runs(12, 12));
  const Json json = history_to_json(history());
  EXPECT_EQ(json["trends"][0]["points"].size(), 12);
  const std::string csv = history_to_csv(history());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 13);
}

TEST_F(TrendsTest, ThePageIsSoundAndLinksTheRuns) {
  std::vector<MadeRun> runs = daily_runs(40, 25);
  runs[3].host = "<script>alert(1)</script>";
  write(runs);
  const History found = history();
  const std::string page = render_history_page(found, "", {"a <b>remark</b>"});
  assay::testing::expect_sound_page(page, "run2026");
  EXPECT_TRUE(has(page, "nodes 0.driver: 550.54 → 560.28"));
  EXPECT_TRUE(has(page, runs[30].id + "/report.html"));
  EXPECT_FALSE(has(page, "<script>alert"));
  assay::testing::expect_sound_page(render_history_page({}, std::nullopt, {}));
}

}  // namespace
}  // namespace assay::history
