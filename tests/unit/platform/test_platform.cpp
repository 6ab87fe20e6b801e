#include <future>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>

#include "core/time.h"
#include "database/database.h"
#include "platform_fixture.h"

namespace assay::platform {
namespace {

using jobs::EventKind;
using jobs::State;
using ::testing::ElementsAre;
using testing::error_of;
using testing::eventually;
using ::testing::HasSubstr;

TEST_F(PlatformTest, RunsWhatIsSubmitted) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  const engine::Order& order = log_->orders.at({id, 1});
  EXPECT_EQ(order.folder, temporary_.path() / "data/jobs/1/attempt-1");
  EXPECT_EQ(order.placement, (jobs::Placement{{"node1", 1}}));
  EXPECT_EQ(order.owner, "alice");
  log_->report({id, 1}, EventKind::started);
  EXPECT_TRUE(becomes(id, State::running));
  exit(id, 1);
  EXPECT_TRUE(becomes(id, State::finished));
}

TEST_F(PlatformTest, SaysWhyAJobWaitsAndStartsItWhenTheNodeIsFree) {
  jobs::NewJob whole = job("whole");
  whole.submission.devices = 4;
  const jobs::JobId first = submit(whole);
  ASSERT_TRUE(log_->saw("start 1.1"));
  const jobs::JobId second = submit(job());
  ASSERT_TRUE(eventually([&] { return platform_->find(second)->place == 1; }));
  const JobView view = *platform_->find(second);
  EXPECT_EQ(view.pending->kind, jobs::PendingKind::resources);
  EXPECT_TRUE(view.estimated_start_ns);
  EXPECT_EQ(platform_->waits(second)->place, 1);
  exit(first, 1);
  EXPECT_TRUE(log_->saw("start 2.1"));
  EXPECT_FALSE(platform_->waits(second));
}

// Whatever keeps it from being written down: here, who is told of the start.
TEST_F(PlatformTest, AnEndIsOfTheMomentAtWhichItHappened) {
  std::promise<void> told;
  std::promise<void> go_on;
  const auto listening = platform_->subscribe([&](const JobEvent& event) {
    if (event.event != EventKind::started) return;
    told.set_value();
    go_on.get_future().wait();
  });
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  told.get_future().wait();
  exit(id, 1);
  const jobs::WallTime reported_ns = wall_now_ns();
  go_on.set_value();
  ASSERT_TRUE(becomes(id, State::finished));
  EXPECT_LE(platform_->find(id)->job.life.ended_ns, reported_ns);
  EXPECT_LE(platform_->timeline(id).back().at_ns, reported_ns);
}

TEST_F(PlatformTest, KillsWithTheGrace) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  EXPECT_EQ(platform_->ask(id, EventKind::kill_asked, "bob").to, State::killing);
  EXPECT_TRUE(log_->saw("stop 1.1 60s"));
  EXPECT_EQ(state(id), State::killing);  // until nothing of it runs
  exit(id, 1, jobs::Ending::interrupted);
  EXPECT_TRUE(becomes(id, State::killed));
  EXPECT_THAT(error_of([&] { return platform_->ask(id, EventKind::kill_asked, "bob"); }),
              HasSubstr("killed"));
}

TEST_F(PlatformTest, RetriesAreNewAttempts) {
  jobs::NewJob retried = job();
  retried.submission.retries.count = 1;
  const jobs::JobId id = submit(retried);
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  exit(id, 1, jobs::Ending::failed, 3);
  ASSERT_TRUE(becomes(id, State::queued));
  EXPECT_TRUE(eventually([&] {
    const auto view = platform_->find(id);
    return view->pending && view->pending->kind == jobs::PendingKind::not_before;
  })) << "once the next decision is made";
  ASSERT_TRUE(log_->saw("start 1.2"));  // after 10 s
  EXPECT_EQ(log_->orders.at({id, 2}).restarts, 1);
  exit(id, 2, jobs::Ending::failed, 4);
  EXPECT_TRUE(becomes(id, State::failed));
  EXPECT_EQ(platform_->find(id)->job.life.exit_code, 4);
}

TEST_F(PlatformTest, StopsAJobAtItsTimeLimit) {
  jobs::NewJob limited = job();
  limited.submission.time = jobs::WrittenDuration{std::chrono::seconds(1)};
  const jobs::JobId id = submit(limited);
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  EXPECT_TRUE(log_->saw("stop 1.1 60s"));
  EXPECT_EQ(platform_->find(id)->job.life.cause, jobs::Cause::time_limit);
}

// It may run for that long in all, and has done so: what is left of it is nothing.
TEST_F(PlatformTest, AJobThatWasPausedHasTheRestOfItsTime) {
  constexpr std::chrono::seconds kTime(3);
  jobs::NewJob limited = job();
  limited.submission.time = jobs::WrittenDuration{kTime};
  const jobs::JobId id = submit(limited);
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  (void)platform_->ask(id, EventKind::pause_asked, "alice");
  const jobs::WallTime started_ns = platform_->find(id)->job.life.started_ns;
  ASSERT_TRUE(eventually([&] { return wall_now_ns() - started_ns > Nanoseconds(kTime).count(); }));
  exit(id, 1, jobs::Ending::interrupted);
  ASSERT_TRUE(becomes(id, State::paused));
  (void)platform_->ask(id, EventKind::resume_asked, "alice");
  ASSERT_TRUE(log_->saw("start 1.2"));
  log_->report({id, 2}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::killing));
  EXPECT_EQ(platform_->find(id)->job.life.cause, jobs::Cause::time_limit);
  const jobs::TimelineEntry last = platform_->timeline(id).back();
  EXPECT_EQ(last.event, EventKind::time_limit);
  EXPECT_LT(last.at_ns - platform_->find(id)->job.life.started_ns, Nanoseconds(kTime).count());
}

TEST_F(PlatformTest, ASuitesOwnGraceCounts) {
  log_->planned.grace = std::chrono::seconds(180);
  jobs::NewJob suite = job();
  suite.submission.command.clear();
  suite.submission.suite = "name: a\n";
  const jobs::JobId id = submit(suite);
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  (void)platform_->ask(id, EventKind::pause_asked, "alice");
  EXPECT_TRUE(log_->saw("stop 1.1 180s"));
}

TEST_F(PlatformTest, WhatRunsIsInTheUsage) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  const jobs::WallTime always = std::numeric_limits<jobs::WallTime>::max();
  EXPECT_TRUE(platform_->usage(0, always).empty()) << "it has not begun";
  log_->report({id, 1}, EventKind::started);
  ASSERT_TRUE(becomes(id, State::running));
  ASSERT_TRUE(eventually([&] {
    const auto rows = platform_->usage(0, always);
    return rows.size() == 1 && rows[0].user == "alice" && rows[0].device_type == "cpu" &&
           rows[0].device_hours > 0;
  }));
}

TEST_F(PlatformTest, AJobAfterAnotherWaitsForItAndDiesWithIt) {
  const jobs::JobId first = submit(job());
  jobs::NewJob next = job();
  next.submission.after = {first};
  const jobs::JobId second = submit(next);
  ASSERT_TRUE(log_->saw("start 1.1"));
  ASSERT_TRUE(eventually([&] { return platform_->waits(second).has_value(); }));
  EXPECT_EQ(platform_->waits(second)->reason.kind, jobs::PendingKind::dependency);
  exit(first, 1, jobs::Ending::failed, 1);
  EXPECT_TRUE(becomes(second, State::killed));
  EXPECT_EQ(platform_->find(second)->job.life.cause, jobs::Cause::dependency);
}

TEST_F(PlatformTest, RefusesASubmissionWithAllItsProblems) {
  jobs::NewJob wrong = job();
  wrong.submission.queue = "nights";
  wrong.submission.after = {99};
  try {
    (void)platform_->submit(wrong);
    FAIL() << "it was taken";
  } catch (const Refused& refused) {
    ASSERT_EQ(refused.problems().size(), 2U);
    EXPECT_EQ(refused.problems()[0].path, "queue");
    EXPECT_EQ(refused.problems()[1].path, "after[0]");
  }
  EXPECT_EQ(platform_->list({}).total, 0);
}

TEST_F(PlatformTest, RefusesASuiteThatCannotBePlanned) {
  log_->wrong_suite = "name: a\ncasse: []\n";
  jobs::NewJob wrong = job();
  wrong.submission.command.clear();
  wrong.submission.suite = log_->wrong_suite;
  const std::string message = error_of([&] { return platform_->submit(wrong); });
  EXPECT_THAT(message, HasSubstr("suite: suite.yaml:2:1: unknown key 'casse'"));
}

TEST_F(PlatformTest, RefusesASuiteThatNeedsMoreThanTheJobAsksFor) {
  log_->planned = {.text = "the plan", .nodes = 2, .procs = 8};
  jobs::NewJob small = job();
  small.submission.command.clear();
  small.submission.suite = "name: a\n";
  const Preview preview = platform_->preview(small);
  ASSERT_EQ(preview.problems.size(), 2U);
  EXPECT_EQ(preview.problems[0].path, "nodes");
  EXPECT_EQ(preview.problems[1].path, "procs");
}

TEST_F(PlatformTest, PreviewSaysThatAQueueWantsApproval) {
  Settings settings = platform_->settings();
  settings.queues.push_back({.name = "large", .approval = true});
  platform_->change_settings(settings);
  jobs::NewJob large = job();
  large.submission.queue = "large";
  const Preview preview = platform_->preview(large);
  ASSERT_TRUE(preview.pending);
  EXPECT_EQ(preview.pending->kind, jobs::PendingKind::approval);
  EXPECT_TRUE(preview.placement.empty()) << "it does not start at once";
  EXPECT_EQ(preview.plan, "the plan");
}

TEST_F(PlatformTest, PreviewSaysHowManyJobsAnArrayIs) {
  jobs::NewJob array = job();
  array.submission.array = "0-999%3";
  const Preview preview = platform_->preview(array);
  EXPECT_EQ(preview.elements, 1000);
  EXPECT_EQ(preview.at_once, 3);
  EXPECT_EQ(platform_->preview(job()).elements, 0);
}

TEST_F(PlatformTest, PreviewShowsWhereAndWhenAJobWouldRun) {
  const Preview now = platform_->preview(job());
  EXPECT_TRUE(now.problems.empty());
  EXPECT_EQ(now.placement, (jobs::Placement{{"node1", 1}}));
  EXPECT_FALSE(now.pending);
  EXPECT_EQ(now.plan, "the plan");
  EXPECT_THAT(now.suite, HasSubstr("command: \"true\""));
  jobs::NewJob whole = job();
  whole.submission.devices = 4;
  (void)submit(whole);
  ASSERT_TRUE(log_->saw("start 1.1"));
  const Preview later = platform_->preview(job());
  EXPECT_TRUE(later.placement.empty());
  EXPECT_EQ(later.place, 1);
  EXPECT_EQ(later.pending->kind, jobs::PendingKind::resources);
  EXPECT_TRUE(later.estimated_start_ns);
  jobs::NewJob large = job();
  large.submission.devices = 16;
  EXPECT_EQ(platform_->preview(large).pending->kind, jobs::PendingKind::too_large);
  EXPECT_EQ(platform_->list({}).total, 1);  // nothing was submitted by looking
}

TEST_F(PlatformTest, RefusesAJobAfterOneThatFailed) {
  const jobs::JobId first = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  exit(first, 1, jobs::Ending::failed, 1);
  ASSERT_TRUE(becomes(first, State::failed));
  jobs::NewJob next = job();
  next.submission.after = {first};
  const std::vector<jobs::Problem> problems = platform_->preview(next).problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].path, "after[0]");
  EXPECT_EQ(problems[0].message, "can never run: job 1 has not finished and never will");
  EXPECT_THROW((void)platform_->submit(next), Refused);
  EXPECT_EQ(platform_->list({}).total, 1);
}

// Whoever did not hear the answer sends the request once more.
TEST_F(PlatformTest, ARequestThatCameBeforeIsAnsweredThoughTheJobBeforeItHasFailedSince) {
  const jobs::JobId first = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  jobs::NewJob next = job();
  next.submission.after = {first};
  next.request_key = "once";
  const jobs::JobId second = submit(next);
  exit(first, 1, jobs::Ending::failed, 1);
  ASSERT_TRUE(becomes(second, State::killed));
  EXPECT_EQ(submit(next), second);
}

TEST_F(PlatformTest, AJobIsGivenItsSecretsAsTheyAreWhenItStarts) {
  set_secrets({{"alice/hf", "first"}});
  jobs::NewJob whole = job();
  whole.submission.devices = 4;
  const jobs::JobId before = submit(whole);
  ASSERT_TRUE(log_->saw("start 1.1"));
  jobs::NewJob next = job();
  next.submission.secrets = {{"HF_TOKEN", "hf"}};
  const jobs::JobId id = submit(next);
  set_secrets({{"alice/hf", "second"}});
  exit(before, 1);
  ASSERT_TRUE(log_->saw("start 2.1"));
  EXPECT_EQ(log_->orders.at({id, 1}).secrets.at("HF_TOKEN"), "second");
  EXPECT_EQ(platform_->find(id)->job.submission.secrets.at("HF_TOKEN"), "hf");
}

TEST_F(PlatformTest, AJobWhoseSecretIsNotThereIsRefused) {
  jobs::NewJob wanting = job();
  wanting.submission.secrets = {{"HF_TOKEN", "hf"}};
  const std::vector<jobs::Problem> problems = platform_->preview(wanting).problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].path, "secrets.HF_TOKEN");
  EXPECT_EQ(problems[0].message, "you keep no secret 'hf'");
  EXPECT_THROW((void)platform_->submit(wanting), Refused);
  set_secrets({{"alice/hf", "value"}});
  wanting.request_key = "once";
  const jobs::JobId id = submit(wanting);
  set_secrets({});
  EXPECT_EQ(submit(wanting), id) << "whoever did not hear the answer asks once more";
}

TEST_F(PlatformTest, AJobWhoseSecretIsGoneWhenItStartsSaysSo) {
  set_secrets({{"alice/hf", "value"}});
  const jobs::JobId before = [&] {
    jobs::NewJob whole = job();
    whole.submission.devices = 4;
    return submit(whole);
  }();
  ASSERT_TRUE(log_->saw("start 1.1"));
  jobs::NewJob next = job();
  next.submission.secrets = {{"HF_TOKEN", "hf"}};
  const jobs::JobId id = submit(next);
  set_secrets({});
  exit(before, 1);
  ASSERT_TRUE(becomes(id, State::error));
  EXPECT_THAT(platform_->find(id)->job.life.message, HasSubstr("you keep no secret 'hf'"));
}

// What the plan shows, what the run obeys and what the scheduler reckons with is one time.
TEST_F(PlatformTest, AJobThatAsksForNoTimeHasThePlatforms) {
  const Preview preview = platform_->preview(job());
  EXPECT_THAT(preview.suite, HasSubstr("time: 24h"));
  EXPECT_EQ(preview.time, std::chrono::hours(24));
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  EXPECT_EQ(log_->orders.at({id, 1}).submission.time->value, std::chrono::hours(24));
  EXPECT_FALSE(platform_->find(id)->job.submission.time) << "it did not ask for it";
}

TEST_F(PlatformTest, WhatTheEngineHasNoRoomForGoesBackIntoLine) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::not_placed);
  EXPECT_TRUE(becomes(id, State::queued));
  EXPECT_EQ(platform_->find(id)->job.life.retries, 0);
}

TEST_F(PlatformTest, ANodeThatIsDrainedGetsNothingNew) {
  platform_->drain("node1", "a fan is broken", "alice");
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(eventually([&] { return platform_->waits(id).has_value(); }));
  EXPECT_EQ(platform_->waits(id)->reason.kind, jobs::PendingKind::drained);
  const NodeView node = platform_->nodes().front();
  EXPECT_TRUE(node.drained);
  EXPECT_FALSE(node.node.available);
  EXPECT_FALSE(node.lost);
  EXPECT_EQ(node.drained_by, "alice");
  EXPECT_EQ(node.reason, "a fan is broken");
  platform_->undrain("node1");
  EXPECT_TRUE(log_->saw("start 1.1"));
  const NodeView used = platform_->nodes().front();
  ASSERT_EQ(used.uses.size(), 1U);
  EXPECT_EQ(used.uses.front().job, id);
  EXPECT_EQ(used.uses.front().indices, std::vector<int>{0});
  EXPECT_THAT(error_of([&] {
                platform_->drain("node9", "", "alice");
                return 0;
              }),
              HasSubstr("there is no node 'node9'"));
}

TEST_F(PlatformTest, AReservedNodeIsForItsTeamsAlone) {
  Settings settings = platform_->settings();
  settings.reservations = {{.name = "r1",
                            .nodes = {"node1"},
                            .from_ns = wall_now_ns() - 1'000'000'000,
                            .to_ns = wall_now_ns() + 3'600'000'000'000,
                            .teams = {"speech"}}};
  platform_->change_settings(settings);
  const jobs::JobId foreign = submit(job());  // of the team vision
  jobs::NewJob nobodys = job();
  nobodys.team = "";
  const jobs::JobId of_nobody = submit(nobodys);
  jobs::NewJob theirs = job();
  theirs.team = "speech";
  const jobs::JobId own = submit(theirs);
  ASSERT_TRUE(log_->saw("start 3.1"));
  EXPECT_EQ(state(own), State::scheduling);
  for (const jobs::JobId id : {foreign, of_nobody}) {
    EXPECT_EQ(state(id), State::queued);
    EXPECT_TRUE(testing::eventually([&] {
      return platform_->find(id)->pending->kind == jobs::PendingKind::reservation;
    })) << id;
  }
}

TEST_F(PlatformTest, OnePersonsWaitingJobsHaveALimit) {
  platform_->drain("node1", "maintenance", "admin");
  jobs::NewJob array = job();
  array.submission.array = "0-9999";
  array.request_key = "first";
  EXPECT_EQ(platform_->submit(array).size(), 10'000U);
  array.request_key = "second";
  EXPECT_EQ(platform_->submit(array).size(), 10'000U);
  EXPECT_EQ(platform_->submit(array).size(), 10'000U) << "the same request again";
  const std::vector<jobs::Problem> problems = platform_->preview(job()).problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.front().message,
            "at most 20000 jobs of one person may wait; 20000 do, and this would add 1");
  jobs::NewJob other = job();
  other.owner = "bob";
  EXPECT_TRUE(platform_->preview(other).problems.empty());
}

TEST_F(PlatformTest, AQueueThatWantsApprovalGetsIt) {
  Settings settings = platform_->settings();
  settings.queues.push_back({.name = "large", .approval = true});
  platform_->change_settings(settings);
  jobs::NewJob large = job();
  large.submission.queue = "large";
  const jobs::JobId id = submit(large);
  EXPECT_EQ(state(id), State::unapproved);
  EXPECT_EQ(platform_->find(id)->pending->kind, jobs::PendingKind::approval);
  (void)platform_->ask(id, EventKind::approved, "alice");
  EXPECT_TRUE(log_->saw("start 1.1"));
}

TEST_F(PlatformTest, TellsWhoListensOfEveryChangeInOrder) {
  std::mutex mutex;
  std::vector<std::string> heard;
  auto listener = platform_->subscribe([&](const JobEvent& event) {
    const std::lock_guard guard(mutex);
    heard.push_back(std::string(to_text(event.event)) + " " + std::string(to_text(event.state)));
  });
  const auto count = [&] {
    const std::lock_guard guard(mutex);
    return heard.size();
  };
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  log_->report({id, 1}, EventKind::started);
  exit(id, 1);
  ASSERT_TRUE(eventually([&] { return count() == 4; }));
  EXPECT_THAT(heard, ElementsAre("submitted queued", "placed scheduling", "started running",
                                 "exited finished"));
  listener.reset();
  (void)submit(job());
  ASSERT_TRUE(log_->saw("start 2.1"));
  EXPECT_EQ(count(), 4U);
}

// What a listener uses may go as soon as nobody listens any more.
TEST_F(PlatformTest, WhoStopsListeningWaitsForACallThatIsUnderWay) {
  std::promise<void> called;
  std::promise<void> go_on;
  std::atomic<bool> in_call = false;
  auto listener = platform_->subscribe([&](const JobEvent& event) {
    if (event.event != EventKind::submitted) return;
    in_call = true;
    called.set_value();
    go_on.get_future().wait();
    in_call = false;
  });
  (void)submit(job());
  called.get_future().wait();
  auto ended = std::async(std::launch::async, [&] {
    listener.reset();
    return in_call.load();
  });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  go_on.set_value();
  EXPECT_FALSE(ended.get());
}

TEST_F(PlatformTest, AListenerThatFailsCostsNobodyElseAnything) {
  std::promise<void> heard;
  const auto failing = platform_->subscribe(
      [](const JobEvent& /*event*/) { throw std::runtime_error("no memory"); });
  const auto other = platform_->subscribe([&](const JobEvent& event) {
    if (event.event == EventKind::placed) heard.set_value();
  });
  (void)submit(job());
  EXPECT_EQ(heard.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(PlatformTest, ListeningMayEndAfterThePlatformDoes) {
  auto listener = platform_->subscribe([](const JobEvent& /*event*/) {});
  platform_.reset();
  listener.reset();
}

// Sanitizers see here that orders are made of settings that nobody replaces meanwhile.
TEST_F(PlatformTest, SettingsMayChangeWhileJobsStart) {
  const std::jthread changing([&](const std::stop_token& stop) {
    Settings settings = platform_->settings();
    for (int i = 0; !stop.stop_requested(); ++i) {
      settings.queues.resize(1);
      for (int more = 0; more < i % 5; ++more)
        settings.queues.push_back({.name = "queue" + std::to_string(more)});
      platform_->change_settings(settings);
    }
  });
  jobs::NewJob array = job();
  array.submission.array = "0-3";
  const std::vector<jobs::JobId> ids = platform_->submit(array);
  for (const jobs::JobId id : ids)
    EXPECT_TRUE(log_->saw("start " + std::to_string(id) + ".1")) << id;
}

TEST_F(PlatformTest, ADecisionThatCouldNotBeWrittenDownIsMadeAgain) {
  platform_->drain("node1", "maintenance", "alice");
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(eventually([&] { return platform_->waits(id).has_value(); }));
  {
    database::Database other(temporary_.path() / "data/jobs.db");
    const database::Transaction locked(other);
    const int before = log_->looks;
    platform_->undrain("node1");
    // Here, by the turn that decides, by the decision, and by the turn after it has failed.
    ASSERT_TRUE(eventually([&] { return log_->looks >= before + 4; }, std::chrono::seconds(60)));
    EXPECT_EQ(state(id), State::queued);
  }
  EXPECT_TRUE(log_->saw("start 1.1"));
}

TEST_F(PlatformTest, PriorityDecidesUntilAJobStarts) {
  jobs::NewJob whole = job("whole");
  whole.submission.devices = 4;
  const jobs::JobId first = submit(whole);
  ASSERT_TRUE(log_->saw("start 1.1"));
  const jobs::JobId second = submit(whole);
  const jobs::JobId third = submit(whole);
  platform_->change_priority(third, 900);
  ASSERT_TRUE(
      eventually([&] { return platform_->waits(third) && platform_->waits(third)->place == 1; }));
  EXPECT_EQ(platform_->waits(second)->place, 2);
  EXPECT_THAT(error_of([&] {
                platform_->change_priority(first, 1);
                return 0;
              }),
              HasSubstr("scheduling"));
}

TEST_F(PlatformTest, RemovesWhatHasEndedWithItsRunsButNotItsUse) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  EXPECT_THAT(error_of([&] {
                platform_->remove(id);
                return 0;
              }),
              HasSubstr("stop it first"));
  log_->report({id, 1}, EventKind::started);
  exit(id, 1);
  ASSERT_TRUE(becomes(id, State::finished));
  temporary_.write("data/jobs/1/attempt-1/run/run1/plan.json", "{}");
  EXPECT_EQ(platform_->run_of(id).filename(), "run1");
  platform_->remove(id);
  EXPECT_FALSE(platform_->find(id));
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "data/jobs/1"));
  const std::vector<UsageRow> rows = platform_->usage(0, wall_now_ns() + 1'000'000'000);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().user, "alice");
  EXPECT_EQ(rows.front().device_type, "cpu");
  EXPECT_EQ(rows.front().jobs, 1);
}

// Where the server ended, or the disk failed, after the first of the two steps.
TEST_F(PlatformTest, ARemovalIsDoneToItsEndOrNotAtAll) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  exit(id, 1);
  ASSERT_TRUE(becomes(id, State::finished));
  const std::filesystem::path jobs = temporary_.path() / "data/jobs";
  temporary_.write("data/jobs/1.removed/attempt-1/run/run1/plan.json", "{}");
  temporary_.write("data/jobs/7.removed/attempt-1/run/run1/plan.json", "{}");
  temporary_.write("data/jobs/notes.removed/text", "of somebody");
  std::filesystem::remove_all(jobs / "1");
  restart();
  EXPECT_EQ(platform_->run_of(id).filename(), "run1") << "its record is there";
  EXPECT_FALSE(std::filesystem::exists(jobs / "1.removed"));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(jobs / "7.removed"); }));
  EXPECT_TRUE(std::filesystem::exists(jobs / "notes.removed"));
  temporary_.write("data/jobs/8.removed/text", "left by a removal of this server");
  (void)platform_->remove_old(wall_now_ns(), false);
  EXPECT_FALSE(std::filesystem::exists(jobs / "8.removed"));
}

TEST_F(PlatformTest, AJobWhoseRecordCannotBeRemovedKeepsItsRuns) {
  const jobs::JobId id = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  exit(id, 1);
  ASSERT_TRUE(becomes(id, State::finished));
  temporary_.write("data/jobs/1/attempt-1/run/run1/plan.json", "{}");
  {
    database::Database other(temporary_.path() / "data/jobs.db");
    const database::Transaction locked(other);
    EXPECT_THROW(platform_->remove(id), database::DatabaseError);
  }
  EXPECT_EQ(platform_->run_of(id).filename(), "run1");
  platform_->remove(id);
  EXPECT_FALSE(platform_->find(id));
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "data/jobs/1.removed"));
}

TEST_F(PlatformTest, AJobThatAnotherWaitsForCannotBeRemoved) {
  const jobs::JobId first = submit(job());
  ASSERT_TRUE(log_->saw("start 1.1"));
  exit(first, 1);
  ASSERT_TRUE(becomes(first, State::finished));
  platform_->drain("node1", "maintenance", "alice");
  jobs::NewJob next = job();
  next.submission.after = {first};
  const jobs::JobId second = submit(next);
  EXPECT_THAT(error_of([&] { platform_->remove(first); }),
              HasSubstr("job 2 comes after job 1, and has not ended"));
  (void)platform_->ask(second, EventKind::kill_asked, "alice");
  platform_->remove(first);
  EXPECT_FALSE(platform_->find(first));
}

TEST_F(PlatformTest, AFolderHasOneServer) {
  EXPECT_THAT(error_of([&] {
                return std::make_unique<Platform>(
                    Options{.data = temporary_.path() / "data"},
                    std::make_unique<FakeEngine>(std::make_shared<EngineLog>()));
              }),
              HasSubstr("another server"));
}

}  // namespace
}  // namespace assay::platform
