#include <cmath>

#include <gtest/gtest.h>

#include "train/optim/schedule.h"

namespace assay::train {
namespace {

ScheduleOptions shape(const std::string& name) {
  ScheduleOptions options;
  options.shape = name;
  options.base = 2;
  options.warmup_steps = 4;
  options.total_steps = 14;
  return options;
}

TEST(ScheduleTest, WarmUpRisesLinearlyToTheBaseRate) {
  for (const std::string& name : schedule_shapes()) {
    EXPECT_DOUBLE_EQ(learning_rate(shape(name), 1), 0.5) << name;
    EXPECT_DOUBLE_EQ(learning_rate(shape(name), 3), 1.5) << name;
    EXPECT_DOUBLE_EQ(learning_rate(shape(name), 4), 2) << name;
    EXPECT_DOUBLE_EQ(learning_rate(shape(name), 5), 2) << name;
  }
}

TEST(ScheduleTest, CosineIsHalfWayDownInTheMiddle) {
  EXPECT_NEAR(learning_rate(shape("cosine"), 10), 1, 1e-12);
  EXPECT_NEAR(learning_rate(shape("cosine"), 14), 1 + std::cos(0.9 * M_PI), 1e-12);
}

TEST(ScheduleTest, PolyFollowsItsPower) {
  ScheduleOptions options = shape("poly");
  options.power = 2;
  EXPECT_NEAR(learning_rate(options, 10), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(options, 14), 2 * 0.01, 1e-12);
}

TEST(ScheduleTest, StepFallsAtItsMilestones) {
  ScheduleOptions options = shape("step");
  options.milestones = {0.5, 0.75};
  EXPECT_DOUBLE_EQ(learning_rate(options, 7), 2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 8), 0.2);
  EXPECT_NEAR(learning_rate(options, 12), 0.02, 1e-12);
}

TEST(ScheduleTest, EndsAtTheFinalFractionAndStaysThere) {
  ScheduleOptions options = shape("cosine");
  options.final_fraction = 0.25;
  EXPECT_NEAR(learning_rate(options, 15), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(options, 1000), 0.5, 1e-12);
}

TEST(ScheduleTest, WithoutWarmUpBeginsAtTheBaseRate) {
  ScheduleOptions options = shape("cosine");
  options.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 2);
}

}  // namespace
}  // namespace assay::train
