#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

Facts facts_of(const RoundEvidence& round, const plan::CasePlan& plan = case_plan()) {
  Facts facts;
  (void)judge_round(plan, round, &facts);
  return facts;
}

TEST(Completeness, NamesTheRankThatLeavesInTheMiddleWithExitCode0) {
  RankEvidence rank = constant_rank(1, {.steps = 25});
  rank.log.train_end = {};
  audit(rank.log);
  const Facts facts = facts_of(round_of({constant_rank(0, {.steps = 60}), rank}), case_plan(1, 2));
  EXPECT_EQ(facts.at("train_unended").value, 1);
  EXPECT_THAT(facts.at("train_unended").detail, HasSubstr("rank 1 left after step 25, see case/"));
  EXPECT_EQ(facts.at("steps_uneven").value, 35);
  EXPECT_EQ(facts.at("steps_uneven").detail, "rank 1: 25; rank 0: 60");
}

TEST(Completeness, LeavesARankThatFailedToTheRuleAboutFailures) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.training_open = true;
  rank.exit = ExitStatus{1, std::nullopt};
  EXPECT_EQ(facts_of(round_of({rank})).at("train_unended").value, 0);
}

TEST(Completeness, ExpectsAnEndOfEveryProcessOfANodesLog) {
  plan::CasePlan plan = case_plan(1, 2);
  plan.launch = plan::LaunchMode::per_node;
  RankEvidence node = constant_rank(0);
  node.log.tracks.push_back(node.log.tracks[0]);
  node.log.audit.train_starts = node.log.audit.train_ends = 2;
  EXPECT_EQ(facts_of(round_of({node}), plan).at("train_unended").value, 0);
  node.log.audit.train_ends = 1;
  EXPECT_EQ(facts_of(round_of({node}), plan).at("train_unended").value, 1);
  // Torch's elastic launcher started both again: who ended is not known.
  node.log.audit.train_starts = 4;
  EXPECT_EQ(facts_of(round_of({node}), plan).at("train_unended").value, 0);
}

TEST(Completeness, LetsOnlySomeRanksLogSteps) {
  RankEvidence first_stage = constant_rank(0);
  first_stage.log.tracks.clear();
  const RoundEvidence round = round_of({first_stage, constant_rank(1)});
  EXPECT_FALSE(facts_of(round, case_plan(1, 2)).contains("steps_uneven"));
}

TEST(Completeness, MissesWhatTheAgentHadWritten) {
  RankEvidence rank = constant_rank(0);
  rank.log.bytes = 4'000;
  rank.output_bytes = 10'000;
  rank.dropped_bytes = 2'000;
  rank.seen_steps = 180;
  const Facts facts = facts_of(round_of({rank}));
  EXPECT_EQ(facts.at("log_bytes_missing").value, 4'000);
  EXPECT_THAT(facts.at("log_bytes_missing").detail,
              HasSubstr("has 4000 bytes, and its agent had written 8000"));
  EXPECT_EQ(facts.at("logged_steps_missing").value, 80);
  EXPECT_THAT(facts.at("logged_steps_missing").detail, HasSubstr("100 of the 180"));
}

TEST(Completeness, MissesWhatAJobsServiceHasAndDidNotHandOut) {
  RankEvidence rank = constant_rank(0);
  rank.log.bytes = 0;
  rank.output_bytes = 17'696;
  RoundEvidence round = round_of({rank});
  round.supervised = false;
  const Facts facts = facts_of(round);
  EXPECT_EQ(facts.at("log_bytes_missing").value, 17'696);
  EXPECT_THAT(facts.at("log_bytes_missing").detail,
              HasSubstr("has 0 bytes, and the job's service says 17696"));
}

TEST(Completeness, AllowsWhatProcessesWriteAfterTheirRank) {
  RankEvidence rank = constant_rank(0);
  rank.log.bytes = 5'000;
  rank.output_bytes = 4'000;
  rank.seen_steps = 90;
  const Facts facts = facts_of(round_of({rank}));
  EXPECT_EQ(facts.at("log_bytes_missing").value, 0);
  EXPECT_EQ(facts.at("logged_steps_missing").value, 0);
}

TEST(Completeness, KnowsNothingOfOutputThatNoAgentReceived) {
  EXPECT_FALSE(facts_of(round_of({constant_rank(0)})).contains("log_bytes_missing"));
}

}  // namespace
}  // namespace assay::judge
