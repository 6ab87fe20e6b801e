#include <gmock/gmock.h>

#include "judge/scaling.h"

namespace assay::judge {
namespace {

using ::testing::HasSubstr;

class Scaling : public ::testing::Test {
 protected:
  void add(const std::string& name, int nodes, int procs, double samples_per_s,
           const std::string& model = "m") {
    plan::CasePlan plan_case;
    plan_case.name = name;
    plan_.cases.push_back(plan_case);
    CaseResult result;
    result.name = name;
    result.model = model;
    result.nodes = nodes;
    result.procs = procs;
    result.headline = "p_whole";
    Summary summary;
    summary.info.name = "p_whole";
    summary.origin = Origin::measured;
    summary.n = 1;
    summary.median = samples_per_s;
    result.summary.push_back(summary);
    cases_.push_back(result);
  }
  const Summary* efficiency(std::size_t i) {
    for (const Summary& summary : cases_[i].summary)
      if (summary.info.name == "scaling_efficiency") return &summary;
    return nullptr;
  }

  plan::Plan plan_;
  std::vector<CaseResult> cases_;
};

TEST_F(Scaling, IsThroughputPerRankAgainstTheSmallestCase) {
  add("four", 4, 2, 600);
  add("one", 1, 1, 100);
  add("two", 2, 1, 180);
  add_scaling(plan_, cases_);
  EXPECT_DOUBLE_EQ(efficiency(0)->median, 0.75);
  EXPECT_EQ(efficiency(1), nullptr);
  EXPECT_DOUBLE_EQ(efficiency(2)->median, 0.9);
  EXPECT_THAT(efficiency(0)->note, HasSubstr("8 ranks against the 1 of 'one'"));
}

TEST_F(Scaling, OfATrainingToATargetIsThatOfItsSpeed) {
  add("one", 1, 1, 100);
  add("two", 2, 1, 180);
  for (CaseResult& result : cases_) {
    result.headline = "time_to_target";
    result.beside = "steady_throughput";
    result.summary[0].info.name = "steady_throughput";
  }
  add_scaling(plan_, cases_);
  EXPECT_DOUBLE_EQ(efficiency(1)->median, 0.9);
}

TEST_F(Scaling, ComparesOnlyTheSameWorkload) {
  add("a", 1, 1, 100, "resnet");
  add("b", 2, 1, 150, "bert");
  add_scaling(plan_, cases_);
  EXPECT_EQ(efficiency(1), nullptr);
}

TEST_F(Scaling, SaysInWhatTheConfigurationsDiffer) {
  add("one", 1, 1, 100);
  add("two", 2, 1, 150);
  plan_.cases[0].config = {{"batch", 32}, {"lr", 0.1}};
  plan_.cases[1].config = {{"batch", 64}, {"lr", 0.1}};
  add_scaling(plan_, cases_);
  EXPECT_THAT(efficiency(1)->note, HasSubstr("differ in batch"));
}

TEST_F(Scaling, ACaseWithoutThroughputIsNoBase) {
  add("one", 1, 1, 0);
  add("two", 2, 1, 150);
  add_scaling(plan_, cases_);
  EXPECT_EQ(efficiency(1), nullptr);
}

TEST_F(Scaling, OfAPointOfASweepIsAgainstThoseThatDifferInRanksAlone) {
  plan_.sweeps.push_back(
      {"s", "", {{"config.batch", "batch", {32, 64}}, {"procs", "procs", {1, 2}}}});
  add("32x1", 1, 1, 100);
  add("32x2", 1, 2, 180);
  add("64x1", 1, 1, 400);
  add("64x2", 1, 2, 600);
  cases_[0].sweep = plan::SweepPoint{"s", {32, 1}};
  cases_[1].sweep = plan::SweepPoint{"s", {32, 2}};
  cases_[2].sweep = plan::SweepPoint{"s", {64, 1}};
  cases_[3].sweep = plan::SweepPoint{"s", {64, 2}};
  add_scaling(plan_, cases_);
  EXPECT_DOUBLE_EQ(efficiency(1)->median, 0.9);
  EXPECT_DOUBLE_EQ(efficiency(3)->median, 0.75);
}

}  // namespace
}  // namespace assay::judge
