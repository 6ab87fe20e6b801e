#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/experiment_settings.h"
#include "automl/start_models.h"
#include "core/files.h"
#include "temporary_folder.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using namespace std::chrono_literals;
using testing::error_of;
using ::testing::HasSubstr;

Plan planned(const std::string& yaml, const std::vector<std::string>& set = {}) {
  PlanOptions options;
  options.overrides = set;
  return make_plan(testing::suite(yaml),
                   catalog::load_catalog({std::string(ASSAY_SOURCE_DIR) + "/conf"}), options);
}

automl::ExperimentSettings settings(const std::string& automl) {
  return planned("cases: [{name: s, procs: 4, automl: " + automl + "}]").cases.at(0).automl.value();
}

std::string error(const std::string& automl) {
  return error_of([&] { return settings(automl); });
}

TEST(AutomlPlan, HasDefaultsForEverything) {
  const automl::ExperimentSettings s = settings("{}");
  EXPECT_EQ(s.start, "resnet20");
  EXPECT_EQ(s.max_duration, 12h);
  EXPECT_EQ(s.min_duration, 12h);
  EXPECT_EQ(s.workers, 4);
  EXPECT_EQ(s.epochs, (std::vector{15, 30, 45, 60}));
  EXPECT_EQ(s.space.size(), 6U);
}

TEST(AutomlPlan, RunsTheWorkersProgramWithItsRules) {
  const CasePlan c = planned("cases: [{name: s, procs: 2, automl: {max_trials: 3}}]").cases.at(0);
  EXPECT_THAT(c.command, ::testing::Contains("automl-worker"));
  EXPECT_EQ(c.limits.stall, 0s);
  EXPECT_GT(c.limits.time, 12h);
  const auto lost = std::ranges::find(c.rules, "ranks-ended-ok", &catalog::Rule::id);
  ASSERT_NE(lost, c.rules.end());
  EXPECT_EQ(lost->severity, catalog::Severity::warning);
  EXPECT_EQ(settings("{max_trials: 3}").min_duration, 0s);
}

TEST(AutomlPlan, SurvivesPlanJsonAndIsShown) {
  const Plan plan = planned("cases: [{name: s, automl: {max_duration: 90s}}]");
  const Plan again = plan_from_json(to_json(plan), "plan.json");
  EXPECT_EQ(to_json(again), to_json(plan));
  EXPECT_THAT(render_text(plan), HasSubstr("from resnet20, at most 90s"));
}

TEST(AutomlPlan, TakesSettingsFromTheCommandLine) {
  const Plan plan = planned("cases: [{name: s, automl: {max_duration: 90s}}]",
                            {"cases.s.automl.max_duration=5m"});
  EXPECT_EQ(plan.cases.at(0).automl.value().max_duration, 5min);
}

TEST(AutomlPlan, TakesAStartModelFromAFile) {
  const assay::testing::TemporaryFolder folder;
  const auto file = folder.path() / "graph.json";
  write_file_atomic(file, dump_line(to_json(automl::basic_resnet({8, 8, 3}, 2, 1, 4, 4))));
  const automl::ExperimentSettings s = settings("{start: " + file.string() + "}");
  EXPECT_EQ(s.start_graph().layers().size(),
            automl::basic_resnet({8, 8, 3}, 2, 1, 4, 4).layers().size());
  write_file_atomic(file, R"({"layer_list": []})");
  EXPECT_THAT(error("{start: " + file.string() + "}"), HasSubstr("start model cannot be used"));
}

TEST(AutomlPlan, NamesWhatIsWrongAndWhere) {
  EXPECT_THAT(error("{max_duratoin: 1h}"), HasSubstr("did you mean 'max_duration'?"));
  EXPECT_THAT(error("{max_duratoin: 1h}"), HasSubstr("s.yaml:1:"));
  EXPECT_THAT(error("{start: resnet21}"), HasSubstr("did you mean 'resnet20'?"));
  EXPECT_THAT(error("{epochs: []}"), HasSubstr("empty"));
  EXPECT_THAT(error("{space: {}}"), HasSubstr("empty"));
  EXPECT_THAT(error("{space: {lr: {type: uniform, low: 0, high: 1}}}"), HasSubstr("'lr'"));
  EXPECT_THAT(error("{space: {dropout: {type: uniform, low: 1, high: 0}}}"), HasSubstr("empty"));
  EXPECT_THAT(error("{hyper: {kernel_size: 4}}"), HasSubstr("kernel_size"));
  EXPECT_THAT(
      error("{hyper: {kernel_size: 0}, space: {kernel_size: {type: choice, options: [3, 5]}}}"),
      HasSubstr("the first trial's kernel_size is not in `space`"));
  EXPECT_THAT(error("{hyper: {batch_size: 48}}"), HasSubstr("batch_size is not in `space`"));
  EXPECT_THAT(error("{limits: {parameters: 10}}"), HasSubstr("exceeds the limits"));
  EXPECT_THAT(error("{min_duration: 2h, max_duration: 1h}"), HasSubstr("longer than"));
  EXPECT_THAT(error("{precision: fp8}"), HasSubstr("fp8"));
  EXPECT_THAT(error_of([] { return planned("cases: [{name: s, command: ls, automl: {}}]"); }),
              HasSubstr("not both"));
  EXPECT_THAT(error_of([] { return planned("cases: ['automl-worker:libtorch:cpu:1:1:1']"); }),
              HasSubstr("no 'automl'"));
  EXPECT_THAT(
      error_of([] { return planned("cases: [{name: s, limits: {time: 1h}, automl: {}}]"); }),
      HasSubstr("limits.time"));
}

}  // namespace
}  // namespace assay::plan
