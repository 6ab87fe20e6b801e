#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_examples.h"
#include "jobs/scheduler.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kNow = 1000 * kSecondNs;
const SchedulerOptions kExact{50, 10, 100, Nanoseconds(0)};

Decision decide_now(const Snapshot& snapshot, const SchedulerOptions& options = kExact) {
  return decide(snapshot, options, kNow);
}

std::vector<JobId> started(const Decision& decision) {
  std::vector<JobId> out;
  for (const Decision::Start& start : decision.starts) out.push_back(start.id);
  return out;
}

std::vector<std::string> nodes_of_start(const Decision& decision, JobId id) {
  std::vector<std::string> out;
  for (const Decision::Start& start : decision.starts)
    if (start.id == id)
      for (const NodeShare& share : start.placement) out.push_back(share.node);
  return out;
}

const Decision::Waiting& waiting(const Decision& decision, JobId id) {
  const auto found = std::ranges::find(decision.waiting, id, &Decision::Waiting::id);
  if (found == decision.waiting.end()) throw std::runtime_error("the job does not wait");
  return *found;
}

std::string why(const Decision& decision, JobId id) {
  return to_words(waiting(decision, id).reason);
}

Request of_type(Request request, const std::string& type) {
  request.device_type = type;
  return request;
}

TEST(Scheduler, WhatIsNotApprovedIsNotInLineButMayBeBroken) {
  Snapshot snapshot;
  snapshot.unapproved = {request_of(1, 1, 1), request_of(2, 1, 1)};
  snapshot.unapproved[0].after = {{7, State::running}};
  snapshot.unapproved[1].after = {{8, State::failed}};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), IsEmpty());
  EXPECT_EQ(waiting(decision, 1).reason.kind, PendingKind::approval);
  EXPECT_EQ(waiting(decision, 1).place, 0);
  ASSERT_THAT(decision.broken, SizeIs(1));
  EXPECT_EQ(decision.broken[0].id, 2);
  EXPECT_EQ(decision.broken[0].of, 8);
}

TEST(Scheduler, WhatABarredOwnerHasWaitingDoesNotStart) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(4, 8);
  snapshot.queued = {request_of(1, 1, 8), request_of(2, 1, 8), request_of(3, 1, 8)};
  snapshot.queued[0].user = "ann";
  snapshot.queued[0].team = "vis";
  snapshot.queued[1].user = "ann";
  snapshot.queued[1].team = "speech";
  snapshot.queued[2].user = "bob";
  snapshot.queued[2].team = "";
  snapshot.barred = {{PendingKind::owner_disabled, "bob", ""},
                     {PendingKind::owner_left_team, "ann", "vis"}};
  for (const bool hand_over : {false, true}) {
    SchedulerOptions options = kExact;
    options.hand_over = hand_over;
    const Decision decision = decide_now(snapshot, options);
    EXPECT_THAT(started(decision), ElementsAre(2));
    EXPECT_EQ(why(decision, 1), "ann is no longer in team vis");
    EXPECT_EQ(why(decision, 3), "its owner, bob, is disabled");
    EXPECT_EQ(waiting(decision, 3).place, 0) << "nobody waits behind it";
  }
}

TEST(Scheduler, WhereTheEngineDecidesOnlyWhatComesFirstIsWaitedFor) {
  Snapshot snapshot;  // without nodes: they are none of its business
  snapshot.queues = {{.name = "default"}, {.name = "night", .closed = true}};
  snapshot.queued = {request_of(1, 50, 8), request_of(2, 1, 1), request_of(3, 1, 1),
                     request_of(4, 1, 1), request_of(5, 1, 1)};
  snapshot.queued[1].after = {{1, State::scheduling}};
  snapshot.queued[2].queue = "night";
  for (const int element : {3, 4}) {
    snapshot.queued[element].array = 4;
    snapshot.queued[element].array_limit = 1;
  }
  SchedulerOptions options = kExact;
  options.hand_over = true;
  const Decision decision = decide_now(snapshot, options);
  EXPECT_THAT(started(decision), ElementsAre(1, 4));
  EXPECT_THAT(nodes_of_start(decision, 1), IsEmpty());
  EXPECT_EQ(waiting(decision, 2).reason.kind, PendingKind::dependency);
  EXPECT_EQ(waiting(decision, 3).reason.kind, PendingKind::queue_closed);
  EXPECT_EQ(waiting(decision, 5).reason.kind, PendingKind::array_limit);
}

TEST(Scheduler, AJobStartsOnAllOfItsNodesOrNotAtAll) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(3, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 8), {"n2"}, 0)};
  snapshot.queued = {of_type(request_of(2, 3, 8), "H200")};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(decision.starts, IsEmpty());
  EXPECT_EQ(why(decision, 2),
            "asks for 3 nodes with 8 devices of type H200 each; 2 such nodes are free now");
  EXPECT_EQ(waiting(decision, 2).estimated_start_ns, kHourNs) << "when job 1 must have ended";
  EXPECT_EQ(waiting(decision, 2).place, 1);
}

TEST(Scheduler, ASmallJobGetsTheFullestNodeWithRoom) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(3, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 3), {"n1"}, 0),
                        occupant_of(request_of(2, 1, 6), {"n2"}, 0)};
  snapshot.queued = {request_of(3, 1, 2), request_of(4, 1, 4)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(nodes_of_start(decision, 3), ElementsAre("n2"));
  EXPECT_THAT(nodes_of_start(decision, 4), ElementsAre("n1"));
}

TEST(Scheduler, WholeNodesAreSharedWithNobody) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 1), {"n1"}, 0)};
  Request whole = request_of(2, 1, 2);
  whole.whole_nodes = true;
  snapshot.queued = {whole, request_of(3, 1, 2)};
  const Decision decision = decide_now(snapshot);
  ASSERT_THAT(started(decision), ElementsAre(2, 3));
  EXPECT_THAT(decision.starts[0].placement, ElementsAre(NodeShare{"n2", 8}));
  EXPECT_THAT(nodes_of_start(decision, 3), ElementsAre("n1"));
}

TEST(Scheduler, AJobGetsDevicesOfTheTypeThatItAsksFor) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8, "A100", "a");
  std::ranges::copy(nodes_of(1, 8, "H200", "h"), std::back_inserter(snapshot.nodes));
  snapshot.queued = {of_type(request_of(1, 1, 8), "H200"), request_of(2, 2, 8),
                     of_type(request_of(3, 1, 1), "910B")};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(nodes_of_start(decision, 1), ElementsAre("h1"));
  EXPECT_THAT(nodes_of_start(decision, 2), ElementsAre("a1", "a2")) << "one type for all nodes";
  EXPECT_EQ(why(decision, 3), "no node has devices of type 910B");
}

TEST(Scheduler, AJobThatTheClusterCannotHoldSaysSoAndStandsInNobodysWay) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  snapshot.queued = {request_of(1, 3, 8), request_of(2, 2, 8)};
  const Decision decision = decide_now(snapshot);
  EXPECT_EQ(why(decision, 1),
            "asks for 3 nodes with 8 devices each; the cluster has 2 nodes of "
            "that size");
  EXPECT_EQ(waiting(decision, 1).place, 0);
  EXPECT_THAT(started(decision), ElementsAre(2));
}

TEST(Scheduler, ATeamGetsNoMoreThanItsQuota) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(4, 8);
  snapshot.teams = {{"vision", 1, {{"H200", 8}}, {}}, {"text", 1, {}, {}}};
  Request other = request_of(4, 1, 8);
  other.team = "text";
  snapshot.queued = {request_of(1, 2, 8), request_of(2, 1, 6), request_of(3, 1, 4), other};
  snapshot.queued[0].device_type = "H200";
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(2, 4));
  EXPECT_EQ(why(decision, 1), "asks for 16 devices of type H200; the team's quota is 8");
  EXPECT_EQ(why(decision, 3), "asks for 4 devices; the team's quota is 8, of which 6 are in use");
  EXPECT_EQ(waiting(decision, 3).estimated_start_ns, kNow + kHourNs) << "when job 2 has ended";
}

TEST(Scheduler, AJobOfNoTeamHasNoQuotaAndOneOfAnUnknownTeamWaits) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(4, 8);
  snapshot.teams = {{"vision", 1, {{"H200", 8}}, {}}};
  snapshot.queued = {request_of(1, 2, 8), request_of(2, 1, 1)};
  snapshot.queued[0].team = "";
  snapshot.queued[1].team = "gone";
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(1));
  EXPECT_EQ(why(decision, 2), "there is no team 'gone'");
}

TEST(Scheduler, OfSeveralTypesTheOneThatComesNearestIsTheReason) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  std::ranges::copy(nodes_of(1, 8, "A100", "a"), std::back_inserter(snapshot.nodes));
  snapshot.teams = {{"vision", 1, {{"H200", 8}}, {}}};
  snapshot.queued = {request_of(1, 2, 8), request_of(2, 3, 8)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(decision.starts, IsEmpty()) << "one type is too small, the other beyond the quota";
  EXPECT_EQ(why(decision, 1), "asks for 16 devices; the team's quota is 8");
  EXPECT_EQ(why(decision, 2),
            "asks for 3 nodes with 8 devices each; the cluster has 2 nodes of that size");
}

TEST(Scheduler, AUserGetsNoMoreThanTheTeamsQuotaForOne) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(4, 8);
  snapshot.teams = {{"vision", 1, {{"H200", 32}}, {{"H200", 8}}}};
  Request bob = request_of(3, 1, 8);
  bob.user = "bob";
  snapshot.queued = {request_of(1, 1, 8), request_of(2, 1, 8), bob};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(1, 3));
  EXPECT_EQ(why(decision, 2), "asks for 8 devices; the user's quota is 8, of which 8 are in use");
}

TEST(Scheduler, SmallJobsOfATeamDoNotEatTheQuotaThatItsFirstJobWaitsFor) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(4, 8);
  snapshot.teams = {{"vision", 1, {{"H200", 8}}, {}}};
  snapshot.occupants = {occupant_of(request_of(1, 1, 4), {"n1"}, kNow)};
  snapshot.queued = {request_of(2, 1, 8), request_of(3, 1, 4, 5), request_of(4, 1, 4, 1)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(4)) << "job 4 is over when job 2 begins, 3 is not";
  EXPECT_EQ(waiting(decision, 2).estimated_start_ns, kNow + kHourNs);
}

TEST(Scheduler, PriorityComesBeforeAgeAndAgeBeforeTheRest) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.queued = {request_of(1, 1, 8), request_of(2, 1, 8), request_of(3, 1, 8)};
  snapshot.queued[2].priority = 200;
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(3));
  snapshot.queued[2].priority = 100;
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(1));
}

TEST(Scheduler, AQueuesPriorityCountsForItsJobs) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.queues = {
      {"default", 0, false, true}, {"urgent", 500, false, true}, {"night", 0, true, true}};
  snapshot.queued = {request_of(1, 1, 8), request_of(2, 1, 8), request_of(3, 1, 8),
                     request_of(4, 1, 8)};
  snapshot.queued[1].queue = "urgent";
  snapshot.queued[2].queue = "night";
  snapshot.queued[3].queue = "nigth";
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(2));
  EXPECT_EQ(why(decision, 3), "the queue 'night' is closed");
  EXPECT_EQ(why(decision, 4), "there is no queue 'nigth'");
}

TEST(Scheduler, OfEqualJobsTheOneWhoseTeamHasUsedLessStarts) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.teams = {{"vision", 1, {}, {}}, {"text", 1, {}, {}}};
  snapshot.fair_share.add("vision", "ann", 1e6, kNow);
  Request other = request_of(2, 1, 8);
  other.team = "text";
  snapshot.queued = {request_of(1, 1, 8), other};
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(2));
}

TEST(Scheduler, AJobMayGoAheadWhenItIsOverBeforeTheFirstOneCanStart) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 8, 4), {"n1"}, kNow)};
  snapshot.queued = {request_of(2, 2, 8, 1), request_of(3, 1, 8, 5), request_of(4, 1, 8, 4)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(4));
  EXPECT_EQ(why(decision, 3), "would delay jobs before it in line, of which job 2 is the first");
  EXPECT_EQ(waiting(decision, 2).estimated_start_ns, kNow + 4 * kHourNs);
  EXPECT_EQ(waiting(decision, 3).estimated_start_ns, kNow + 5 * kHourNs) << "after job 2";
}

TEST(Scheduler, AJobMayGoAheadOnNodesThatTheFirstOneDoesNotNeed) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(3, 8);
  snapshot.occupants = {occupant_of(request_of(1, 2, 8, 4), {"n1", "n2"}, kNow)};
  snapshot.queued = {request_of(2, 2, 8, 1), request_of(3, 1, 8, 100)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(3));
  EXPECT_EQ(waiting(decision, 2).estimated_start_ns, kNow + 4 * kHourNs);
}

TEST(Scheduler, ThePlanLeavesTimeForStopping) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 8, 1), {"n1"}, kNow)};
  snapshot.queued = {request_of(2, 1, 8)};
  const SchedulerOptions with_grace{50, 10, 100, std::chrono::seconds(60)};
  EXPECT_EQ(waiting(decide_now(snapshot, with_grace), 2).estimated_start_ns,
            kNow + kHourNs + 60 * kSecondNs);
}

TEST(Scheduler, APreemptibleJobMakesRoomForOneOfHigherPriority) {
  const SchedulerOptions with_grace{50, 10, 100, std::chrono::seconds(60)};
  Snapshot snapshot;
  snapshot.nodes = nodes_of(3, 8);
  Request low = request_of(1, 1, 8, 10);
  low.preemptible = true;
  low.priority = 50;
  Request lower = low;
  lower.id = 2;
  lower.priority = 10;
  snapshot.occupants = {occupant_of(low, {"n1"}, 0), occupant_of(lower, {"n2"}, 0),
                        occupant_of(request_of(3, 1, 8, 10), {"n3"}, 0)};
  snapshot.queued = {request_of(4, 2, 8), request_of(5, 1, 8)};
  const Decision decision = decide_now(snapshot, with_grace);
  ASSERT_THAT(decision.preemptions, SizeIs(2)) << "job 3 is not preemptible";
  EXPECT_EQ(decision.preemptions[0].id, 1);
  EXPECT_EQ(decision.preemptions[1].id, 2);
  EXPECT_EQ(decision.preemptions[0].in_favor, 4);
  EXPECT_EQ(waiting(decision, 4).estimated_start_ns, kNow + 60 * kSecondNs);

  // While they are being stopped nobody else is, and nobody takes their place.
  snapshot.occupants[0].stopped_by_ns = kNow + 60 * kSecondNs;
  snapshot.occupants[1].stopped_by_ns = kNow + 60 * kSecondNs;
  const Decision next = decide(snapshot, with_grace, kNow + kSecondNs);
  EXPECT_THAT(next.preemptions, IsEmpty());
  EXPECT_EQ(waiting(next, 4).estimated_start_ns, kNow + 60 * kSecondNs);
  snapshot.occupants.erase(snapshot.occupants.begin(), snapshot.occupants.begin() + 2);
  EXPECT_THAT(started(decide(snapshot, with_grace, kNow + 20 * kSecondNs)), ElementsAre(4));
}

TEST(Scheduler, TheLowestPriorityMakesRoomFirst) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  Request low = request_of(1, 1, 4, 10);
  low.preemptible = true;
  low.priority = 50;
  Request lower = low;
  lower.id = 2;
  lower.priority = 10;
  snapshot.occupants = {occupant_of(low, {"n1"}, 0), occupant_of(lower, {"n1"}, 0)};
  snapshot.queued = {request_of(3, 1, 4)};
  const Decision decision = decide_now(snapshot);
  ASSERT_THAT(decision.preemptions, SizeIs(1));
  EXPECT_EQ(decision.preemptions[0].id, 2);
}

TEST(Scheduler, NobodyMakesRoomForAJobOfTheSamePriorityOrWithoutQuota) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  Request low = request_of(1, 1, 8, 10);
  low.preemptible = true;
  low.team = "text";
  snapshot.occupants = {occupant_of(low, {"n1"}, 0)};
  snapshot.queued = {request_of(2, 1, 8)};
  EXPECT_THAT(decide_now(snapshot).preemptions, IsEmpty());
  snapshot.queued[0].priority = 500;
  EXPECT_THAT(decide_now(snapshot).preemptions, SizeIs(1));
  snapshot.teams = {{"vision", 1, {{"H200", 4}}, {}}, {"text", 1, {}, {}}};
  EXPECT_THAT(decide_now(snapshot).preemptions, IsEmpty());
  snapshot.teams.clear();
  snapshot.queues = {{"default", 0, false, false}};
  EXPECT_THAT(decide_now(snapshot).preemptions, IsEmpty()) << "the queue does not preempt";
}

TEST(Scheduler, AJobMakesNoRoomForOneThatItWouldStandBeforeInLine) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.teams = {{"vision", 1, {}, {}}, {"text", 1, {}, {}}};
  snapshot.fair_share.add("vision", "ann", 1e6, kNow);
  Request other = request_of(1, 1, 8, 10);
  other.team = "text";
  other.preemptible = true;
  other.priority = 90;
  snapshot.occupants = {occupant_of(other, {"n1"}, 0)};
  snapshot.queued = {request_of(2, 1, 8)};
  EXPECT_THAT(decide_now(snapshot).preemptions, IsEmpty()) << "they would take turns";
  snapshot.queued[0].priority = 300;
  EXPECT_THAT(decide_now(snapshot).preemptions, SizeIs(1));
}

TEST(Scheduler, OfManyNodesThatAreAwayTheFirstAreNamed) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(5, 8);
  for (ClusterNode& node : snapshot.nodes) node.available = false;
  snapshot.nodes[1].drained = true;
  snapshot.queued = {request_of(1, 1, 8)};
  EXPECT_EQ(why(decide_now(snapshot), 1),
            "asks for 1 node with 8 devices; of the cluster's 5 nodes of that size, 0 can be used "
            "now: n1 is lost, n2 is drained, n3 is lost, and 2 more");
}

TEST(Scheduler, ADrainedNodeGetsNothingNew) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  snapshot.nodes[0].available = false;
  snapshot.nodes[0].drained = true;
  snapshot.nodes[0].reason = "a new disk";
  snapshot.queued = {request_of(1, 2, 8), request_of(2, 1, 8)};
  Decision decision = decide_now(snapshot);
  EXPECT_THAT(nodes_of_start(decision, 2), ElementsAre("n2"));
  EXPECT_EQ(why(decision, 1),
            "asks for 2 nodes with 8 devices each; of the cluster's 2 nodes of "
            "that size, 1 can be used now: n1 is drained ('a new disk')");
  snapshot.nodes[0].available = true;
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(1));
}

TEST(Scheduler, AReservationIsKeptFreeForItsTeams) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.reservations = {
      {"acceptance", {"n1"}, kNow + 2 * kHourNs, kNow + 4 * kHourNs, {"text"}}};
  snapshot.queued = {request_of(1, 1, 8, 3)};
  const Decision before = decide_now(snapshot);
  EXPECT_EQ(why(before, 1),
            "asks for 1 node with 8 devices; nodes that are free are reserved ('acceptance')");
  EXPECT_EQ(waiting(before, 1).estimated_start_ns, kNow + 4 * kHourNs);
  snapshot.queued[0].time = std::chrono::hours(2);
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(1)) << "it is over by then";
  snapshot.queued[0].time = std::chrono::hours(3);
  snapshot.queued[0].team = "text";
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(1)) << "it is for this team";
}

TEST(Scheduler, AJobWaitsForThoseThatComeFirst) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.queued = {request_of(2, 1, 1), request_of(3, 1, 1), request_of(4, 1, 1)};
  snapshot.queued[0].after = {{1, State::running}};
  snapshot.queued[1].after = {{1, State::finished}};
  snapshot.queued[2].after = {{1, State::finished}, {7, State::killed}};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(3));
  EXPECT_EQ(why(decision, 2), "waits for job 1 to finish");
  ASSERT_THAT(decision.broken, SizeIs(1));
  EXPECT_EQ(decision.broken[0].id, 4);
  EXPECT_EQ(decision.broken[0].of, 7);
}

TEST(Scheduler, NoMoreElementsOfAnArrayRunThanItAllows) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  for (JobId id = 1; id <= 4; ++id) {
    Request element = request_of(id, 1, 1);
    element.array = 1;
    element.array_limit = 2;
    snapshot.queued.push_back(element);
  }
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(started(decision), ElementsAre(1, 2));
  EXPECT_EQ(why(decision, 3), "2 elements of its array run, and no more than 2 may");
}

TEST(Scheduler, AJobStaysAwayUntilItsTime) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.queued = {request_of(1, 1, 8)};
  snapshot.queued[0].not_before_ns = kNow + kSecondNs;
  EXPECT_EQ(why(decide_now(snapshot), 1), "does not start before 1970-01-01 00:16:41 UTC");
  EXPECT_EQ(decide_now(snapshot).wake_ns, kNow + kSecondNs);
  EXPECT_THAT(started(decide(snapshot, kExact, kNow + kSecondNs)), ElementsAre(1));
}

TEST(Scheduler, AJobThatShouldHaveEndedKeepsItsNodesUntilItHas) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(1, 8);
  snapshot.occupants = {occupant_of(request_of(1, 1, 8, 1), {"n1"}, kNow - 5 * kHourNs)};
  snapshot.queued = {request_of(2, 1, 8)};
  const Decision decision = decide_now(snapshot);
  EXPECT_THAT(decision.starts, IsEmpty());
  EXPECT_GT(waiting(decision, 2).estimated_start_ns, kNow);
}

TEST(Scheduler, NodesThatAreGoneOrCameBackSmallerBreakNothing) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 4);
  snapshot.occupants = {occupant_of(request_of(1, 2, 8), {"n1", "n9"}, 0)};
  snapshot.queued = {request_of(2, 1, 4), request_of(3, 1, 0), request_of(4, 0, 1),
                     request_of(5, -1, -1)};
  EXPECT_THAT(nodes_of_start(decide_now(snapshot), 2), ElementsAre("n2"));
  EXPECT_THAT(started(decide_now(snapshot)), ElementsAre(2)) << "nonsense is not run";
}

TEST(Scheduler, TheOrderOfTheSnapshotDoesNotMatter) {
  Snapshot snapshot;
  snapshot.nodes = nodes_of(2, 8);
  for (JobId id = 1; id <= 9; ++id)
    snapshot.queued.push_back(request_of(id, 1, 1 + static_cast<int>(id % 5)));
  const auto first = started(decide_now(snapshot));
  std::ranges::reverse(snapshot.queued);
  EXPECT_EQ(started(decide_now(snapshot)), first);
}

}  // namespace
}  // namespace assay::jobs
