#include <csignal>

#include "launch/run_records.h"
#include "unit/launch/run_loop_test.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One case, "a", that is repeated until its result is certain.
class RepeatUntilTest : public RunLoopTest {
 protected:
  RepeatUntilTest() {
    plan_.cases.resize(1);
    plan_.cases[0].repeats = 6;
    plan_.cases[0].until = plan::RepeatUntil{0.02, 3};
    enough_ = [this](const plan::CasePlan&) -> std::optional<std::string> {
      ++asked_;
      if (journal("round_end").size() < enough_after_) return std::nullopt;
      return "it is certain";
    };
  }
  std::size_t enough_after_ = 4;
  int asked_ = 0;
};

TEST_F(RepeatUntilTest, EndsWhenTheRoundsAreEnoughAndSaysWhy) {
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls,
              ElementsAre("prepare", "describe", "a 1", "a 2", "a 3", "a 4", "close"));
  EXPECT_EQ(asked_, 2) << "not before its fewest rounds";
  EXPECT_THAT(read_file(folder_.path() / "run1" / "journal.jsonl"),
              HasSubstr(R"("event":"repeats_end")"));
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 4 rounds: it is certain"));
}

TEST_F(RepeatUntilTest, EndsAtItsLimit) {
  enough_after_ = 100;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(journal("round_end").size(), 6U);
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 6 rounds: more are not allowed"));
}

TEST_F(RepeatUntilTest, CountsNoWarmUpRound) {
  plan_.cases[0].warmup_rounds = 2;
  enough_after_ = 0;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(journal("round_end").size(), 5U);
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 3 rounds: it is certain"));
}

TEST_F(RepeatUntilTest, GoesOnWhereItWasInterrupted) {
  script_.outcomes = {{RoundStatus::completed},
                      {RoundStatus::completed},
                      {RoundStatus::completed},
                      {RoundStatus::interrupted, "stopped by the user"}};
  script_.during_round = [](const RoundTask& task) {
    if (task.number == 4) ::raise(SIGTERM);
  };
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_TRUE(journal("repeats_end").empty());
  script_.during_round = {};
  script_.calls.clear();
  asked_ = 0;
  enough_after_ = 6;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 4", "a 5", "close"));
  EXPECT_EQ(asked_, 2) << "a round that was begun is run to its end";
}

TEST_F(RepeatUntilTest, KeepsItsDecisionWhenItIsResumed) {
  (void)execute();
  script_.calls.clear();
  asked_ = 0;
  enough_after_ = 100;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(journal("repeats_end").size(), 1U);
}

TEST_F(RepeatUntilTest, DecidesAgainWhenAFailedRoundIsReopened) {
  script_.outcomes = {{RoundStatus::completed}, {RoundStatus::completed}, {RoundStatus::failed}};
  enough_after_ = 3;
  EXPECT_EQ(execute(), RunStatus::failed);
  const store::RunDir run = store::RunDir::open(folder_.path() / "run1");
  EXPECT_EQ(reopen_failed_rounds(run), 1);
  script_.calls.clear();
  enough_after_ = 5;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 3", "a 4", "close"));
  EXPECT_EQ(journal("repeats_end").size(), 2U);
}

}  // namespace
}  // namespace assay::launch
