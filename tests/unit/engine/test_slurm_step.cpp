#include <gtest/gtest.h>

#include "engine/slurm_step.h"

namespace assay::engine {
namespace {

using Controller = SlurmFacts::Controller;
using InSlurm = SlurmFacts::InSlurm;
using enum SlurmMove;
using jobs::Ending;
using jobs::EventKind;

// --- before its controller begins

TEST(SlurmStep, WaitsWhileSlurmHasIt) {
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.in_slurm = InSlurm::active}), wait);
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.controller = Controller::begun}), say_started);
}

TEST(SlurmStep, SilenceOfSlurmDecidesNothing) {
  for (const SlurmPhase phase : {SlurmPhase::recalled, SlurmPhase::unsure, SlurmPhase::submitted})
    EXPECT_EQ(next_move(phase, {}), wait);
  EXPECT_EQ(next_move(SlurmPhase::running, {.controller = Controller::begun}), wait);
}

TEST(SlurmStep, WhatSlurmLostIsCalledOff) {
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.in_slurm = InSlurm::absent}), call_off);
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.in_slurm = InSlurm::ended}), call_off);
}

TEST(SlurmStep, WhatIsStoppedBeforeItBeginsIsCalledOffAlsoWhenSlurmIsAway) {
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.stopped = true}), call_off);
  EXPECT_EQ(next_move(SlurmPhase::unsure, {.stopped = true}), call_off);
  EXPECT_EQ(next_move(SlurmPhase::submitted, {.controller = Controller::begun, .stopped = true}),
            say_started)
      << "then it is stopped as what runs is";
}

TEST(SlurmStep, AnUncertainSubmissionIsRepeatedOnlyWhenSlurmHasNothing) {
  EXPECT_EQ(next_move(SlurmPhase::unsure, {.in_slurm = InSlurm::absent}), submit);
  EXPECT_EQ(next_move(SlurmPhase::unsure, {.in_slurm = InSlurm::active}), adopt);
  EXPECT_EQ(next_move(SlurmPhase::unsure, {.controller = Controller::begun}), say_started);
}

// --- after a restart of the server

TEST(SlurmStep, FindsWhatRunsAndWhatWaits) {
  EXPECT_EQ(next_move(SlurmPhase::recalled, {.controller = Controller::begun, .lives = true}),
            say_found)
      << "also when Slurm is away";
  EXPECT_EQ(next_move(SlurmPhase::recalled,
                      {.controller = Controller::begun, .in_slurm = InSlurm::active}),
            say_found);
  EXPECT_EQ(next_move(SlurmPhase::recalled, {.in_slurm = InSlurm::active}), adopt);
  EXPECT_EQ(next_move(SlurmPhase::recalled, {.in_slurm = InSlurm::absent}), call_off);
  EXPECT_EQ(next_move(SlurmPhase::recalled, {.controller = Controller::begun, .has_end = true}),
            finish);
  EXPECT_EQ(next_move(SlurmPhase::recalled, {.controller = Controller::never}), say_not_found);
}

// --- while it runs

TEST(SlurmStep, WhatWasDoneNeedsNoWordOfSlurmAndWhatFailedDoes) {
  SlurmFacts facts{.controller = Controller::begun,
                   .has_end = true,
                   .completed = true,
                   .in_slurm = InSlurm::active};
  EXPECT_EQ(next_move(SlurmPhase::running, facts), finish);
  facts.completed = false;
  EXPECT_EQ(next_move(SlurmPhase::running, facts), wait) << "whether it was stopped, Slurm knows";
  facts.in_slurm = InSlurm::ended;
  EXPECT_EQ(next_move(SlurmPhase::running, facts), finish);
  facts.in_slurm = InSlurm::unknown;
  EXPECT_EQ(next_move(SlurmPhase::running, facts), finish);
}

TEST(SlurmStep, AControllerThatLivesIsNotOverBecauseSlurmForgotIt) {
  SlurmFacts facts{.controller = Controller::begun, .lives = true, .in_slurm = InSlurm::absent};
  EXPECT_EQ(next_move(SlurmPhase::running, facts), wait);
  facts.in_slurm = InSlurm::ended;
  EXPECT_EQ(next_move(SlurmPhase::running, facts), wait);
  facts.long_gone = true;
  EXPECT_EQ(next_move(SlurmPhase::running, facts), finish);
  facts = {.controller = Controller::begun, .in_slurm = InSlurm::absent};
  EXPECT_EQ(next_move(SlurmPhase::running, facts), finish) << "killed";
}

// --- its end

RunEnding killed_controller() {
  RunEnding ending;
  ending.event.kind = EventKind::engine_error;
  ending.event.attempt = 3;
  ending.event.exit.ending = Ending::failed;
  ending.event.detail = "its controller was killed";
  return ending;
}

std::vector<EventKind> kinds_of_end(slurm::JobState state) {
  std::vector<EventKind> kinds;
  for (const jobs::Event& event :
       events_of_end(killed_controller(), slurm::Job{.id = "17", .state = state}, false)) {
    EXPECT_EQ(event.attempt, 3);
    kinds.push_back(event.kind);
  }
  return kinds;
}

TEST(SlurmStep, WhatSlurmEndedIsSaidBeforeTheEnd) {
  using Kinds = std::vector<EventKind>;
  EXPECT_EQ(kinds_of_end(slurm::JobState::preempted),
            (Kinds{EventKind::preempted, EventKind::exited}));
  EXPECT_EQ(kinds_of_end(slurm::JobState::timeout),
            (Kinds{EventKind::time_limit, EventKind::exited}));
  EXPECT_EQ(kinds_of_end(slurm::JobState::node_fail),
            (Kinds{EventKind::node_lost, EventKind::exited}));
  EXPECT_EQ(kinds_of_end(slurm::JobState::cancelled),
            (Kinds{EventKind::kill_asked, EventKind::exited}));
  EXPECT_EQ(kinds_of_end(slurm::JobState::failed), (Kinds{EventKind::engine_error}));
}

// scancel's signal reaches the rank, too, which may have died before its controller heard of it.
TEST(SlurmStep, ARankThatDiedOfSlurmsSignalWasCancelledAndDidNotFail) {
  RunEnding ending;
  ending.event.kind = EventKind::exited;
  ending.event.exit = {.ending = Ending::failed, .code = 143};
  const auto events =
      events_of_end(ending, slurm::Job{.id = "17", .state = slurm::JobState::cancelled}, false);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events.front().kind, EventKind::kill_asked);
  EXPECT_EQ(events.back().exit.ending, Ending::interrupted);
}

TEST(SlurmStep, WhatThePlatformStoppedAndWhatWasDoneAreTheirOwnEnd) {
  const slurm::Job cancelled{.id = "17", .state = slurm::JobState::cancelled};
  EXPECT_EQ(events_of_end(killed_controller(), cancelled, true).size(), 1U);
  RunEnding done;
  done.event.kind = EventKind::exited;
  done.event.exit.ending = Ending::completed;
  EXPECT_EQ(events_of_end(done, cancelled, false).size(), 1U);
  EXPECT_EQ(events_of_end(killed_controller(), std::nullopt, false).size(), 1U);
}

}  // namespace
}  // namespace assay::engine
