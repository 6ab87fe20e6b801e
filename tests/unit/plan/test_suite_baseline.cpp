#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sha256.h"
#include "temporary_folder.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kBaseline =
    "assay_baseline: 1\ncases:\n  - {case: a, hardware: b, nodes: 1, procs: 1, rounds: 1, "
    "metrics: {x: {unit: s, better: lower, median: 1, low: 1, high: 1}}}\n";

class SuiteBaseline : public assay::testing::Test {
 protected:
  [[nodiscard]] Plan planned(const std::string& baseline,
                             std::vector<std::string> overrides = {}) const {
    const Suite suite =
        parse_suite("baseline: " + baseline + "\ncases: [train:native:cpu:1:1:1]\n", file_);
    PlanOptions options;
    options.overrides = std::move(overrides);
    return make_plan(suite, testing::small_catalog(), options);
  }
  [[nodiscard]] std::string refused(const std::string& baseline) const {
    return error_of([&] { return planned(baseline); });
  }

  assay::testing::TemporaryFolder folder_;
  std::string file_ = (folder_.path() / "suite.yaml").string();
};

TEST_F(SuiteBaseline, IsReadFromBesideTheSuite) {
  folder_.write("base.yaml", kBaseline);
  const Plan plan = planned("base.yaml");
  ASSERT_TRUE(plan.baseline);
  EXPECT_EQ(plan.baseline->file, "base.yaml");
  EXPECT_EQ(plan.baseline->text, kBaseline);
  EXPECT_EQ(plan.baseline->sha256, sha256(kBaseline));
  EXPECT_FALSE(planned("off").baseline);
}

TEST_F(SuiteBaseline, IsRefusedWithItsPlaceWhenItIsWrongOrGone) {
  folder_.write("base.yaml", std::string(kBaseline) + "more: 1\n");
  EXPECT_THAT(refused("base.yaml"), HasSubstr("base.yaml:4:1: unknown key 'more'"));
  EXPECT_THAT(refused("gone.yaml"), HasSubstr("suite.yaml:1:11: the baseline cannot be read"));
}

TEST_F(SuiteBaseline, IsReadOnlyWhenSetLeavesIt) {
  EXPECT_FALSE(planned("gone.yaml", {"baseline=off"}).baseline);
  const std::string other = folder_.write("other.yaml", kBaseline).string();
  EXPECT_EQ(planned("gone.yaml", {"baseline=" + other}).baseline->file, other);
}

}  // namespace
}  // namespace assay::plan
