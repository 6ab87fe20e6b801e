#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "store/journal_records.h"
#include "unit/launch/round_machine_test.h"

namespace assay::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RoundMachineTest, CompletesWhenEveryNodeHasEnded) {
  start_ranks();
  (void)exit(5, 0, kOk);
  (void)end(5, 0);
  EXPECT_FALSE(machine_.over());
  (void)exit(6, 1, kOk);
  (void)end(6, 1);
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::completed);
  EXPECT_EQ(machine_.progress().ended, 2);
}

agent::Gap gap(const std::string& file) {
  agent::Gap gap;
  gap.source = "rank1.out.log";
  gap.reason = "No space left on device";
  gap.file = file;
  return gap;
}

TEST_F(RoundMachineTest, EvidenceThatCannotBeWrittenIsAFailureOfTheMachineHoweverTheRanksEnd) {
  for (const ExitStatus& status : {kOk, ExitStatus{1, {}}}) {
    machine_ = RoundMachine(setup());
    machine_.begin(0);
    start_ranks();
    EXPECT_EQ(report(1, 1, gap("rank1.out.log")).journal[0].fields["file"], "rank1.out.log");
    (void)exit(5, 1, status);
    EXPECT_EQ(outcome().status, RoundStatus::unrecorded);
    EXPECT_THAT(outcome().reason,
                HasSubstr("rank1.out.log could not be written on beta: No space"));
    EXPECT_THAT(outcome().advice, HasSubstr("--resume RUN --failed"));
  }
}

TEST_F(RoundMachineTest, AGapThatLosesNoEvidenceChangesNoOutcome) {
  start_ranks();
  (void)report(1, 1, gap(""));
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(RoundMachineTest, ALostAgentIsNoFailureToWrite) {
  start_ranks();
  (void)report(1, 1, gap("rank1.out.log"));
  (void)machine_.lost(ns(2), 0, "gone");
  EXPECT_EQ(outcome().status, RoundStatus::lost);
}

TEST_F(RoundMachineTest, JournalsWhatAgentsReportWithoutTheRoundsId) {
  const auto started = report(1, 1, agent::RankStart{7, 3, 42, {11, 12}});
  ASSERT_EQ(started.journal.size(), 1U);
  EXPECT_EQ(started.journal[0].event, store::JournalEvent::rank_start);
  EXPECT_EQ(started.journal[0].node, 1);
  EXPECT_EQ(started.journal[0].fields["rank"], 7);
  EXPECT_EQ(started.journal[0].fields["wall_ns"], 12);
  const auto ended = end(2, 1);
  EXPECT_EQ(ended.journal[0].event, store::JournalEvent::node_end);
  EXPECT_FALSE(ended.journal[0].fields.contains("id"));
}

TEST_F(RoundMachineTest, WhatAgentsReportOfRanksIsReadAsTheyMeantIt) {
  agent::RankStart start{7, 3, 42, {11, 12}};
  start.bound = CpuSet::parse("0-1");
  const Json line = report(1, 1, start).journal.at(0).fields;
  const auto read = fields_from_any<store::RankStart>(line);
  EXPECT_EQ(read.rank, 7);
  EXPECT_EQ(read.local_rank, 3);
  EXPECT_EQ(read.pid, 42);
  EXPECT_EQ(read.bound, start.bound);
  EXPECT_EQ(store::instant_of(line)->wall_ns, 12);

  agent::RankExit exit;
  exit.rank = 7;
  exit.local_rank = 3;
  exit.exit.signal = 9;
  exit.ended_by = EndedBy::stall;
  exit.log_bytes = 4;
  exit.dropped_bytes = 5;
  exit.steps = 6;
  exit.rests = true;
  exit.ran_on = CpuSet::parse("1");
  const auto end = fields_from_any<store::RankExit>(report(2, 1, exit).journal.at(0).fields);
  EXPECT_EQ(end.rank, 7);
  EXPECT_EQ(end.local_rank, 3);
  EXPECT_EQ(end.signal, 9);
  EXPECT_FALSE(end.code);
  EXPECT_TRUE(end.ended_by == EndedBy::stall);
  EXPECT_EQ(end.log_bytes, 4U);
  EXPECT_EQ(end.dropped_bytes, 5U);
  EXPECT_EQ(end.steps, 6U);
  EXPECT_EQ(end.rests, true);
  EXPECT_EQ(end.ran_on, exit.ran_on);
}

TEST_F(RoundMachineTest, JournalsTheHeadsOfChainsAtMostEveryTenSeconds) {
  std::vector<std::string> journaled;
  const auto hear = [&](double at_s, int node, const std::string& head,
                        const std::string& id = "r") {
    agent::Heartbeat beat;
    beat.id = id;
    beat.head = head;
    beat.at = {7, 8};
    for (const RoundMachine::JournalEntry& entry : report(at_s, node, beat).journal) {
      if (entry.event == store::JournalEvent::gap) continue;  // it was not heard for a while
      EXPECT_EQ(entry.event, store::JournalEvent::chain);
      EXPECT_EQ(entry.fields["wall_ns"], 8) << "the agent's stamp: the journal adds its own";
      journaled.push_back(std::to_string(entry.node) + entry.fields["head"].get<std::string>());
    }
  };
  hear(1, 0, "a", "an earlier round");
  hear(1, 0, "");
  hear(1, 0, "a");
  hear(2, 0, "b");
  hear(2, 1, "x");
  hear(11, 0, "c");
  hear(30, 0, "c");
  EXPECT_THAT(journaled, ElementsAre("0a", "1x", "0c"));
}

TEST_F(RoundMachineTest, KeepsWhatAnAgentSaysOfItsFiles) {
  EXPECT_FALSE(machine_.files(0));
  agent::RoundEnd ended;
  ended.id = "r";
  ended.files = {{"rank0.out.log", 3, 1, std::string(64, 'a')}};
  ended.head = std::string(64, 'b');
  const auto actions = report(1, 0, ended);
  ASSERT_TRUE(machine_.files(0));
  EXPECT_EQ(machine_.files(0)->at(0).name, "rank0.out.log");
  EXPECT_EQ(actions.journal.at(0).fields["files"][0]["bytes"], 3);
  EXPECT_EQ(actions.journal.at(0).fields["head"], ended.head);
}

TEST_F(RoundMachineTest, IgnoresTheEndOfAnotherRound) {
  (void)end(1, 0, "an earlier round");
  (void)end(1, 1, "an earlier round");
  EXPECT_FALSE(machine_.over());
}

TEST_F(RoundMachineTest, IgnoresNodesThatItDoesNotHave) {
  EXPECT_THAT(report(1, 2, agent::RankStart{}).journal, IsEmpty());
  EXPECT_THAT(report(1, -1, agent::RankStart{}).journal, IsEmpty());
  EXPECT_THAT(machine_.lost(ns(1), 9, "x").sweep, IsEmpty());
}

TEST_F(RoundMachineTest, ARepeatedEndChangesNothing) {
  (void)end(1, 0);
  EXPECT_THAT(end(1, 0).journal, IsEmpty());
  EXPECT_FALSE(machine_.over());
}

TEST_F(RoundMachineTest, AFailedRankGivesTheOthersTheirGraceBeforeTheyAreStopped) {
  start_ranks();
  const auto failed = exit(5, 0, {3, {}});
  EXPECT_THAT(failed.stop, IsEmpty());
  EXPECT_THAT(tick(14).stop, IsEmpty());
  const auto late = tick(15);
  EXPECT_THAT(stopped(late), ElementsAre(0, 1));
  EXPECT_EQ(late.stop[0].request.cause, EndedBy::stop);
  EXPECT_EQ(late.stop[0].request.grace, 10s);
  EXPECT_EQ(outcome().status, RoundStatus::failed);
  EXPECT_EQ(outcome().reason, "rank 0 on alpha: exit 3");
}

TEST_F(RoundMachineTest, TheFirstFailureIsTheReason) {
  start_ranks();
  (void)exit(5, 1, {{}, SIGSEGV});
  (void)exit(6, 0, {1, {}});
  EXPECT_THAT(outcome().reason, HasSubstr("rank 1 on beta: SIGSEGV"));
}

TEST_F(RoundMachineTest, AKilledRankMayBeExplainedByTheScheduler) {
  start_ranks();
  (void)exit(5, 0, {{}, SIGKILL});
  EXPECT_TRUE(machine_.ask_scheduler());
  EXPECT_EQ(outcome("job 17 was cancelled").status, RoundStatus::lost);
  EXPECT_EQ(outcome("job 17 was cancelled").reason, "job 17 was cancelled");
  EXPECT_EQ(outcome("").status, RoundStatus::failed);
}

TEST_F(RoundMachineTest, ARankThatFailsByItselfIsNotTheSchedulers) {
  start_ranks();
  (void)exit(5, 0, {1, {}});
  EXPECT_FALSE(machine_.ask_scheduler());
  EXPECT_EQ(outcome("job 17 was cancelled").status, RoundStatus::failed);
}

TEST_F(RoundMachineTest, AnAgentThatStopsItsRanksUnaskedIsLeaving) {
  start_ranks();
  (void)exit(5, 1, {{}, SIGTERM}, EndedBy::stop);
  EXPECT_THAT(machine_.leaving(), ElementsAre(1));
  EXPECT_EQ(outcome().status, RoundStatus::lost);
  EXPECT_THAT(outcome().reason, HasSubstr("the agent on beta was stopped from outside"));
}

TEST_F(RoundMachineTest, RanksThatWereStoppedOnRequestAreNobodysFailure) {
  start_ranks();
  (void)machine_.interrupt(ns(5));
  (void)exit(6, 0, {{}, SIGTERM}, EndedBy::stop);
  EXPECT_THAT(machine_.leaving(), IsEmpty());
  EXPECT_EQ(outcome().status, RoundStatus::interrupted);
}

TEST_F(RoundMachineTest, ARankThatCannotBeStartedEndsTheOthersAtOnce) {
  agent::StartFailed failure;
  failure.kind = "launch";
  failure.rank = 1;
  failure.reason = "no such file";
  failure.advice = "look";
  const auto actions = report(1, 1, failure);
  EXPECT_THAT(stopped(actions), ElementsAre(0, 1));
  EXPECT_EQ(actions.stop[0].request.grace, 1s);
  EXPECT_EQ(outcome().status, RoundStatus::launch_failed);
  EXPECT_EQ(outcome().reason, "rank 1 on beta: no such file");
  EXPECT_EQ(outcome().advice, "look");
}

TEST_F(RoundMachineTest, ARefusalNamesTheHostAndEndsTheRound) {
  const auto actions = report(1, 0, agent::Refusal{"a round is already running"});
  EXPECT_THAT(stopped(actions), ElementsAre(1));
  EXPECT_EQ(outcome().status, RoundStatus::launch_failed);
  EXPECT_EQ(outcome().reason, "the agent on alpha refused the round: a round is already running");
}

TEST_F(RoundMachineTest, ATimeLimitOnOneNodeStopsAllAndNamesWhatStillRuns) {
  start_ranks();
  const auto actions = report(9, 0, agent::LimitReached{});
  EXPECT_EQ(actions.stop.at(1).request.cause, EndedBy::time_limit);
  EXPECT_EQ(outcome().status, RoundStatus::timed_out);
  EXPECT_THAT(outcome().reason, HasSubstr("still running: rank 0 on alpha; rank 1 on beta"));
  EXPECT_THAT(outcome().culprits, IsEmpty());
}

// The node that reports first is not the one to blame.
TEST_F(RoundMachineTest, ATimeLimitNamesTheRankThatTheOthersWaitFor) {
  start_ranks();
  (void)tell(90, 1, {silent(1, 80, "T")});
  (void)report(91, 0, agent::LimitReached{{silent(0, 79)}});
  EXPECT_THAT(outcome().reason,
              HasSubstr("was reached: rank 1 on beta silent for 80.0 s, stopped by a signal; 1 "
                        "other rank waits for it"));
  EXPECT_THAT(outcome().culprits, ElementsAre(1));
}

TEST_F(RoundMachineTest, ARankThatStoppedSteppingIsAStallWhateverElseItPrints) {
  start_ranks();
  (void)tell(60, 0, {});
  (void)tell(60, 1, {stepping(1, 59, 20)});
  EXPECT_THAT(tick(60).stop, IsEmpty());
  (void)tell(62, 1, {stepping(1, 61.5, 20)});
  const auto actions = tick(62);
  EXPECT_EQ(actions.stop.at(0).request.cause, EndedBy::stall);
  EXPECT_EQ(outcome().status, RoundStatus::stalled);
  EXPECT_THAT(outcome().reason, HasSubstr("rank 1 on beta made no step for 61.5 s (last step 20)"));
  EXPECT_THAT(outcome().culprits, ElementsAre(1));
}

TEST_F(RoundMachineTest, OfRanksThatStoppedSteppingTheOneThatIsBehindIsNamed) {
  start_ranks();
  (void)tell(62, 0, {stepping(0, 61, 21)});
  (void)tell(62, 1, {stepping(1, 60.5, 20)});
  (void)tick(62);
  EXPECT_THAT(outcome().reason,
              HasSubstr("rank 1 on beta made no step for 60.5 s (last step 20); 1 "
                        "other rank waits for it (the others are further on)"));
}

TEST_F(RoundMachineTest, BeforeTheSecondStepPausesAreNoStallWhileOutputComes) {
  start_ranks();
  (void)tell(90, 0, {stepping(0, 80, 1)});
  (void)tell(90, 1, {});
  EXPECT_THAT(tick(90).stop, IsEmpty());
}

TEST_F(RoundMachineTest, AnAgentIsLostAfterFifteenSecondsOfSilence) {
  start_ranks();
  (void)beat(10, 0, 0);
  EXPECT_THAT(tick(15).drop, IsEmpty());
  (void)beat(15, 0, 0);
  const auto actions = tick(16);
  EXPECT_THAT(actions.drop, ElementsAre(1));
  EXPECT_THAT(actions.sweep, ElementsAre(1));
  EXPECT_THAT(stopped(actions), ElementsAre(0));
  ASSERT_EQ(actions.journal.size(), 1U);
  EXPECT_EQ(actions.journal[0].fields["ended_by"], "lost");
  EXPECT_EQ(outcome().status, RoundStatus::lost);
  EXPECT_THAT(outcome().reason, HasSubstr("the agent on beta was lost: no sign of life for 16 s"));
}

TEST_F(RoundMachineTest, AnAgentThatWasSilentForAWhileLeavesATrace) {
  start_ranks();
  EXPECT_THAT(beat(4, 0, 0).journal, IsEmpty());
  const auto back = beat(14, 0, 0);
  ASSERT_EQ(back.journal.size(), 1U);
  EXPECT_EQ(back.journal[0].event, store::JournalEvent::gap);
  EXPECT_EQ(back.journal[0].fields["source"], "connection");
  EXPECT_NEAR(back.journal[0].fields["seconds"].get<double>(), 10, 1e-9);
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(RoundMachineTest, ALostConnectionIsSweptOnce) {
  start_ranks();
  EXPECT_THAT(machine_.lost(ns(3), 0, "ssh ended").sweep, ElementsAre(0));
  EXPECT_THAT(machine_.lost(ns(3), 0, "ssh ended").sweep, IsEmpty());
  EXPECT_THAT(report(3, 0, agent::RankStart{}).journal, IsEmpty());
  EXPECT_TRUE(machine_.is_lost(0));
}

TEST_F(RoundMachineTest, AnAgentThatDoesNotEndWhenAskedIsGivenUpAfterGraceAndMargin) {
  start_ranks();
  (void)machine_.interrupt(ns(5));
  for (double at = 6; at <= 35; ++at) {
    (void)beat(at, 0, 0);
    (void)beat(at, 1, 0);
    EXPECT_THAT(tick(at).drop, IsEmpty()) << at;
  }
  EXPECT_THAT(tick(35.5).drop, ElementsAre(0, 1));
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::interrupted);
}

TEST_F(RoundMachineTest, ASecondInterruptKillsAtOnceAndShortensTheWait) {
  start_ranks();
  EXPECT_EQ(machine_.interrupt(ns(5)).stop.at(0).request.grace, 10s);
  EXPECT_EQ(machine_.interrupt(ns(6)).stop.at(0).request.grace, 0s);
  for (double at = 7; at <= 26; ++at) {
    (void)beat(at, 0, 0);
    (void)beat(at, 1, 0);
  }
  EXPECT_THAT(tick(26.5).drop, ElementsAre(0, 1));
}

TEST_F(RoundMachineTest, ARoundWithoutAnyOutputOnAnyNodeIsStalled) {
  start_ranks();
  (void)beat(60, 0, 61);
  (void)beat(60, 1, 59);
  EXPECT_THAT(tick(60).stop, IsEmpty());
  (void)beat(63, 0, 64);
  (void)beat(63, 1, 62);
  const auto actions = tick(63);
  EXPECT_THAT(stopped(actions), ElementsAre(0, 1));
  EXPECT_EQ(actions.stop[0].request.cause, EndedBy::stall);
  EXPECT_EQ(outcome().status, RoundStatus::stalled);
  EXPECT_THAT(outcome().reason, HasSubstr("rank 0 on alpha silent for 64.0 s, waiting for the "
                                          "kernel (disk or driver); rank 1 on beta"));
}

// It ended before its first heartbeat.
TEST_F(RoundMachineTest, ANodeThatEndedEarlyDoesNotHideTheOthersStall) {
  start_ranks();
  (void)exit(0.5, 0, kOk);
  (void)end(0.6, 0);
  (void)beat(62, 1, 61);
  EXPECT_THAT(stopped(tick(62)), ElementsAre(1));
  EXPECT_EQ(outcome().status, RoundStatus::stalled);
}

TEST_F(RoundMachineTest, ARankThatEndedEarlyDoesNotHideTheOthersStall) {
  start_ranks();
  (void)report(0.1, 1, agent::RankStart{2, 1, 102, {}});
  (void)exit(0.5, 0, kOk);
  (void)end(0.6, 0);
  (void)report(0.7, 1, [] {
    agent::RankExit exit;
    exit.rank = 2;
    exit.exit = kOk;
    return exit;
  }());
  (void)beat(62, 1, 61);
  EXPECT_THAT(stopped(tick(62)), ElementsAre(1));
}

TEST_F(RoundMachineTest, AStoppedProcessIsAStallThoughOthersPrint) {
  start_ranks();
  (void)tell(62, 0, {});
  (void)tell(62, 1, {silent(1, 61, "T")});
  EXPECT_THAT(stopped(tick(62)), ElementsAre(0, 1));
  EXPECT_THAT(outcome().culprits, ElementsAre(1));
}

// Programs whose first rank alone prints look like this.
TEST_F(RoundMachineTest, ASilentRankIsNoStallWhileOthersPrintAndAMachineWorks) {
  start_ranks();
  for (double at = 1; at < 300; ++at) {
    (void)tell(at, 0, {}, 0.02);
    (void)tell(at, 1, {silent(1, at)}, 0.9);
    ASSERT_THAT(tick(at).stop, IsEmpty()) << at;
  }
}

TEST_F(RoundMachineTest, ASilentRankIsAStallWhileOthersPrintOnMachinesThatDoNothing) {
  start_ranks();
  double stalled_at = 0;
  for (double at = 1; at < 300 && stalled_at == 0; ++at) {
    (void)tell(at, 0, {}, at == 20 ? 4.0 : 0.05);  // one busy second is not work
    (void)tell(at, 1, at < 31 ? std::vector<agent::RankLiveness>{} : std::vector{silent(1, at)},
               0.05);
    if (!tick(at).stop.empty()) stalled_at = at;
  }
  EXPECT_THAT(stalled_at, ::testing::AllOf(::testing::Gt(60), ::testing::Lt(65)));
  EXPECT_THAT(outcome().reason, HasSubstr("rank 1 on beta silent for"));
}

TEST_F(RoundMachineTest, WhereNothingTellsHowBusyMachinesAreASilentRankIsNoStall) {
  start_ranks();
  for (double at = 1; at < 200; ++at) {
    (void)tell(at, 0, {});
    (void)tell(at, 1, {silent(1, at)});
    ASSERT_THAT(tick(at).stop, IsEmpty()) << at;
  }
}

/// One command on the first node, which starts the others' work by itself.
class WatchedNodesTest : public RoundMachineTest {
 protected:
  static RoundMachine::Setup head() {
    RoundMachine::Setup with = setup();
    with.ranks = 1;
    with.watched = {1};
    return with;
  }
  WatchedNodesTest() : RoundMachineTest(head()) {
    (void)report(0.1, 0, agent::RankStart{0, 0, 100, {}});
  }
};

TEST_F(WatchedNodesTest, AreReleasedWhenTheHeadHasEnded) {
  (void)tell(30, 1, {});
  EXPECT_THAT(exit(40, 0, kOk).stop, IsEmpty());
  EXPECT_THAT(stopped(end(40.5, 0)), ElementsAre(1));
  EXPECT_FALSE(machine_.over());
  (void)end(41, 1);
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(WatchedNodesTest, ThatAreSilentAreLostLikeOthers) {
  (void)tell(15, 0, {});
  const auto actions = tick(16);
  EXPECT_THAT(actions.sweep, ElementsAre(1));
  EXPECT_THAT(stopped(actions), ElementsAre(0));
  EXPECT_THAT(outcome().reason, HasSubstr("the agent on beta was lost"));
}

TEST_F(WatchedNodesTest, ThatEndUnaskedWereStoppedFromOutside) {
  (void)end(5, 1);
  EXPECT_EQ(outcome().status, RoundStatus::lost);
  EXPECT_THAT(outcome().reason, HasSubstr("the agent on beta was stopped from outside"));
}

TEST_F(WatchedNodesTest, DoNotHideAStallOfTheHead) {
  (void)beat(62, 0, 61);
  (void)tell(62, 1, {});
  EXPECT_THAT(stopped(tick(62)), ElementsAre(0, 1));
  EXPECT_THAT(outcome().culprits, ElementsAre(0));
}

TEST_F(WatchedNodesTest, WithoutProcessesOfTheRoundAreTold) {
  agent::RoundEnd ended;
  ended.id = "r";
  ended.marked = 0;
  (void)end(5, 0);
  (void)report(6, 1, ended);
  EXPECT_THAT(machine_.unmarked(), ElementsAre(1));
}

TEST_F(RoundMachineTest, TheOthersAreStoppedWhenOneAgentWasStoppedFromOutside) {
  start_ranks();
  (void)exit(1, 1, {std::nullopt, 15}, EndedBy::stop);
  (void)end(1, 1);
  (void)tell(10, 0, {});
  EXPECT_THAT(stopped(tick(10)), IsEmpty()) << "all of a job may be about to end";
  EXPECT_THAT(stopped(tick(12)), ElementsAre(0));
  EXPECT_THAT(outcome().reason, HasSubstr("the agent on beta was stopped from outside"));
}

TEST_F(RoundMachineTest, EvidenceThatCannotBeFetchedMakesACompletedRoundLost) {
  (void)end(1, 0);
  (void)end(1, 1);
  machine_.not_collected("the logs of beta could not be fetched: x");
  EXPECT_EQ(outcome().status, RoundStatus::lost);
}

TEST_F(RoundMachineTest, EvidenceThatThisMachineCannotWriteIsNotTheNodesFault) {
  (void)end(1, 0);
  (void)end(1, 1);
  machine_.not_written("the logs of beta could not be fetched: no space left on device");
  EXPECT_EQ(outcome().status, RoundStatus::unrecorded);
  EXPECT_THAT(outcome().advice, HasSubstr("free some space"));
}

TEST(RoundMachineBefore, AnInterruptBeforeTheWorkWasSentEndsTheRoundWithoutActions) {
  RoundMachine machine({"r", {"alpha"}, 1, {}, false});
  EXPECT_FALSE(machine.over());
  const auto actions = machine.interrupt(1);
  EXPECT_THAT(actions.stop, IsEmpty());
  EXPECT_TRUE(machine.over());
  EXPECT_EQ(machine.outcome("").status, RoundStatus::interrupted);
}

TEST(RoundMachineBefore, NobodyIsSilentBeforeTheWorkWasSent) {
  RoundMachine machine({"r", {"alpha"}, 1, {}, false});
  EXPECT_THAT(machine.tick(100 * kSecond).drop, IsEmpty());
  machine.begin(100 * kSecond);
  EXPECT_THAT(machine.tick(101 * kSecond).drop, IsEmpty());
}

TEST(RoundMachineBefore, RanksThatAreToWindDownBeforeTheyStartGetTheGraceFromTheirStart) {
  RoundMachine::Setup setup{"r", {"alpha"}, 1, {}, true};
  setup.limits.grace = 10s;
  RoundMachine machine(setup);
  machine.wind_down(0);
  EXPECT_FALSE(machine.over());
  machine.begin(5 * kSecond);
  EXPECT_THAT(machine.tick(14 * kSecond).stop, IsEmpty());
  EXPECT_EQ(machine.tick(15 * kSecond).stop.size(), 1U);
}

/// Ranks that came to their `sleep infinity` are left alone for a minute.
class RestingRound : public RoundMachineTest {
 protected:
  static RoundMachine::Setup kept() {
    RoundMachine::Setup with = setup();
    with.keep = 60s;
    return with;
  }
  RestingRound() : RoundMachineTest(kept()) { start_ranks(); }

  RoundMachine::Actions rest(double at_s, int rank) {
    agent::RankExit exit;
    exit.rank = rank;
    exit.exit = ExitStatus{.code = 0, .signal = {}};
    exit.rests = true;
    return report(at_s, rank, exit);
  }
  /// Both nodes are heard every second; gives the nodes that are stopped meanwhile.
  std::vector<int> pass(int from_s, int to_s) {
    std::vector<int> out;
    for (int at = from_s; at < to_s; ++at) {
      for (int node = 0; node < 2; ++node) (void)beat(at, node, 0);
      for (const int node : stopped(tick(at))) out.push_back(node);
    }
    return out;
  }
};

TEST_F(RestingRound, IsKeptUntilItsTimeIsOverWhenNobodyWorksAnyMore) {
  (void)rest(1, 0);
  EXPECT_THAT(pass(2, 100), IsEmpty()) << "the other rank still works";
  (void)rest(100, 1);
  const RoundMachine::Actions noticed = tick(100);
  ASSERT_EQ(noticed.journal.size(), 1U);
  EXPECT_EQ(noticed.journal[0].event, store::JournalEvent::rest);
  EXPECT_EQ(noticed.journal[0].fields["keep_s"], 60);
  EXPECT_THAT(noticed.stop, IsEmpty());
  EXPECT_THAT(pass(101, 159), IsEmpty());
  EXPECT_THAT(stopped(tick(160)), ElementsAre(0, 1));
  (void)end(161, 0);
  (void)end(161, 1);
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(RestingRound, ThatSomebodyStopsHasEndedWell) {
  (void)rest(10, 0);
  (void)rest(10, 1);
  (void)tick(10);
  EXPECT_EQ(machine_.interrupt(ns(11)).stop.size(), 2U);
  (void)end(12, 0);
  (void)end(12, 1);
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(RestingRound, IsNoExcuseForARankThatFails) {
  (void)rest(10, 0);
  (void)exit(20, 1, ExitStatus{.code = 3, .signal = {}});
  EXPECT_THAT(pass(21, 32), ElementsAre(0, 1)) << "after the grace, not after a minute";
  (void)end(32, 0);
  (void)end(32, 1);
  EXPECT_EQ(outcome().status, RoundStatus::failed);
}

}  // namespace
}  // namespace assay::launch
