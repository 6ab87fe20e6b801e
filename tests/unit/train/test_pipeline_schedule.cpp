// The order in which stages of a pipeline work, without stages.
#include <algorithm>

#include <gtest/gtest.h>

#include "train/mesh/pipeline_schedule.h"

namespace assay::train {
namespace {

using Kind = PipelineStep::Kind;

// Lets all stages work, a unit of time for each forward and backward, as soon as what they need is
// there; gives the time that it takes, or nothing when they wait for each other.
std::int64_t time_of(std::int64_t stages, std::int64_t parts) {
  struct Stage {
    std::vector<PipelineStep> steps;
    std::size_t next = 0;
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
  };
  std::vector<Stage> all;
  for (std::int64_t i = 0; i < stages; ++i)
    all.push_back({one_forward_one_backward(stages, i, parts)});
  std::int64_t time = 0;
  for (bool worked = true; worked; ++time) {
    worked = false;
    const std::vector<Stage> before = all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Stage& stage = all[i];
      if (stage.next == stage.steps.size()) continue;
      const auto [kind, part] = stage.steps[stage.next];
      const bool ready =
          kind == Kind::forward
              ? i == 0 || before[i - 1].forwards > part
              : (i + 1 == all.size() ? before[i].forwards > part : before[i + 1].backwards > part);
      if (!ready) continue;
      ++stage.next;
      ++(kind == Kind::forward ? stage.forwards : stage.backwards);
      worked = true;
    }
  }
  for (const Stage& stage : all)
    if (stage.next != stage.steps.size()) return -1;
  return time - 1;
}

TEST(PipelineScheduleTest, OneStageEndsEachPartBeforeTheNext) {
  EXPECT_EQ(one_forward_one_backward(1, 0, 2),
            (std::vector<PipelineStep>{
                {Kind::forward, 0}, {Kind::backward, 0}, {Kind::forward, 1}, {Kind::backward, 1}}));
}

TEST(PipelineScheduleTest, TheFirstOfThreeStagesBeginsThreePartsBeforeItEndsOne) {
  EXPECT_EQ(one_forward_one_backward(3, 0, 4), (std::vector<PipelineStep>{{Kind::forward, 0},
                                                                          {Kind::forward, 1},
                                                                          {Kind::forward, 2},
                                                                          {Kind::backward, 0},
                                                                          {Kind::forward, 3},
                                                                          {Kind::backward, 1},
                                                                          {Kind::backward, 2},
                                                                          {Kind::backward, 3}}));
}

TEST(PipelineScheduleTest, EveryPartGoesForwardAndBackOnceInOrder) {
  for (std::int64_t stages = 1; stages <= 6; ++stages)
    for (std::int64_t parts = 1; parts <= 12; ++parts)
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        std::int64_t forwards = 0;
        std::int64_t backwards = 0;
        std::int64_t most = 0;
        for (const auto& [kind, part] : one_forward_one_backward(stages, stage, parts)) {
          EXPECT_EQ(part, kind == Kind::forward ? forwards : backwards);
          ++(kind == Kind::forward ? forwards : backwards);
          most = std::max(most, forwards - backwards);
        }
        EXPECT_EQ(forwards, parts);
        EXPECT_EQ(backwards, parts);
        EXPECT_EQ(most, std::min(parts, stages - stage)) << "parts that a stage keeps";
      }
}

TEST(PipelineScheduleTest, NoStageWaitsLongerThanTheBubble) {
  for (std::int64_t stages = 1; stages <= 6; ++stages)
    for (std::int64_t parts = 1; parts <= 12; ++parts) {
      // Of these 2 · parts are work: a stage waits for (stages - 1) / (parts + stages - 1) of them.
      ASSERT_EQ(time_of(stages, parts), 2 * (parts + stages - 1))
          << stages << " stages, " << parts << " parts";
    }
}

}  // namespace
}  // namespace assay::train
