#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_examples.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "jobs/job_state.h"
#include "jobs/pending.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Event event_of(EventKind kind, int attempt = 1) {
  Event event;
  event.kind = kind;
  event.attempt = attempt;
  if (kind == EventKind::placed) event.placement = {{"n1", 8}};
  return event;
}

Event exited(Ending ending, int code = 0) {
  Event event = event_of(EventKind::exited);
  event.exit = {ending, code, Verdict::none};
  return event;
}

/// A job that came to this state on the shortest way.
Life life_in(State state, const Policy& policy = {}) {
  Life life = born(state == State::unapproved, kSecondNs);
  const auto go = [&](std::initializer_list<Event> events) {
    for (const Event& event : events) EXPECT_TRUE(apply(life, policy, event, 2 * kSecondNs).taken);
  };
  const Event placed = event_of(EventKind::placed);
  const Event started = event_of(EventKind::started);
  switch (state) {
    case State::unapproved:
    case State::queued:
      break;
    case State::scheduling:
      go({placed});
      break;
    case State::running:
      go({placed, started});
      break;
    case State::pausing:
      go({placed, started, event_of(EventKind::pause_asked)});
      break;
    case State::paused:
      go({event_of(EventKind::pause_asked)});
      break;
    case State::killing:
      go({placed, started, event_of(EventKind::kill_asked)});
      break;
    case State::killed:
      go({placed, started, event_of(EventKind::kill_asked), exited(Ending::interrupted, 143)});
      break;
    case State::finished:
      go({placed, started, exited(Ending::completed)});
      break;
    case State::failed:
      go({placed, started, exited(Ending::failed, 1)});
      break;
    case State::error:
      go({placed, event_of(EventKind::engine_error)});
      break;
  }
  EXPECT_EQ(life.state, state);
  return life;
}

/// A cell of the table: the new state, what is to be done, or that nothing changes.
std::string cell(State state, const Event& event) {
  const Policy policy{true, {}, std::chrono::seconds(60)};
  Life life = life_in(state, policy);
  const Life before = life;
  const Change change = apply(life, policy, event, 3 * kSecondNs);
  EXPECT_EQ(change.from, state);
  EXPECT_EQ(change.to, life.state);
  EXPECT_FALSE(change.words.empty());
  EXPECT_TRUE(change.taken || life == before) << "what is not taken changes nothing";
  std::string out = change.taken ? std::string(to_text(life.state)) : "";
  for (const Action& action : change.actions)
    out += (out.empty() ? "+ " : " + ") + std::string(to_text(action.kind));
  return out.empty() ? "–" : out;
}

/// The table of the document between its two marks, without the spaces that line it up.
std::vector<std::string> documented_table() {
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/dev/jobs.md");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| event |")) inside = true;
    if (inside && line.empty()) break;
    if (inside) lines.push_back(line);
  }
  return lines;
}

TEST(JobState, EveryEventInEveryStateIsAsDocumented) {
  std::vector<std::string> table;
  std::string head = "| event |";
  std::string rule = "|---|";
  for (const State state : enum_values<State>()) {
    head += " " + std::string(to_text(state)) + " |";
    rule += "---|";
  }
  table.insert(table.end(), {head, rule});
  const auto row = [&](const std::string& name, const Event& event) {
    std::string line = "| " + name + " |";
    for (const State state : enum_values<State>()) line += " " + cell(state, event) + " |";
    table.push_back(line);
  };
  for (const EventKind kind : enum_values<EventKind>()) {
    if (kind == EventKind::exited) {
      for (const Ending ending : enum_values<Ending>())
        row("exited (" + std::string(to_text(ending)) + ")", exited(ending));
    } else {
      row(std::string(to_text(kind)), event_of(kind));
    }
  }
  std::string text;
  for (const std::string& line : table) text += line + "\n";
  EXPECT_EQ(documented_table(), table) << "the table of docs/dev/jobs.md should be\n" << text;
}

TEST(JobState, AStateHoldsNodesExactlyWhileSomethingMayRun) {
  for (const State state : enum_values<State>()) {
    EXPECT_FALSE(is_final(state) && holds_nodes(state)) << to_text(state);
    for (const EventKind kind : enum_values<EventKind>()) {
      Life life = life_in(state);
      const Change change = apply(life, {}, event_of(kind), 3 * kSecondNs);
      EXPECT_FALSE(is_final(state) && change.taken) << "after the end nothing happens";
      for (const Action& action : change.actions)
        EXPECT_TRUE(action.kind == ActionKind::stop_now || holds_nodes(life.state))
            << to_text(state) << " " << to_text(kind);
    }
  }
}

TEST(JobState, EventsOfAnEarlierAttemptChangeNothing) {
  const Policy policy{true, {2, {}, {}}, std::chrono::seconds(1)};
  Life life = life_in(State::running, policy);
  ASSERT_TRUE(apply(life, policy, exited(Ending::failed, 1), 3 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 30 * kSecondNs).taken);
  ASSERT_EQ(life.attempt, 2);
  const Life before = life;
  for (const EventKind kind :
       {EventKind::started, EventKind::node_lost, EventKind::exited, EventKind::time_limit,
        EventKind::idle_limit, EventKind::engine_error, EventKind::not_placed,
        EventKind::not_found}) {
    EXPECT_FALSE(apply(life, policy, event_of(kind, 1), 31 * kSecondNs).taken) << to_text(kind);
    EXPECT_EQ(life, before);
  }
  const Change orphan = apply(life, policy, event_of(EventKind::found, 1), 31 * kSecondNs);
  EXPECT_THAT(orphan.actions, ElementsAre(Action{ActionKind::stop_now, 1, 0, Nanoseconds(0)}))
      << "what still runs of it must not run beside the second attempt";
  EXPECT_EQ(life, before);
}

TEST(JobState, WhatIsFoundRunsSinceItBeganAndIsFoundNow) {
  const Policy policy;
  Life life = born(false, 0);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 10 * kSecondNs).taken);
  Event found = event_of(EventKind::found, 1);
  found.at_ns = 12 * kSecondNs;
  const Change change = apply(life, policy, found, 40 * kSecondNs);
  EXPECT_EQ(life.started_ns, 12 * kSecondNs);
  EXPECT_EQ(change.at_ns, 40 * kSecondNs) << "a timeline does not run backwards";
}

TEST(JobState, AnEngineWithAQueueSaysWhereItRunsAndWhatItDidToIt) {
  const Policy policy{false, {}, std::chrono::seconds(1)};
  Life life = born(false, 0);
  Event handed = event_of(EventKind::handed_over, 0);
  ASSERT_TRUE(apply(life, policy, handed, kSecondNs).taken);
  EXPECT_EQ(life.state, State::scheduling);
  EXPECT_THAT(life.placement, IsEmpty());
  Event started = event_of(EventKind::started);
  started.placement = {{"n3", 2}};
  ASSERT_TRUE(apply(life, policy, started, 2 * kSecondNs).taken);
  EXPECT_EQ(life.placement, started.placement);
  // What its scheduler has done is no question of whether the job is preemptible.
  EXPECT_FALSE(apply(life, policy, event_of(EventKind::preempted, 0), 3 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::preempted), 3 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, exited(Ending::interrupted), 4 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::queued);
  EXPECT_EQ(life.restarts, 1);
}

TEST(JobState, WhatCouldNotBePlacedWaitsAWhileAndNothingIsCounted) {
  const Policy policy{false, {1, {}, {}}, {}};
  Life life = born(false, 0);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::not_placed, 1), 2 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::queued);
  EXPECT_EQ(life.retries, 0);
  EXPECT_EQ(life.restarts, 0);
  EXPECT_EQ(life.waiting_since_ns, 0) << "it keeps its place in line";
  EXPECT_EQ(life.not_before_ns, 12 * kSecondNs) << "the same decision may come again";
}

// Its controller ran, and found nobody there.
TEST(JobState, AJobOfWhichNothingBeganGoesBackIntoLineAFewTimes) {
  const Policy policy{false, {}, {}};
  Life life = born(false, 0);
  for (int attempt = 1; attempt <= 5; ++attempt) {
    const std::int64_t at_ns = attempt * 100 * kSecondNs;
    ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), at_ns).taken);
    ASSERT_TRUE(apply(life, policy, event_of(EventKind::started, attempt), at_ns).taken);
    const Change change =
        apply(life, policy, event_of(EventKind::not_placed, attempt), at_ns + 5 * kSecondNs);
    ASSERT_TRUE(change.taken);
    EXPECT_TRUE(change.released());
    EXPECT_EQ(life.state, State::queued) << attempt;
    EXPECT_EQ(life.ran_ns, 0) << "it has not used its time";
    EXPECT_EQ(life.restarts, 0);
    EXPECT_EQ(life.retries, 0);
  }
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 900 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::started, 6), 900 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::not_placed, 6), 901 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::error) << "its nodes answer, and yet it cannot begin there";
}

TEST(JobState, TheTimeThatAJobRanGrowsOnlyWhileItRuns) {
  const Policy policy{true, {}, std::chrono::seconds(1)};
  Life life = born(false, 0);
  const auto ran = [&](int second) {
    return time_run(life.state, life.started_ns, life.ran_ns, second * kSecondNs) / kSecondNs;
  };
  EXPECT_EQ(ran(5), 0);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 5 * kSecondNs).taken);
  EXPECT_EQ(ran(9), 0);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::started), 10 * kSecondNs).taken);
  EXPECT_EQ(ran(13), 3);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::preempted, 0), 13 * kSecondNs).taken);
  EXPECT_EQ(ran(14), 4) << "it runs until it has stopped";
  ASSERT_TRUE(apply(life, policy, exited(Ending::interrupted), 15 * kSecondNs).taken);
  EXPECT_EQ(ran(100), 5) << "back in line";
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 100 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::started, 2), 101 * kSecondNs).taken);
  EXPECT_EQ(ran(103), 7) << "with the attempts before";
}

TEST(JobState, AFailedJobIsTriedAgainAsOftenAsItsPolicySaysAndCountsIt) {
  const Policy policy{false, {2, {75}, {}}, {}};
  Life life = born(false, 0);
  for (int restarts = 0; restarts <= 2; ++restarts) {
    const Change placed = apply(life, policy, event_of(EventKind::placed), kSecondNs);
    ASSERT_EQ(placed.actions.size(), 1U);
    EXPECT_EQ(placed.actions[0].restarts, restarts) << "ASSAY_RESTART_COUNT";
    Event end = exited(Ending::failed, 75);
    end.attempt = life.attempt;
    ASSERT_TRUE(apply(life, policy, end, 2 * kSecondNs).taken);
    if (restarts < 2) {
      EXPECT_EQ(life.state, State::queued);
      EXPECT_EQ(life.not_before_ns, 2 * kSecondNs + retry_pause(restarts + 1).count());
    }
  }
  EXPECT_EQ(life.state, State::failed);
  EXPECT_EQ(life.exit_code, 75);
  EXPECT_EQ(life.message, "failed with exit code 75");
}

TEST(JobState, AnExitCodeThatIsNotNamedIsNotTriedAgain) {
  const Policy policy{false, {2, {75}, {}}, {}};
  Life life = life_in(State::running, policy);
  ASSERT_TRUE(apply(life, policy, exited(Ending::failed, 1), 3 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::failed);
}

TEST(JobState, ALostNodeStopsTheRestBeforeTheJobGoesOn) {
  const Policy policy{false, {1, {}, {{RetryEvent::node_lost}}}, {}};
  Life life = life_in(State::running, policy);
  const Change lost = apply(life, policy, event_of(EventKind::node_lost), 3 * kSecondNs);
  EXPECT_EQ(life.state, State::pausing) << "the other nodes are still the job's";
  EXPECT_FALSE(lost.released());
  const Change gone = apply(life, policy, exited(Ending::interrupted), 4 * kSecondNs);
  EXPECT_TRUE(gone.released());
  EXPECT_EQ(life.state, State::queued);
  EXPECT_EQ(life.retries, 1);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::placed), 20 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::node_lost, 2), 21 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::killing) << "the second time is once too often";
  Event end = exited(Ending::interrupted);
  end.attempt = 2;
  end.detail = "the agent on node2 was lost";
  ASSERT_TRUE(apply(life, policy, end, 22 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::error) << "the cluster could not run it";
  EXPECT_EQ(life.cause, Cause::node_lost);
  EXPECT_EQ(life.message, "stopped after a node was lost: the agent on node2 was lost");
}

TEST(JobState, ARetryWaitsForWhatMayStillRunOnANodeThatNobodyReaches) {
  const Policy policy{false, {1, {}, {}}, {}};
  Life life = life_in(State::running, policy);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::node_lost), 3 * kSecondNs).taken);
  Event end = exited(Ending::interrupted);
  end.may_run_on = std::chrono::seconds(45);
  ASSERT_TRUE(apply(life, policy, end, 4 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::queued);
  EXPECT_EQ(life.not_before_ns, 49 * kSecondNs) << "the pause before a retry is shorter";
}

TEST(JobState, WhatIsResumedWaitsForThatToo) {
  Life life = life_in(State::running, {});
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::pause_asked), 3 * kSecondNs).taken);
  Event end = exited(Ending::interrupted);
  end.may_run_on = std::chrono::seconds(45);
  ASSERT_TRUE(apply(life, {}, end, 4 * kSecondNs).taken);
  ASSERT_EQ(life.state, State::paused);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::resume_asked), 5 * kSecondNs).taken);
  EXPECT_EQ(life.not_before_ns, 49 * kSecondNs);
}

TEST(JobState, ASuiteMayGiveMoreGraceThanThePlatform) {
  Life life = life_in(State::running, {});
  life.grace_ns = 180 * kSecondNs;
  const Change paused = apply(life, {}, event_of(EventKind::pause_asked), 3 * kSecondNs);
  ASSERT_EQ(paused.actions.size(), 1U);
  EXPECT_EQ(paused.actions.front().grace, std::chrono::seconds(180));
  EXPECT_EQ(life.stop_by_ns, 183 * kSecondNs);
  life = life_in(State::running, {});
  life.grace_ns = 10 * kSecondNs;
  EXPECT_EQ(apply(life, {}, event_of(EventKind::pause_asked), 3 * kSecondNs).actions.front().grace,
            std::chrono::seconds(60));
}

TEST(JobState, AJobThatIsFoundInItsGraceKeepsTheRestOfIt) {
  const Policy policy{.grace = std::chrono::seconds(60)};
  Life life = life_in(State::running, policy);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::kill_asked), 100 * kSecondNs).taken);
  const Change found = apply(life, policy, event_of(EventKind::found), 140 * kSecondNs);
  ASSERT_EQ(found.actions.size(), 1U);
  EXPECT_EQ(found.actions.front().kind, ActionKind::stop);
  EXPECT_EQ(found.actions.front().grace, std::chrono::seconds(20));
  const Change late = apply(life, policy, event_of(EventKind::found), 500 * kSecondNs);
  EXPECT_EQ(late.actions.front().grace, Nanoseconds(0));
}

TEST(JobState, APolicyWithoutEventsIsNotTriedAgainAfterThem) {
  const Policy policy{false, {5, {}, std::vector<RetryEvent>{}}, {}};
  Life life = life_in(State::scheduling, policy);
  ASSERT_TRUE(apply(life, policy, event_of(EventKind::engine_error), 3 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::error);
}

TEST(JobState, APreemptedJobGoesBackIntoTheQueueWithoutUsingUpItsRetries) {
  const Policy policy{true, {0, {}, {}}, std::chrono::seconds(30)};
  Life life = life_in(State::running, policy);
  const Change preempted = apply(life, policy, event_of(EventKind::preempted), 12 * kSecondNs);
  EXPECT_THAT(preempted.actions, ElementsAre(Action{ActionKind::stop, 1, 0, policy.grace}));
  Event stopped = exited(Ending::interrupted, 143);
  stopped.exit.verdict = Verdict::invalid;
  ASSERT_TRUE(apply(life, policy, stopped, 13 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::queued);
  EXPECT_EQ(life.restarts, 1);
  EXPECT_EQ(life.retries, 0);
  EXPECT_EQ(life.not_before_ns, 0);
  EXPECT_EQ(life.ran_ns, 11 * kSecondNs);
  EXPECT_EQ(life.verdict, Verdict::none) << "it has not ended";
}

TEST(JobState, AJobThatIsNotPreemptibleKeepsItsNodes) {
  Life life = life_in(State::running);
  const Change change = apply(life, {}, event_of(EventKind::preempted, 0), 3 * kSecondNs);
  EXPECT_FALSE(change.taken);
  EXPECT_EQ(change.words, "is not preemptible");
}

TEST(JobState, AJobThatFinishesWhileItIsBeingStoppedHasFinished) {
  for (const State state : {State::pausing, State::killing}) {
    Life life = life_in(state);
    ASSERT_TRUE(apply(life, {}, exited(Ending::completed), 3 * kSecondNs).taken);
    EXPECT_EQ(life.state, State::finished);
  }
}

TEST(JobState, AnInvalidResultIsAFinishedJob) {
  Life life = life_in(State::running);
  Event end = exited(Ending::completed, 0);
  end.exit.verdict = Verdict::invalid;
  ASSERT_TRUE(apply(life, {}, end, 3 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::finished);
  EXPECT_EQ(life.verdict, Verdict::invalid);
}

TEST(JobState, ResumingWhileItIsBeingPausedLetsItGoOnAfterwards) {
  Life life = life_in(State::pausing);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::resume_asked), 3 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::pausing);
  ASSERT_TRUE(apply(life, {}, exited(Ending::interrupted), 4 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::queued);
}

TEST(JobState, APausedJobThatNobodyApprovedWaitsForApprovalAgain) {
  Life life = life_in(State::unapproved);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::pause_asked), 3 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::resume_asked), 4 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::unapproved);
}

TEST(JobState, NobodyIsStoppedForBeingIdleWithoutAWarning) {
  Life life = life_in(State::running);
  const Change first = apply(life, {}, event_of(EventKind::idle_limit), 3 * kSecondNs);
  EXPECT_EQ(life.state, State::running);
  EXPECT_THAT(first.actions, ElementsAre(Action{ActionKind::warn_idle, 1, 0, Nanoseconds(0)}));
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::idle_cleared), 4 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::idle_warned), 5 * kSecondNs).taken);
  ASSERT_TRUE(apply(life, {}, event_of(EventKind::idle_limit), 6 * kSecondNs).taken);
  EXPECT_EQ(life.state, State::killing);
  EXPECT_EQ(life.cause, Cause::idle_limit);
}

TEST(JobState, TheSecondWishToKillIsByForce) {
  Life life = life_in(State::killing);
  const Change change = apply(life, {}, event_of(EventKind::kill_asked), 3 * kSecondNs);
  EXPECT_THAT(change.actions, ElementsAre(Action{ActionKind::stop_now, 1, 0, Nanoseconds(0)}));
}

TEST(JobState, AClockThatWasSetBackGivesNoNegativeTimes) {
  Life life = life_in(State::running);
  ASSERT_TRUE(apply(life, {}, exited(Ending::completed), kSecondNs).taken);
  EXPECT_EQ(life.ran_ns, 0);
}

// The server was away, and the engine knows better.
TEST(JobState, AClockThatWasSetMovesWhatIsCountedFromAndNoHistory) {
  Life life = life_in(State::running, {});
  const WallTime submitted = life.submitted_ns;
  const WallTime started = life.started_ns;
  clock_was_set(life, std::chrono::seconds(100));
  EXPECT_EQ(life.started_ns, started + 100 * kSecondNs);
  EXPECT_EQ(life.submitted_ns, submitted);
  EXPECT_EQ(life.stop_by_ns, 0) << "there is none";
  ASSERT_TRUE(apply(life, {}, exited(Ending::completed), started + 103 * kSecondNs).taken);
  EXPECT_EQ(life.ran_ns, 3 * kSecondNs);
  const Life ended = life;
  clock_was_set(life, std::chrono::seconds(-100));
  EXPECT_EQ(life, ended);
}

TEST(JobState, WhatWasLearnedOfLaterHappenedWhenItDid) {
  Life life = life_in(State::scheduling);
  Event started = event_of(EventKind::started);
  started.at_ns = 10 * kSecondNs;
  ASSERT_TRUE(apply(life, {}, started, 100 * kSecondNs).taken);
  EXPECT_EQ(life.started_ns, 10 * kSecondNs);
  Event ended = exited(Ending::completed);
  ended.at_ns = 40 * kSecondNs;
  const Change change = apply(life, {}, ended, 100 * kSecondNs);
  ASSERT_TRUE(change.taken);
  EXPECT_EQ(change.at_ns, 40 * kSecondNs);
  EXPECT_EQ(life.ended_ns, 40 * kSecondNs);
  EXPECT_EQ(life.ran_ns, 30 * kSecondNs);
}

// A node whose clock is hours off cannot make a job begin before it was placed, or end tomorrow.
TEST(JobState, AClockThatIsWrongElsewhereGivesNoImpossibleTimes) {
  Life life = life_in(State::scheduling);
  Event started = event_of(EventKind::started);
  started.at_ns = 1;
  ASSERT_TRUE(apply(life, {}, started, 5 * kSecondNs).taken);
  EXPECT_EQ(life.started_ns, life.placed_ns);
  Event ended = exited(Ending::completed);
  ended.at_ns = 1000 * kSecondNs;
  ASSERT_TRUE(apply(life, {}, ended, 6 * kSecondNs).taken);
  EXPECT_EQ(life.ended_ns, 6 * kSecondNs);
}

TEST(JobState, WhatOthersSayIsMadeSafeToShow) {
  Life life = life_in(State::running);
  Event event = event_of(EventKind::engine_error);
  event.detail = "\x1b[31mred\x1b[0m " + std::string(10'000, 'x');
  ASSERT_TRUE(apply(life, {}, event, 3 * kSecondNs).taken);
  EXPECT_EQ(life.message.find('\x1b'), std::string::npos);
  EXPECT_LT(life.message.size(), 700U);
}

TEST(JobState, ALifeIsTheSameAfterItWasWrittenAndRead) {
  for (const State state : enum_values<State>()) {
    const Life life = life_in(state);
    EXPECT_EQ(fields_from_json<Life>(fields_to_json(life), "life"), life) << to_text(state);
  }
}

TEST(JobState, TheSameEventsGiveTheSameLife) {
  const Policy policy{true, {2, {}, {}}, std::chrono::seconds(5)};
  const auto live = [&] {
    Life life = born(true, 0);
    unsigned random = 7;
    for (int i = 1; i < 3000; ++i) {
      random = random * 1664525U + 1013904223U;
      const auto kinds = enum_values<EventKind>();
      Event event = event_of(kinds[(random >> 16) % kinds.size()], life.attempt);
      if ((random >> 8) % 3 == 0) event.exit.ending = Ending::interrupted;
      if ((random >> 8) % 3 == 1) event.exit = {Ending::failed, 9, Verdict::none};
      (void)apply(life, policy, event, i * kSecondNs);
      EXPECT_LE(life.retries, policy.retries.count);
      EXPECT_LE(life.restarts, life.attempt);
      EXPECT_EQ(life.after_stop.has_value(),
                life.state == State::pausing || life.state == State::killing);
      if (is_final(life.state)) life = born(false, i * kSecondNs);
    }
    return life;
  };
  EXPECT_EQ(live(), live());
}

TEST(JobState, ARetryWaitsLongerEachTimeAndNeverForEver) {
  EXPECT_EQ(retry_pause(1), std::chrono::seconds(10));
  EXPECT_EQ(retry_pause(2), std::chrono::seconds(20));
  EXPECT_EQ(retry_pause(1'000'000), std::chrono::minutes(5));
}

TEST(Pending, SaysWhyInWords) {
  Pending quota{PendingKind::team_quota, 2, 16, "H200", 8, 0, "vision", 0, 0};
  EXPECT_EQ(to_words(quota), "asks for 16 devices of type H200; the team's quota is 8");
  quota.limit = 24;
  quota.used = 12;
  EXPECT_EQ(to_words(quota),
            "asks for 16 devices of type H200; the team's quota is 24, of which 12 are in use");
  EXPECT_EQ(to_words({PendingKind::too_large, 4, 8, "H200", 2, 0, "", 0, 0}),
            "asks for 4 nodes with 8 devices of type H200 each; the cluster has 2 nodes of that "
            "size");
}

TEST(Pending, EveryKindHasWords) {
  for (const PendingKind kind : enum_values<PendingKind>()) {
    Pending pending;
    pending.kind = kind;
    EXPECT_FALSE(to_words(pending).empty()) << to_text(kind);
    EXPECT_EQ(fields_from_json<Pending>(fields_to_json(pending), "pending"), pending);
  }
}

TEST(Pending, NamesOfOthersAreMadeSafeToShow) {
  Pending pending;
  pending.kind = PendingKind::no_queue;
  pending.subject = "a\x1b[2Jb";
  EXPECT_EQ(to_words(pending).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace assay::jobs
