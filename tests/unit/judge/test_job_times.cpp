// Jobs of a service: no agent saw their ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/round_journal.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

/// Trains for 10 s from the second 2 on. Here 14 s went by, and the service says `told_s`.
RankEvidence job_rank(std::optional<double> told_s = 13, double started = 1) {
  RankEvidence rank = constant_rank(0);
  rank.job_within_s = 14;
  rank.seen_end = moment(14);
  if (told_s) {
    rank.by_service = true;
    rank.start = moment(started);
    rank.end = moment(started + *told_s);
  }
  return rank;
}

Fact outside(const RankEvidence& rank) {
  RoundEvidence round = round_of({rank});
  round.supervised = false;
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  return facts.at("times_outside_run_s");
}

TEST(JobTimes, TakesALogThatFitsIntoTheJob) {
  EXPECT_EQ(outside(job_rank()).value, 0);
  EXPECT_EQ(outside(job_rank(std::nullopt)).value, 0);
}

TEST(JobTimes, ALogCannotBeLongerThanWhatWentByHere) {
  RankEvidence rank = job_rank(std::nullopt);
  rank.job_within_s = 3.4;
  const Fact fact = outside(rank);
  EXPECT_NEAR(fact.value, 10 - 3.4, 1e-6);
  EXPECT_THAT(fact.detail,
              HasSubstr("is 10.000 s later than line 1, but from asking for the job to seeing its "
                        "end 3.400 s went by here"));
}

TEST(JobTimes, ALogCannotBeLongerThanTheJobByItsService) {
  const Fact fact = outside(job_rank(0.001));
  EXPECT_NEAR(fact.value, 9.999, 1e-6);
  EXPECT_THAT(fact.detail, HasSubstr("but the job took 0.001 s by its service"));
  EXPECT_GT(outside(job_rank(9.4, 1.25)).value, 0);
  EXPECT_EQ(outside(job_rank(9.6)).value, 0) << "who notes the start a little late";
  EXPECT_EQ(outside(job_rank(9)).value, 0) << "in whole seconds";
  EXPECT_EQ(outside(job_rank(8.75, 1.25)).value, 0) << "its end in whole seconds";
}

TEST(JobTimes, OneClockThatWasSetDoesNotMakeALogLonger) {
  RankEvidence rank = job_rank();
  rank.log.audit.wall_last.at.wall_ms += 60'000;
  EXPECT_EQ(outside(rank).value, 0);
  rank.log.audit.mono_last.at.mono_us += 60'000'000;
  EXPECT_GT(outside(rank).value, 50);
}

TEST(JobTimes, WhatThingsTookIsNotLongerThanTheJob) {
  RankEvidence rank = job_rank();
  rank.log.finished.emplace();
  rank.log.finished->train_time_s = 99;
  EXPECT_THAT(outside(rank).detail, HasSubstr("says train_time 99 s, but the job took 13.000 s"));
}

TEST(JobTimes, AServicesJobIsNotLongerThanWhatWentByHere) {
  EXPECT_THAT(outside(job_rank(3602)).detail,
              HasSubstr("rank 0: the job took 3602.000 s by its service, but from asking"));
}

TEST(JobTimes, ALogIsOfThatDayWhateverClocksTheMachinesHave) {
  for (const double hour : {-1.0, 1.0}) {
    RankEvidence rank = job_rank();
    move_times(rank.log, 0, hour * 3'500);
    EXPECT_EQ(outside(rank).value, 0) << hour;
    rank = job_rank();
    move_times(rank.log, 0, hour * 3'700);
    EXPECT_GT(outside(rank).value, 3'600) << hour;
  }
  RankEvidence old = job_rank();
  move_times(old.log, 0, -365 * 86'400.0);
  EXPECT_THAT(outside(old).detail, HasSubstr("s before the job was asked for"));
}

TEST(JobTimes, AreInTheJournal) {
  const std::vector<Json> events{
      {{"event", "round_start"}, {"case", "c"}, {"round", 1}, {"wall_ns", 1'000}, {"mono_ns", 1}},
      {{"event", "rank_exit"},
       {"case", "c"},
       {"round", 1},
       {"rank", 0},
       {"code", 0},
       {"ended_by", "itself"},
       {"wall_ns", 5'000'000'000},
       {"mono_ns", 4'000'000'000},
       {"within_s", 3.5},
       {"log_bytes", 17'696}}};
  const RoundEvidence round = RoundJournal(events).round("c", 1);
  ASSERT_EQ(round.ranks.size(), 1U);
  EXPECT_EQ(round.ranks[0].job_within_s, 3.5);
  ASSERT_TRUE(round.ranks[0].seen_end);
  EXPECT_EQ(round.ranks[0].seen_end->wall_ns, 5'000'000'000);
  EXPECT_EQ(round.ranks[0].output_bytes, 17'696U);
}

}  // namespace
}  // namespace assay::judge
