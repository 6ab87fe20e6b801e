#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

plan::CasePlan strict_plan(int procs) {
  auto plan = case_plan(1, procs);
  plan.rules = {rule("ranks-ended-ok", "ranks_failed", std::nullopt, 0),
                rule("min-steps", "steps", 1000, std::nullopt),
                rule("finite-loss", "nonfinite_losses", std::nullopt, 0)};
  return plan;
}

RoundEvidence with_status(RoundStatus status, std::vector<RankEvidence> ranks) {
  RoundEvidence round = round_of(std::move(ranks));
  round.status = status;
  return round;
}

TEST(FailedRound, NamesTheRankThatFailedFirstAndItsLog) {
  std::vector<RankEvidence> ranks;
  for (int r = 0; r < 8; ++r) {
    ranks.push_back(constant_rank(r));
    ranks.back().exit = ExitStatus{std::nullopt, 15};
    ranks.back().ended_by = EndedBy::stop;
    ranks.back().end = moment(7.5);
  }
  ranks[3].exit = ExitStatus{std::nullopt, 11};
  ranks[3].ended_by = EndedBy::itself;
  ranks[3].end = moment(7);
  const RoundResult round = judge_round(strict_plan(8), with_status(RoundStatus::failed, ranks));
  EXPECT_EQ(round.validity, Validity::invalid);
  ASSERT_THAT(round.findings, SizeIs(1));  // no rule repeats it
  const Finding& f = round.findings[0];
  EXPECT_EQ(f.rule, "round-failed");
  EXPECT_EQ(
      f.reason,
      "rank 3 on node0 ended with SIGSEGV after 7.00 s; ranks 0–2, 4–7 did not end well either");
  EXPECT_THAT(f.advice, HasSubstr("see case/round1/node0_noderank0/rank3.out.log"));
  EXPECT_EQ(f.where, "round 1, rank 3 on node0");
  EXPECT_EQ(round.reason, f.reason);
}

TEST(FailedRound, QuotesTheLastLinesOfTheCulprit) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{1, std::nullopt};
  rank.log.last_lines = {"Traceback (most recent call last):", "RuntimeError: out of memory"};
  const RoundResult round = judge_round(strict_plan(1), with_status(RoundStatus::failed, {rank}));
  ASSERT_NE(finding(round.findings, "round-failed"), nullptr);
  EXPECT_EQ(finding(round.findings, "round-failed")->quote, rank.log.last_lines);
}

TEST(FailedRound, StillShowsWhatMayExplainIt) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{1, std::nullopt};
  rank.log.nonfinite_losses = 3;
  const RoundResult round = judge_round(strict_plan(1), with_status(RoundStatus::failed, {rank}));
  EXPECT_NE(finding(round.findings, "finite-loss"), nullptr);
  EXPECT_EQ(finding(round.findings, "min-steps"), nullptr);
}

TEST(FailedRound, KeepsTheReasonOfTheJournal) {
  RoundEvidence evidence = with_status(RoundStatus::failed, {});
  evidence.reason = "the container could not be kept";
  const RoundResult round = judge_round(case_plan(), evidence);
  EXPECT_EQ(round.reason, "the container could not be kept");
  EXPECT_EQ(round.findings[0].reason, "the container could not be kept");
}

TEST(FailedRound, AdvisesForACommandThatWasNotFound) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{127, std::nullopt};
  const RoundResult round = judge_round(case_plan(), with_status(RoundStatus::failed, {rank}));
  EXPECT_THAT(round.findings[0].advice, HasSubstr("not found"));
}

TEST(TimedOutRound, NamesTheRankThatGotLeastFar) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1, {.steps = 40}),
                                  constant_rank(2)};
  for (RankEvidence& rank : ranks) {
    rank.exit = ExitStatus{std::nullopt, 9};
    rank.ended_by = EndedBy::time_limit;
  }
  auto plan = case_plan(1, 3);
  plan.limits.time = std::chrono::minutes(5);
  const RoundResult round = judge_round(plan, with_status(RoundStatus::timed_out, ranks));
  EXPECT_EQ(round.validity, Validity::invalid);
  EXPECT_THAT(round.findings[0].reason, HasSubstr("did not end within 5m; ranks 0–2"));
  EXPECT_THAT(round.findings[0].reason, HasSubstr("rank 1 on node0 at step 40"));
  EXPECT_EQ(round.ranks[0].ended_by, "assay: time limit");
}

TEST(StalledRound, NamesNobodyAsLeastFarWhereAllAreEqual) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1), constant_rank(2)};
  for (RankEvidence& rank : ranks) {
    rank.exit = ExitStatus{std::nullopt, 9};
    rank.ended_by = EndedBy::stall;
    rank.log.last_lines = {"log of rank " + std::to_string(rank.rank)};
  }
  RoundEvidence evidence = with_status(RoundStatus::stalled, ranks);
  evidence.culprits = {1};
  const RoundResult round = judge_round(case_plan(1, 3), evidence);
  EXPECT_THAT(round.findings[0].reason, HasSubstr("ranks 0–2 had to be ended"));
  EXPECT_THAT(round.findings[0].reason, Not(HasSubstr("least far")));
  EXPECT_THAT(round.findings[0].quote, ElementsAre("log of rank 1"));
}

TEST(StalledRound, IsInvalid) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{std::nullopt, 9};
  rank.ended_by = EndedBy::stall;
  const RoundResult round = judge_round(case_plan(), with_status(RoundStatus::stalled, {rank}));
  EXPECT_EQ(round.validity, Validity::invalid);
  EXPECT_EQ(round.findings[0].rule, "round-stalled");
  EXPECT_THAT(round.findings[0].advice, HasSubstr("rank0.out.log"));
}

TEST(StalledRound, AdvisesByItsCause) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{std::nullopt, 9};
  rank.ended_by = EndedBy::stall;
  RoundEvidence evidence = with_status(RoundStatus::stalled, {rank});
  const auto advice = [&] { return judge_round(case_plan(), evidence).findings[0].advice; };
  EXPECT_THAT(advice(), AllOf(HasSubstr("what it waits for"), Not(HasSubstr("deadlock"))))
      << "there is nobody to wait for";
  evidence.reason = "rank 0 on n1 made no step for 5 s (last step 7, stopped by a signal)";
  EXPECT_THAT(advice(), HasSubstr("kill -CONT"));
  evidence.reason.clear();
  evidence.ranks = {constant_rank(0), constant_rank(1)};
  EXPECT_THAT(advice(), HasSubstr("deadlock"));
}

TEST(LostRound, IsIncompleteAndNamesTheHost) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  for (RankEvidence& rank : ranks) {
    rank.exit.reset();
    rank.end.reset();
    rank.ended_by.reset();
  }
  const RoundResult round = judge_round(case_plan(1, 2), with_status(RoundStatus::lost, ranks));
  EXPECT_EQ(round.validity, Validity::incomplete);
  EXPECT_THAT(round.findings[0].where, HasSubstr("ranks 0, 1 on node0"));
  EXPECT_FALSE(metric(round, "e2e_time"));
}

TEST(LostRound, NamesAllHostsThatWereLost) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1), constant_rank(2)};
  for (RankEvidence& rank : ranks) {
    rank.host = fmt::format("n{}", rank.rank);
    rank.exit.reset();
    rank.end.reset();
    rank.ended_by.reset();
  }
  ranks[1] = constant_rank(1);
  const RoundResult round = judge_round(case_plan(1, 3), with_status(RoundStatus::lost, ranks));
  EXPECT_THAT(round.findings[0].where, HasSubstr("ranks 0, 2 on n0, n2"));
}

TEST(UnrecordedRound, NamesAllHostsWhoseLogsDidNotCome) {
  RoundEvidence evidence = with_status(RoundStatus::unrecorded, {constant_rank(0)});
  evidence.nodes.clear();
  for (const int node : {0, 1, 2}) {
    evidence.nodes.emplace_back();
    evidence.nodes.back().node = node;
    evidence.nodes.back().host = fmt::format("n{}", node);
  }
  evidence.gaps = {{0, "logs", 0, "no space"}, {2, "logs", 0, "no space"}};
  EXPECT_THAT(judge_round(case_plan(), evidence).findings[0].where, HasSubstr("on n0, n2"));
}

TEST(LostRound, OfAJobOfAServiceHasTheAdviceOfWhoFollowedIt) {
  RoundEvidence evidence = with_status(RoundStatus::lost, {constant_rank(0)});
  evidence.reason = "job j (1) does not exist any more";
  evidence.advice = "it was deleted from outside; --resume makes a new one";
  EXPECT_THAT(judge_round(case_plan(), evidence).findings[0].advice, HasSubstr("the node is up"));
  evidence.supervised = false;
  EXPECT_EQ(judge_round(case_plan(), evidence).findings[0].advice, evidence.advice);
}

TEST(FailedRound, HasItsReasonFirstWhereItsRanksWereStopped) {
  RankEvidence rank = constant_rank(0);
  rank.exit = ExitStatus{143, std::nullopt};
  rank.ended_by = EndedBy::stop;
  RoundEvidence evidence = with_status(RoundStatus::failed, {rank});
  evidence.reason = "the experiment failed: no worker is left";
  EXPECT_EQ(judge_round(case_plan(), evidence).findings[0].reason, evidence.reason);
  evidence.ranks[0].ended_by = EndedBy::itself;
  EXPECT_THAT(judge_round(case_plan(), evidence).findings[0].reason, HasSubstr("exit 143"));
}

TEST(UnrecordedRound, OfAJobOfAServiceHasTheAdviceOfWhoFollowedIt) {
  RoundEvidence evidence = with_status(RoundStatus::unrecorded, {constant_rank(0)});
  evidence.advice = "let the job give its results other names";
  EXPECT_THAT(judge_round(case_plan(), evidence).findings[0].advice, HasSubstr("free space"));
  evidence.supervised = false;
  EXPECT_EQ(judge_round(case_plan(), evidence).findings[0].advice, evidence.advice);
}

TEST(UnrecordedRound, SaysWhatCouldNotBeWrittenAndHowToRunItAgain) {
  RoundEvidence evidence = with_status(RoundStatus::unrecorded, {constant_rank(0)});
  evidence.reason = "rank0.out.log could not be written on node0: No space left on device";
  const RoundResult round = judge_round(case_plan(), evidence);
  const Finding* found = finding(round.findings, "round-unrecorded");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->reason, evidence.reason);
  EXPECT_THAT(found->advice, HasSubstr("--resume RUN --failed"));
}

TEST(OtherEndings, AreIncomplete) {
  for (const RoundStatus status : {RoundStatus::interrupted, RoundStatus::launch_failed,
                                   RoundStatus::unrecorded, RoundStatus::not_run}) {
    const RoundResult round = judge_round(case_plan(), with_status(status, {}));
    EXPECT_EQ(round.validity, Validity::incomplete) << to_text(status);
    ASSERT_FALSE(round.findings.empty());
    EXPECT_FALSE(round.findings[0].advice.empty());
  }
}

}  // namespace
}  // namespace assay::judge
