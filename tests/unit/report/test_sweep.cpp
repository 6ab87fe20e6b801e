#include <gmock/gmock.h>

#include "catalog/metrics.h"
#include "demo.h"
#include "report/console.h"
#include "report/html.h"
#include "report/json_report.h"
#include "report/sweep_view.h"
#include "sound_page.h"

namespace assay::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A run of one sweep; points are added with their headline.
class Sweeps : public ::testing::Test {
 protected:
  Sweeps() {
    run_.run_id = "run1";
    run_.suite = "suite";
    grid_.sweep.name = "s";
    grid_.headline = "steady_throughput";
    grid_.adds_up = true;
  }

  void axis(const std::string& key, std::vector<Json> values) {
    grid_.sweep.dimensions.push_back({key, key.substr(key.rfind('.') + 1), std::move(values)});
  }

  judge::CaseResult& point(std::vector<Json> values, double speed, double half = 1) {
    judge::CaseResult result;
    result.name = "s@";
    for (const Json& value : values) result.name += dump_line(value) + ",";
    result.validity = judge::Validity::valid;
    result.headline = grid_.headline;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& key = grid_.sweep.dimensions[i].key;
      if (key == "procs") result.procs = values[i].get<int>();
      if (key == "nodes") result.nodes = values[i].get<int>();
    }
    result.sweep = plan::SweepPoint{"s", std::move(values)};
    add_metric(result, grid_.headline, speed, half);
    grid_.cases.push_back(run_.cases.size());
    run_.cases.push_back(std::move(result));
    return run_.cases.back();
  }

  static void add_metric(judge::CaseResult& result, const std::string& name, double value,
                         double half) {
    judge::Summary summary;
    summary.info = catalog::known_metric(name).info();
    summary.n = 3;
    summary.median = summary.mean = summary.min = summary.max = value;
    if (half > 0) {
      summary.ci95_low = value - half;
      summary.ci95_high = value + half;
    }
    result.summary.push_back(summary);
  }

  SweepView view() {
    run_.sweeps = {grid_};
    return sweep_views(run_).at(0);
  }
  std::string sentences() {
    std::string out;
    for (const std::string& text : sweep_sentences(view())) out += text + "\n";
    return out;
  }

  judge::RunResult run_;
  judge::SweepGrid grid_;
};

TEST_F(Sweeps, TheBestIsThePointWithTheBestHeadline) {
  axis("config.batch", {32, 64, 128});
  point({32}, 100);
  point({64}, 300);
  point({128}, 200);
  EXPECT_EQ(view().best->point->name, "s@64,");
  EXPECT_EQ(view().best->lead, Lead::clear);
  EXPECT_THAT(sentences(), HasSubstr("Best by Throughput: batch=64 with 300.0 samples/s, before "
                                     "batch=128 with 200.0 samples/s"));
}

TEST_F(Sweeps, ADifferenceWithinTheSpreadIsSaidToBeOne) {
  axis("config.batch", {32, 64});
  point({32}, 100, 3);
  point({64}, 104, 3);
  EXPECT_EQ(view().best->lead, Lead::spread);
  EXPECT_THAT(sentences(), HasSubstr("is within the spread"));
}

TEST_F(Sweeps, WithoutASpreadTheLeadIsUnknown) {
  axis("config.batch", {32, 64});
  point({32}, 100, 0);
  point({64}, 200, 0);
  EXPECT_EQ(view().best->lead, Lead::unknown);
  EXPECT_THAT(sentences(), HasSubstr("the spread is not known"));
}

TEST_F(Sweeps, APointThatIsNotValidIsNeverBestAndIsShown) {
  axis("config.batch", {32, 64});
  point({32}, 100);
  point({64}, 900).validity = judge::Validity::invalid;
  EXPECT_EQ(view().best->point->name, "s@32,");
  EXPECT_EQ(view().best->lead, Lead::alone);
  EXPECT_THAT(sentences(), HasSubstr("1 of 2 points is not VALID"));
  EXPECT_THAT(render_console(run_), AllOf(HasSubstr("INVALID"), HasSubstr("sweep s")));
  EXPECT_THAT(render_html(run_), HasSubstr("no VALID result"));
}

TEST_F(Sweeps, WithoutAValidPointNothingIsBest) {
  axis("config.batch", {32});
  point({32}, 100).validity = judge::Validity::incomplete;
  grid_.headline = "";
  EXPECT_FALSE(view().best);
  EXPECT_THAT(sentences(), HasSubstr("No point is VALID, so none is best"));
}

TEST_F(Sweeps, EnergyHasABestOfItsOwn) {
  axis("config.batch", {32, 64});
  add_metric(point({32}, 100), "energy_per_sample_j", 2, 0.1);
  add_metric(point({64}, 200), "energy_per_sample_j", 3, 0.1);
  EXPECT_EQ(view().best->point->name, "s@64,");
  EXPECT_EQ(view().energy->point->name, "s@32,");
  EXPECT_THAT(sentences(), HasSubstr("Best by Energy per sample: batch=32 with 2.00 J/sample"));
}

TEST_F(Sweeps, EnergyThatSomePointsLackIsNotCompared) {
  axis("config.batch", {32, 64});
  add_metric(point({32}, 100), "energy_j", 2, 0.1);
  point({64}, 200);
  EXPECT_FALSE(view().energy);
}

TEST_F(Sweeps, ScalingIsAgainstTheFewestRanksOfTheSameLine) {
  axis("config.batch", {32, 64});
  axis("procs", {1, 2, 4});
  for (const int batch : {32, 64})
    for (const int procs : {1, 2, 4}) point({batch, procs}, batch * (procs == 4 ? 3.0 : procs));
  ASSERT_EQ(view().scaling.size(), 2U);
  const ScalingLine line = view().scaling[1];
  EXPECT_EQ(line.label, "batch=64");
  EXPECT_DOUBLE_EQ(*line.points[1].speedup, 2);
  EXPECT_DOUBLE_EQ(*line.points[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(*line.points[2].speedup, 3);
  EXPECT_DOUBLE_EQ(*line.points[2].efficiency, 0.75);
  EXPECT_THAT(sentences(), HasSubstr("at batch=64 against 1 rank: 2 ranks 2.00× (100 %), 4 ranks "
                                     "3.00× (75 %)"));
}

TEST_F(Sweeps, WhereNodesAndProcessesVaryALineGoesOverNodes) {
  axis("nodes", {1, 2});
  axis("procs", {2, 4});
  for (const int nodes : {1, 2})
    for (const int procs : {2, 4}) point({nodes, procs}, nodes * procs * 10.0);
  ASSERT_EQ(view().scaling.size(), 2U);
  EXPECT_EQ(view().scaling[0].label, "procs=2");
  EXPECT_EQ(view().scaling[0].base_ranks, 2);
  EXPECT_EQ(view().scaling[1].points[1].ranks, 8);
}

TEST_F(Sweeps, APointThatFailedStaysOnItsScalingLine) {
  axis("procs", {1, 2, 4});
  point({1}, 100);
  point({2}, 190).validity = judge::Validity::invalid;
  point({4}, 320);
  EXPECT_FALSE(view().scaling.at(0).points[1].speedup);
  EXPECT_THAT(sentences(), HasSubstr("2 ranks INVALID, 4 ranks 3.20× (80 %)"));
}

TEST_F(Sweeps, WhatIsNotOfAllRanksHasNoSpeedUp) {
  axis("procs", {1, 2});
  grid_.headline = "e2e_time";
  grid_.adds_up = false;
  point({1}, 10);
  point({2}, 9);
  EXPECT_TRUE(view().scaling.empty());
  EXPECT_THAT(sentences(), HasSubstr("No speed-up is computed"));
}

TEST_F(Sweeps, ATimeToTargetThatHalvesIsASpeedUpOfTwo) {
  axis("procs", {1, 2});
  grid_.headline = "time_to_target";
  grid_.adds_up = false;
  point({1}, 10);
  point({2}, 5);
  EXPECT_EQ(view().best->point->name, "s@2,");
  EXPECT_DOUBLE_EQ(*view().scaling.at(0).points[1].speedup, 2);
}

TEST_F(Sweeps, TwoAxesAreAMatrixWithTheBestMarked) {
  axis("config.batch", {32, 64});
  axis("procs", {1, 2});
  point({32, 1}, 100);
  point({64, 1}, 110);
  point({64, 2}, 210);
  grid_.sweep.excluded = 1;
  view();
  const std::string text = render_console(run_);
  EXPECT_THAT(text, HasSubstr("batch × procs: 3 points, 1 of the grid left out by constraints"));
  EXPECT_THAT(text, HasSubstr("210.0 samples/s *"));
  EXPECT_THAT(render_html(run_), AllOf(HasSubstr("heat h8 best"), HasSubstr("heat h0"),
                                       HasSubstr("not a point of the sweep")));
}

TEST(SweepPage, IsASoundPage) {
  testing::expect_sound_page(render_html(sweep_result()));
}

TEST_F(Sweeps, NamesAndValuesAreEscapedOnThePage) {
  axis("env.<b>", {"<script>x</script>", "ok"});
  point({"<script>x</script>"}, 1);
  point({"ok"}, 2);
  view();
  EXPECT_THAT(render_html(run_), Not(HasSubstr("<script>x")));
}

TEST_F(Sweeps, ResultJsonHoldsGridBestAndScaling) {
  axis("procs", {1, 2});
  point({1}, 100);
  point({2}, 180);
  view();
  const Json json = result_to_json(run_);
  const Json& sweep = json["sweeps"][0];
  EXPECT_EQ(sweep["best"]["case"], "s@2,");
  EXPECT_EQ(sweep["best"]["lead"], "clear");
  EXPECT_EQ(sweep["scaling"][0]["points"][1]["efficiency"], 0.9);
  EXPECT_EQ(json["cases"][1]["sweep"]["values"], Json({2}));
}

}  // namespace
}  // namespace assay::report
