// A baseline file as a side of a comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_runs.h"
#include "core/files.h"
#include "error_of.h"
#include "judge/case_identity.h"
#include "temporary_folder.h"

namespace assay::compare {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

const Json kSystem = Json::parse(R"({"nodes": [{"cpu": {"model": "Xeon", "cores": 2}}]})");

judge::RunResult run_on(const Json& system, const std::vector<double>& speeds) {
  judge::RunResult run = make_run({make_case("a", speeds)});
  run.system = system;
  return run;
}

Side baseline_of(std::vector<double> values, double low, double high) {
  baseline::Metric metric{"steady_throughput", "samples/s", Better::higher, 100, low, high, true};
  metric.values = std::move(values);
  baseline::CaseEntry entry{"a", judge::hardware_kind(kSystem, 1)};
  entry.rounds = 4;
  entry.metrics.push_back(metric);
  baseline::Baseline made;
  made.entries.push_back(entry);
  return {"baseline.yaml", {}, made};
}

CaseChange against(const Side& base, const judge::RunResult& run) {
  const Side other{"new", {run}};
  return compare_sides(base, std::span(&other, 1), {}).sides.at(0).cases.at(0);
}

TEST(BaselineSide, HasItsRoundsAndItsRangeInPlaceOfTheTolerance) {
  const Side base = baseline_of({100, 101, 99, 100}, 90, 110);
  const CaseChange within = against(base, run_on(kSystem, {95, 96, 94.5, 95.2}));
  ASSERT_EQ(within.refused, "");
  EXPECT_EQ(verdict_word(within.metrics.at(0)), "SAME") << "5 % less is tolerated";
  const CaseChange below = against(base, run_on(kSystem, {80, 81, 79, 80}));
  EXPECT_EQ(verdict_word(below.metrics.at(0)), "SLOWER");
  EXPECT_EQ(below.metrics[0].base.size(), 4);
}

TEST(BaselineSide, WithoutValuesCountsAsOneRound) {
  const CaseChange change =
      against(baseline_of({}, 98, 102), run_on(kSystem, {80, 80.1, 79.9, 80}));
  EXPECT_EQ(change.metrics.at(0).base, std::vector<double>{100});
  EXPECT_EQ(verdict_word(change.metrics[0]), "SLOWER");
}

TEST(BaselineSide, OfOtherHardwareIsNotCompared) {
  Json other = kSystem;
  other["nodes"][0]["cpu"]["model"] = "EPYC";
  judge::RunResult run = run_on(other, {100, 101});
  run.cases.at(0).model = "resnet50";  // as every real case has one
  run.cases.at(0).configuration.push_back({"config.batch_size", 32, "suite.yaml:3", "applied"});
  const CaseChange change = against(baseline_of({100, 101}, 90, 110), run);
  EXPECT_TRUE(change.differences.empty());
  EXPECT_THAT(change.refused, HasSubstr("no entry for EPYC"));
  EXPECT_THAT(change.refused, HasSubstr("only for Xeon"));
}

TEST(BaselineSide, OfOtherWorkIsNotCompared) {
  Side base = baseline_of({100, 101}, 90, 110);
  base.baseline->entries[0].work["config.path"] = "/data/a";
  judge::RunResult run = run_on(kSystem, {100, 101});
  run.cases[0].configuration.push_back({"config.path", "/data/b", "", ""});
  EXPECT_THAT(against(base, run).refused, HasSubstr("not the same work"));
}

TEST(BaselineSide, DoesNotTakeItsOwnSilenceForADifference) {
  judge::RunResult run = run_on(kSystem, {100, 101});
  run.cases[0].configuration.push_back({"config.threads", 8, "", ""});
  EXPECT_TRUE(against(baseline_of({100, 101}, 90, 110), run).differences.empty());
}

TEST(BaselineSide, CanBeTheNewOne) {
  const Side base{"base", {run_on(kSystem, {80, 81, 79, 80})}};
  const Side file = baseline_of({100, 101, 99, 100}, 90, 110);
  const Comparisons found = compare_sides(base, std::span(&file, 1), {});
  EXPECT_EQ(verdict_word(found.sides.at(0).cases.at(0).metrics.at(0)), "FASTER");
}

TEST(BaselineSide, NeedsARunOnTheOtherSide) {
  const Side file = baseline_of({100}, 90, 110);
  EXPECT_THAT(error_of([&] { return compare_sides(file, std::span(&file, 1), {}); }),
              HasSubstr("two baselines"));
}

TEST(BaselineSide, IsReadFromItsFile) {
  const testing::TemporaryFolder folder;
  const auto path =
      folder.write("base.yaml", baseline::to_yaml(*baseline_of({100, 101}, 90, 110).baseline));
  const Side side = read_side(path.string());
  ASSERT_TRUE(side.baseline);
  EXPECT_TRUE(side.runs.empty());
  EXPECT_EQ(side.baseline->entries.at(0).name, "a");
  const std::string text = read_file(path);
  folder.write("cut.yaml", text.substr(0, text.size() / 2));
  EXPECT_THAT(error_of([&] { return read_side((folder.path() / "cut.yaml").string()); }),
              HasSubstr("cut.yaml"));
}

}  // namespace
}  // namespace assay::compare
