#include "unit/launch/cloud/job_machine_test.h"

namespace assay::launch {
namespace {

using cloud::JobPhase;
using store::JournalEvent;
using ::testing::ElementsAre;

TEST_F(JobMachineTest, RanksStartAndEndWhenTheServiceSaysSo) {
  (void)following();
  (void)look(4, job(JobPhase::waiting));
  (void)machine_.tick(at(6));
  const Actions started = look(10, running());
  EXPECT_EQ(started.journal.at(1).node, 1);
  const auto start = fields_from_any<store::RankStart>(started.journal[1].fields);
  EXPECT_EQ(start.rank, 4);
  EXPECT_EQ(start.service_ms, 5000);
  EXPECT_DOUBLE_EQ(start.late_s.value(), 7);  // it was asked about at 3
  EXPECT_TRUE(started.save);
  (void)machine_.tick(at(11));
  ServiceJob done = completed();
  done.exit_codes = {{1, 0}};
  (void)look(12, done, {{0, 9}, {1, 8}});
  const Actions ended = logs(13, {{0, 9}, {1, 8}});
  const store::RankExit exit = exit_of(ended, 1);
  EXPECT_EQ(exit.rank, 4);
  EXPECT_EQ(exit.code, 0);
  EXPECT_TRUE(exit.ended_by == EndedBy::itself);
  EXPECT_EQ(exit.log_bytes, 8U);
  EXPECT_EQ(exit.service_ms, 8000);
  EXPECT_DOUBLE_EQ(exit.late_s.value(), 7);     // and at 6
  EXPECT_DOUBLE_EQ(exit.within_s.value(), 11);  // it was asked for at 2
}

TEST_F(JobMachineTest, ReadsLogsPieceByPieceFromWhereTheyEnd) {
  constexpr std::uint64_t kMiB = 1 << 20;
  (void)sizing();
  Actions todo = machine_.log_sizes(at(4), {{0, 9 * kMiB}, {1, 5}});
  EXPECT_EQ(todo.piece.node, 0);
  EXPECT_EQ(todo.piece.size, 8 * kMiB);
  todo = machine_.read(at(4), 8 * kMiB);
  EXPECT_EQ(todo.piece.offset, 8 * kMiB);
  EXPECT_EQ(todo.piece.size, kMiB);
  todo = machine_.read(at(4), 0);  // it has no more of it yet
  EXPECT_EQ(todo.piece.node, 1);
  todo = machine_.read(at(4), 5);
  EXPECT_EQ(summary(todo), "pause");
  EXPECT_TRUE(todo.save);
  EXPECT_THAT(machine_.state().mirrored, ElementsAre(std::pair(0, 8 * kMiB), std::pair(1, 5)));
}

TEST_F(JobMachineTest, ALogThatBeganAgainIsPutAfterTheEarlierOne) {
  (void)following();
  (void)look(4, running(), {{0, 100}, {1, 5}});
  (void)machine_.tick(at(5));
  (void)machine_.told(at(5), running());
  Actions todo = machine_.log_sizes(at(5), {{0, 30}, {1, 5}});
  EXPECT_EQ(summary(todo), "compare");
  EXPECT_EQ(todo.piece.offset, 0U);
  EXPECT_EQ(todo.piece.size, 30U);
  todo = machine_.compared(at(5), false);
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::gap));
  EXPECT_EQ(todo.journal[0].fields["reason"], "the log of worker-0 began again");
  EXPECT_TRUE(todo.save);
  EXPECT_EQ(todo.piece.offset, 0U);
  (void)machine_.read(at(5), 30);
  (void)machine_.tick(at(6));
  (void)look(6, completed(), {{0, 30}, {1, 5}});
  EXPECT_EQ(exit_of(logs(7, {{0, 30}, {1, 5}}), 0).log_bytes, 130U);
}

TEST_F(JobMachineTest, AnAnswerThatIsOlderThanTheOneBeforeDoublesNoLog) {
  (void)following();
  (void)look(4, running(), {{0, 100}, {1, 5}});
  (void)machine_.tick(at(5));
  (void)machine_.told(at(5), running());
  EXPECT_EQ(summary(machine_.log_sizes(at(5), {{0, 30}, {1, 5}})), "compare");
  EXPECT_EQ(summary(machine_.compared(at(5), true)), "pause");
  (void)machine_.tick(at(6));
  (void)machine_.told(at(6), running());
  // As long as before, or longer: it may also have begun again, and grown.
  EXPECT_EQ(summary(machine_.log_sizes(at(6), {{0, 110}, {1, 5}})), "compare");
  const Actions todo = machine_.compared(at(6), true);
  EXPECT_EQ(summary(todo), "read");
  EXPECT_EQ(todo.piece.offset, 100U);
  EXPECT_EQ(todo.piece.size, 10U);
}

TEST_F(JobMachineTest, AServiceThatDoesNotSayWhenItsJobRanIsNamedWithTheField) {
  ServiceJob done = completed();
  done.started_ms = 0;
  (void)settled(done);
  (void)machine_.fetched(1, 1, {});
  const Actions todo = machine_.measured({});
  EXPECT_TRUE(todo.outcome.status == RoundStatus::unrecorded);
  EXPECT_THAT(todo.outcome.reason, ::testing::HasSubstr("there is no ran_at in what https://jobs"));
}

TEST_F(JobMachineTest, WhatTheServiceStillUploadsOfTheLogsIsWaitedForTwentyTimes) {
  (void)pausing();
  (void)machine_.tick(at(5));
  (void)look(5, completed(), {{0, 9}});
  for (int asked = 1; asked < 20; ++asked) {
    EXPECT_EQ(summary(logs(5 + asked, {{0, 9}})), "pause");
    EXPECT_EQ(summary(machine_.tick(at(6 + asked))), "size");
  }
  (void)logs(30, {{0, 9}});
  const Actions todo = machine_.tick(at(31));
  EXPECT_EQ(summary(todo), "fetch");
  EXPECT_FALSE(exit_of(todo, 1).log_bytes);
  (void)machine_.fetched(0, 0, {});
  const Actions ended = machine_.measured({});
  EXPECT_EQ(ended.outcome.status, RoundStatus::unrecorded);
  EXPECT_EQ(ended.outcome.reason, "the service says nothing of a log of worker-1 of job n");
  EXPECT_TRUE(ended.save && machine_.state().over);
}

TEST_F(JobMachineTest, ALogThatGrowsAtTheEndIsReadToItsEnd) {
  (void)following();
  (void)look(4, completed());
  EXPECT_EQ(summary(logs(5, {{0, 9}, {1, 9}})), "pause");
  (void)machine_.tick(at(6));
  EXPECT_EQ(summary(logs(6, {{0, 9}, {1, 9}})), "fetch");
}

TEST_F(JobMachineTest, AJobWithoutLogsMayHaveNoneWhereTheServiceDoesNotTellOfAll) {
  EXPECT_EQ(summary(settled(completed())), "fetch");
  JobMachine::Setup with = setup();
  with.tells_every_log = true;
  machine_ = JobMachine(with);
  EXPECT_EQ(summary(settled(completed())), "pause");
}

TEST_F(JobMachineTest, TheNameOfItsLogsIsKept) {
  ServiceJob named = running();
  named.log_name = "modelarts-job-";
  (void)following();
  EXPECT_TRUE(machine_.told(at(4), named).save);
  EXPECT_EQ(machine_.state().logs, "modelarts-job-");
  (void)logs(4, {});
  (void)machine_.tick(at(5));
  EXPECT_FALSE(machine_.told(at(5), running()).save);
  EXPECT_EQ(machine_.seen().log_name, "modelarts-job-");
}

TEST_F(JobMachineTest, ResultsThatCannotBeKeptAreUnrecorded) {
  (void)settled(completed(), {{0, 1}});
  (void)machine_.fetched(1, 3, {"a/b: why", "c: why"});
  const Actions todo = machine_.measured({});
  EXPECT_EQ(todo.outcome.status, RoundStatus::unrecorded);
  EXPECT_EQ(todo.outcome.reason, "not all results of job n can be kept: a/b: why; c: why");
  EXPECT_TRUE(machine_.state().over);
}

TEST_F(JobMachineTest, AServiceThatGivesNoUtilizationIsAWarning) {
  (void)measuring();
  const Actions todo = machine_.failed(at(9), error());
  EXPECT_EQ(todo.warning, "the service gave no utilization: broken");
  EXPECT_FALSE(todo.journal.at(0).fields.contains("device_util_percent"));
}

}  // namespace
}  // namespace assay::launch
