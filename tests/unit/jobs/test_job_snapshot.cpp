#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_examples.h"
#include "jobs/job_snapshot.h"
#include "temporary_folder.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class JobSnapshotTest : public testing::Test {
 protected:
  JobId submit(const std::string& name, int devices, void (*change)(Submission&) = nullptr) {
    NewJob job;
    job.submission.name = name;
    job.submission.command = "true";
    job.submission.devices = devices;
    job.submission.time = WrittenDuration{std::chrono::hours(1)};
    job.owner = "ann";
    job.team = "vision";
    if (change != nullptr) change(job.submission);
    return store.submit(job, now_ns).at(0);
  }
  Change take(JobId id, EventKind kind, const Placement& placement = {}) {
    Event event;
    event.kind = kind;
    event.attempt = store.find(id)->life.attempt;
    event.placement = placement;
    return store.apply(id, event, now_ns);
  }
  Snapshot snapshot() {
    Snapshot out;
    out.nodes = nodes_of(1, 8);
    add_jobs(out, store, std::chrono::hours(24), std::chrono::hours(24 * 7), now_ns);
    return out;
  }
  /// Does what the scheduler says, as a server would.
  Decision act() {
    Decision decision = decide(snapshot(), {}, now_ns);
    for (const auto& start : decision.starts)
      EXPECT_TRUE(take(start.id, EventKind::placed, start.placement).taken);
    for (const auto& preemption : decision.preemptions)
      EXPECT_TRUE(take(preemption.id, EventKind::preempted).taken);
    for (const auto& broken : decision.broken)
      EXPECT_TRUE(take(broken.id, EventKind::dependency_failed).taken);
    return decision;
  }
  State state_of(JobId id) { return store.find(id)->life.state; }

  testing::TemporaryFolder folder;
  JobStore store{folder.path() / "jobs.db"};
  WallTime now_ns = kHourNs;
};

TEST_F(JobSnapshotTest, HoldsWhatWaitsAndWhatHasNodes) {
  const JobId running = submit("running", 4);
  const JobId waiting = submit("waiting", 8);
  const JobId killed = submit("killed", 1);
  ASSERT_TRUE(take(running, EventKind::placed, {{"n1", 4}}).taken);
  ASSERT_TRUE(take(running, EventKind::started).taken);
  ASSERT_TRUE(take(killed, EventKind::kill_asked).taken);
  now_ns += kHourNs / 2;
  const Snapshot made = snapshot();
  ASSERT_THAT(made.queued, SizeIs(1));
  EXPECT_EQ(made.queued[0].id, waiting);
  EXPECT_EQ(made.queued[0].devices, 8);
  ASSERT_THAT(made.occupants, SizeIs(1));
  EXPECT_EQ(made.occupants[0].since_ns, kHourNs);
  EXPECT_EQ(made.occupants[0].stopped_by_ns, 0);
  EXPECT_EQ(decide(made, {}, now_ns).waiting.at(0).estimated_start_ns,
            2 * kHourNs + 60 * kSecondNs);
}

TEST_F(JobSnapshotTest, AJobThatIsBeingStoppedIsGoneAfterItsGrace) {
  const JobId id = submit("a", 4);
  ASSERT_TRUE(take(id, EventKind::placed, {{"n1", 4}}).taken);
  ASSERT_TRUE(take(id, EventKind::started).taken);
  ASSERT_TRUE(take(id, EventKind::pause_asked).taken);
  EXPECT_EQ(snapshot().occupants.at(0).stopped_by_ns, now_ns + 60 * kSecondNs);
  ASSERT_TRUE(take(id, EventKind::kill_asked).taken);
  now_ns += kSecondNs;
  ASSERT_TRUE(take(id, EventKind::kill_asked).taken);
  EXPECT_EQ(snapshot().occupants.at(0).stopped_by_ns, now_ns) << "by force, now";
}

TEST_F(JobSnapshotTest, AJobRunsAfterTheOneThatItWaitsFor) {
  const JobId first = submit("first", 8);
  const JobId second = submit("second", 1, [](Submission& s) { s.after = {1}; });
  const JobId third = submit("third", 1, [](Submission& s) { s.after = {2}; });
  (void)act();
  EXPECT_EQ(state_of(first), State::scheduling);
  EXPECT_EQ(state_of(second), State::queued);
  ASSERT_TRUE(take(first, EventKind::started).taken);
  ASSERT_TRUE(take(first, EventKind::exited).taken);
  (void)act();
  EXPECT_EQ(state_of(second), State::scheduling);
  ASSERT_TRUE(take(second, EventKind::engine_error).taken);
  (void)act();
  EXPECT_EQ(state_of(third), State::killed) << "what it waits for never finishes";
}

TEST_F(JobSnapshotTest, AMoreImportantJobTakesThePlaceOfAPreemptibleOne) {
  const JobId low = submit("low", 8, [](Submission& s) { s.preemptible = true; });
  (void)act();
  ASSERT_TRUE(take(low, EventKind::started).taken);
  now_ns += 10 * kSecondNs;
  const JobId high = submit("high", 8, [](Submission& s) { s.priority = 500; });
  (void)act();
  EXPECT_EQ(state_of(low), State::pausing);
  EXPECT_EQ(state_of(high), State::queued);
  now_ns += 5 * kSecondNs;
  EXPECT_THAT(act().preemptions, SizeIs(0)) << "it is being stopped already";
  ASSERT_TRUE(take(low, EventKind::exited).taken) << "it has finished before the signal came";
  EXPECT_EQ(state_of(low), State::finished);
  (void)act();
  EXPECT_EQ(state_of(high), State::scheduling);
}

}  // namespace
}  // namespace assay::jobs
