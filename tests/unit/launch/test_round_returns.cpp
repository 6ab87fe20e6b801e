// Ranks that do not need each other, and nodes that come back to their round.

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

TEST_F(IndependentRanksTest, GoOnWithoutTheOneThatIsLost) {
  start_ranks();
  EXPECT_THAT(machine_.lost(ns(3), 0, "ssh ended").stop, IsEmpty());
  EXPECT_FALSE(machine_.over());
  (void)exit(9, 1, kOk);
  (void)end(9, 1);
  EXPECT_TRUE(machine_.over());
}

TEST_F(IndependentRanksTest, TheirLossIsTheOutcomeWhenNothingElseEndedTheRound) {
  start_ranks();
  (void)machine_.lost(ns(3), 0, "ssh ended");
  (void)machine_.lost(ns(4), 1, "ssh ended");
  EXPECT_EQ(outcome().status, RoundStatus::lost);
}

TEST_F(IndependentRanksTest, CompleteWhenTheyWoundDownAlthoughOneWasLost) {
  start_ranks();
  (void)machine_.lost(ns(3), 0, "ssh ended");
  machine_.wind_down(ns(5));
  (void)end(6, 1);
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(IndependentRanksTest, GetSigtermOnlyWhenTheyHaveNotEndedWithinTheGrace) {
  start_ranks();
  EXPECT_THAT(machine_.interrupt(ns(5)).stop, IsEmpty());
  EXPECT_THAT(tick(14).stop, IsEmpty());
  EXPECT_THAT(stopped(tick(15)), ElementsAre(0, 1));
  EXPECT_EQ(outcome().status, RoundStatus::interrupted);
}

TEST_F(IndependentRanksTest, AnExperimentThatFailsEndsTheRoundWithItsReason) {
  start_ranks();
  machine_.fail(ns(5), {RoundStatus::failed, "the experiment failed", "look"});
  (void)end(6, 0);
  (void)end(6, 1);
  EXPECT_EQ(outcome().reason, "the experiment failed");
}

TEST_F(IndependentRanksTest, AnExperimentWithoutWorkersIsLostThoughOneOfThemWasKilled) {
  start_ranks();
  (void)exit(3, 0, {std::nullopt, SIGKILL});
  machine_.fail(ns(18), {RoundStatus::lost, "no worker is left: worker 0; worker 1", "go on"});
  (void)end(20, 0);
  (void)end(20, 1);
  EXPECT_EQ(outcome().status, RoundStatus::lost);
  EXPECT_EQ(outcome().reason, "no worker is left: worker 0; worker 1");
}

/// Nodes that may begin their part of the round twice again; their ranks have started at 0.1.
class ReturningNodesTest : public RoundMachineTest {
 protected:
  static RoundMachine::Setup returning() {
    RoundMachine::Setup with = setup();
    with.independent_ranks = true;
    with.returns = 2;
    return with;
  }
  ReturningNodesTest() : RoundMachineTest(returning()) { start_ranks(); }

  /// The first second at which the node is to be brought back, while the other is heard.
  int second_of_try(int from_s, int node = 1, int until_s = 2000) {
    for (int at = from_s; at < until_s; ++at) {
      (void)beat(at, 1 - node, 0);
      for (const int one : tick(at).bring_back)
        if (one == node) return at;
    }
    return -1;
  }
  static std::vector<store::JournalEvent> events(const RoundMachine::Actions& actions) {
    std::vector<store::JournalEvent> out;
    for (const auto& entry : actions.journal) out.push_back(entry.event);
    return out;
  }
};

TEST_F(ReturningNodesTest, ALostNodeIsBroughtBackAndBeginsAnotherPart) {
  const RoundMachine::Actions lost = machine_.lost(ns(40), 1, "no sign of life for 15 s");
  EXPECT_THAT(lost.sweep, ElementsAre(1));
  ASSERT_EQ(lost.journal.back().event, store::JournalEvent::node_away);
  EXPECT_EQ(lost.journal.back().fields["reason"], "no sign of life for 15 s");
  EXPECT_EQ(lost.journal.back().fields["comes_back"], true);
  EXPECT_EQ(second_of_try(40), 45) << "not at once: a link needs a moment";
  const RoundMachine::Actions back = machine_.came_back(ns(50), 1);
  EXPECT_THAT(back.begin, ElementsAre(1));
  EXPECT_THAT(events(back), ElementsAre(store::JournalEvent::node_again));
  EXPECT_EQ(back.journal[0].fields["away_s"], 10);
  EXPECT_EQ(machine_.part(1), 2);
  EXPECT_EQ(machine_.part_id(1), "r.2");
  EXPECT_EQ(machine_.progress().started, 1) << "its ranks are to start again";
  // From now on it is a node like any other.
  (void)report(51, 1, agent::RankStart{1, 0, 200, {}});
  EXPECT_EQ(machine_.progress().started, 2);
  machine_.wind_down(ns(60));
  (void)end(61, 0);
  EXPECT_FALSE(machine_.over());
  (void)end(61, 1, "r.2");
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::completed);
}

TEST_F(ReturningNodesTest, WhatAPartReportsIsJournaledWithItsNumber) {
  (void)machine_.lost(ns(40), 1, "cut");
  ASSERT_GT(second_of_try(40), 0);
  (void)machine_.came_back(ns(50), 1);
  const auto started = report(51, 1, agent::RankStart{1, 0, 200, {}});
  ASSERT_EQ(started.journal.size(), 1U);
  EXPECT_EQ(started.journal[0].fields["part"], 2);
  (void)end(60, 1, "r");
  EXPECT_EQ(machine_.files(1, 1), nullptr) << "the part before has nobody left to list its files";
}

TEST_F(ReturningNodesTest, TriesThatFailAreRepeatedWithLongerPausesAndThenGivenUp) {
  (void)machine_.lost(ns(40), 1, "cut");
  int at = second_of_try(40);
  EXPECT_EQ(at, 45);
  EXPECT_THAT(machine_.not_back(ns(at), 1, "no route to host").journal, IsEmpty());
  EXPECT_EQ(second_of_try(at), at + 10);
  RoundMachine::Actions last;
  int tries = 1;
  for (at += 10; last.journal.empty() && tries < 1000; ++tries) {
    last = machine_.not_back(ns(at), 1, "no route to host");
    if (last.journal.empty()) at = second_of_try(at, 1, at + 1000);
    ASSERT_GT(at, 0) << "no try after " << tries;
  }
  EXPECT_EQ(tries, 240) << "four hours";
  EXPECT_THAT(events(last), ElementsAre(store::JournalEvent::node_given_up));
  EXPECT_EQ(last.journal[0].fields["reason"], "no route to host");
  EXPECT_EQ(second_of_try(at, 1, at + 1000), -1);
}

TEST_F(ReturningNodesTest, ANodeThatIsLostAgainAndAgainStaysAway) {
  int at = 40;
  for (int part = 1; part <= 2; ++part) {
    (void)machine_.lost(ns(at), 1, "cut");
    at = second_of_try(at);
    ASSERT_GT(at, 0) << part;
    (void)machine_.came_back(ns(at), 1);
  }
  const RoundMachine::Actions third = machine_.lost(ns(at + 40), 1, "cut");
  EXPECT_EQ(third.journal.back().fields["comes_back"], false);
  EXPECT_EQ(second_of_try(at + 40), -1);
}

TEST_F(ReturningNodesTest, ANodeWhoseRanksHaveFailedBeginsAgain) {
  (void)exit(40, 1, {std::nullopt, SIGKILL});
  const RoundMachine::Actions ended = end(41, 1);
  EXPECT_THAT(events(ended),
              ElementsAre(store::JournalEvent::node_end, store::JournalEvent::node_away));
  EXPECT_THAT(ended.sweep, IsEmpty());
  EXPECT_EQ(second_of_try(41), 46);
  EXPECT_THAT(machine_.came_back(ns(47), 1).begin, ElementsAre(1));
}

TEST_F(ReturningNodesTest, ANodeWhoseRanksHaveEndedWellDoesNot) {
  (void)exit(40, 1, kOk);
  (void)end(41, 1);
  EXPECT_EQ(second_of_try(41), -1);
}

TEST_F(ReturningNodesTest, ARoundWaitsForItsOnlyNodesThatHadProvenThemselves) {
  (void)machine_.lost(ns(40), 0, "cut");
  (void)machine_.lost(ns(40), 1, "cut");
  EXPECT_FALSE(machine_.over());
  // It is the experiment that does not wait for ever.
  machine_.fail(ns(70), {RoundStatus::lost, "no worker is left", ""});
  EXPECT_TRUE(machine_.over());
}

TEST_F(ReturningNodesTest, ARoundWhoseRanksFailAtOnceIsOverAtOnce) {
  for (int node = 0; node < 2; ++node) {
    (void)exit(2, node, ExitStatus{.code = 2, .signal = {}});
    (void)end(2, node);
  }
  EXPECT_TRUE(machine_.over());
  EXPECT_EQ(outcome().status, RoundStatus::failed);
}

TEST_F(ReturningNodesTest, NobodyIsBroughtBackToARoundThatEnds) {
  (void)machine_.lost(ns(40), 1, "cut");
  const int at = second_of_try(40);
  machine_.wind_down(ns(at));
  EXPECT_THAT(machine_.came_back(ns(at + 1), 1).begin, IsEmpty());
  EXPECT_EQ(second_of_try(at, 1, at + 9), -1);
  EXPECT_EQ(machine_.part(1), 1);
}

TEST_F(ReturningNodesTest, RanksThatCannotBeStartedAgainEndNobodyElses) {
  (void)machine_.lost(ns(40), 1, "cut");
  const int at = second_of_try(40);
  (void)machine_.came_back(ns(at), 1);
  const auto failed = report(at, 1, agent::StartFailed{"launch", 1, "no such program", "", ""});
  EXPECT_THAT(failed.stop, IsEmpty());
  (void)end(at + 1, 1, "r.2");
  EXPECT_GT(second_of_try(at + 1), at + 6) << "later than the first time";
}

}  // namespace
}  // namespace assay::launch
