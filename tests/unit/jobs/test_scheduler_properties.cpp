#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "cluster_examples.h"
#include "jobs/scheduler.h"

namespace assay::jobs {
namespace {

struct Work {
  Request request;
  std::int64_t runs_ns = 0;  ///< no longer than it may
};

struct Record {
  WallTime started_ns = -1;
  WallTime promised_ns = kHourNs * 1'000'000;  ///< when it first was first in line
  WallTime without_backfill_ns = kHourNs * 1'000'000;
  int preempted = 0;
  bool done = false;
};

/// The earliest start of a job that nobody else may overtake, as simply as it can be said: nodes
/// free up one after the other, until enough have room.
WallTime reference_start(const Snapshot& snapshot, const std::vector<Decision::Start>& starts,
                         const Request& job, WallTime now_ns) {
  struct Hold {
    WallTime end_ns;
    std::string node;
    int devices;
  };
  std::vector<Hold> holds;
  for (const Occupant& occupant : snapshot.occupants)
    for (const NodeShare& share : occupant.placement)
      holds.push_back(
          {occupant.since_ns + occupant.request.time.count(), share.node, share.devices});
  for (const Decision::Start& start : starts) {
    const auto request = std::ranges::find(snapshot.queued, start.id, &Request::id);
    const bool is_ahead = std::tuple(request->waiting_since_ns, request->id) <
                          std::tuple(job.waiting_since_ns, job.id);
    for (const NodeShare& share : start.placement)
      if (is_ahead) holds.push_back({now_ns + request->time.count(), share.node, share.devices});
  }
  std::ranges::sort(holds, {}, &Hold::end_ns);
  std::map<std::string, int> used;
  for (const Hold& hold : holds) used[hold.node] += hold.devices;
  WallTime at_ns = now_ns;
  for (std::size_t ended = 0;; ++ended) {
    std::map<std::string, int> fitting;
    for (const ClusterNode& node : snapshot.nodes)
      if (node.devices - used[node.name] >= (job.whole_nodes ? node.devices : job.devices) &&
          node.devices >= job.devices &&
          (job.device_type.empty() || job.device_type == node.device_type))
        ++fitting[node.device_type];
    const bool next_is_later = ended == holds.size() || holds[ended].end_ns > at_ns;
    if (next_is_later)
      for (const auto& [type, count] : fitting)
        if (count >= job.nodes) return at_ns;
    if (ended == holds.size()) return -1;
    at_ns = std::max(at_ns, holds[ended].end_ns);
    used[holds[ended].node] -= holds[ended].devices;
  }
}

/// Runs a list of jobs to their end, with a decision whenever one comes or goes.
class Simulation {
 public:
  Simulation(Snapshot cluster, std::vector<Work> work, SchedulerOptions options)
      : state_(std::move(cluster)), work_(std::move(work)), options_(options) {
    std::ranges::sort(work_, {}, [](const Work& w) { return w.request.waiting_since_ns; });
    for (const Work& each : work_) runs_ns_[each.request.id] = each.runs_ns;
  }

  bool compare_with_reference = false;
  std::map<JobId, Record> records;
  WallTime now_ns = 0;

  void run(int max_decisions = 100'000) {
    std::size_t next = 0;
    for (int i = 0; i < max_decisions; ++i) {
      WallTime at_ns = std::numeric_limits<WallTime>::max();
      if (next < work_.size()) at_ns = work_[next].request.waiting_since_ns;
      for (const Occupant& occupant : state_.occupants) at_ns = std::min(at_ns, end_of(occupant));
      if (wake_ns_ && *wake_ns_ > now_ns) at_ns = std::min(at_ns, *wake_ns_);
      if (at_ns == std::numeric_limits<WallTime>::max()) return;
      now_ns = std::max(now_ns, at_ns);
      end_jobs();
      for (; next < work_.size() && work_[next].request.waiting_since_ns <= now_ns; ++next)
        state_.queued.push_back(work_[next].request);
      decide_once();
    }
    FAIL() << "the simulation does not end";
  }

  [[nodiscard]] const Snapshot& state() const { return state_; }

 private:
  [[nodiscard]] WallTime end_of(const Occupant& occupant) const {
    const WallTime by_itself = occupant.since_ns + runs_ns_.at(occupant.request.id);
    return occupant.stopped_by_ns == 0 ? by_itself : std::min(by_itself, occupant.stopped_by_ns);
  }
  void end_jobs() {
    std::erase_if(state_.occupants, [&](const Occupant& occupant) {
      if (end_of(occupant) > now_ns) return false;
      if (occupant.since_ns + runs_ns_.at(occupant.request.id) <= now_ns) {
        records[occupant.request.id].done = true;
      } else {
        ++records[occupant.request.id].preempted;
        state_.queued.push_back(occupant.request);
        state_.queued.back().waiting_since_ns = now_ns;
      }
      return true;
    });
  }

  void decide_once() {
    const Decision decision = decide(state_, options_, now_ns);
    wake_ns_ = decision.wake_ns;
    if (compare_with_reference) check_first(decision);
    for (const Decision::Preemption& preemption : decision.preemptions) {
      auto victim = std::ranges::find(state_.occupants, preemption.id,
                                      [](const Occupant& o) { return o.request.id; });
      ASSERT_NE(victim, state_.occupants.end());
      ASSERT_TRUE(victim->request.preemptible);
      ASSERT_EQ(victim->stopped_by_ns, 0) << "stopped twice";
      const auto winner = std::ranges::find(state_.queued, preemption.in_favor, &Request::id);
      ASSERT_NE(winner, state_.queued.end());
      ASSERT_GT(winner->priority, victim->request.priority);
      victim->stopped_by_ns = now_ns + std::max<std::int64_t>(1, options_.grace.count());
    }
    for (const Decision::Start& start : decision.starts) {
      const auto request = std::ranges::find(state_.queued, start.id, &Request::id);
      ASSERT_NE(request, state_.queued.end()) << "started twice, or out of nothing";
      state_.occupants.push_back({*request, start.placement, now_ns, 0});
      Record& record = records[start.id];
      if (record.started_ns < 0) record.started_ns = now_ns;
      if (compare_with_reference) {
        ASSERT_LE(now_ns, record.promised_ns) << "job " << start.id << " was delayed";
        ASSERT_LE(now_ns, record.without_backfill_ns) << "job " << start.id << " was delayed";
      }
      state_.queued.erase(request);
    }
    check_invariants();
  }

  /// The first job in line: its plan is what the reference says, and it is kept.
  void check_first(const Decision& decision) {
    if (decision.waiting.empty() || !decision.waiting[0].estimated_start_ns) return;
    const Decision::Waiting& first = decision.waiting[0];
    const Request& request = *std::ranges::find(state_.queued, first.id, &Request::id);
    const WallTime reference = reference_start(state_, decision.starts, request, now_ns);
    ASSERT_EQ(first.estimated_start_ns, reference) << "job " << first.id << " at " << now_ns;
    Record& record = records[first.id];
    record.promised_ns = std::min(record.promised_ns, *first.estimated_start_ns);
    record.without_backfill_ns = std::min(record.without_backfill_ns, reference);
  }

  void check_invariants() {
    std::map<std::string, int> used;
    std::map<std::pair<std::string, std::string>, int> by_team;
    std::map<std::tuple<std::string, std::string, std::string>, int> by_user;
    std::map<JobId, int> by_array;
    std::map<std::string, int> owners;
    for (const Occupant& occupant : state_.occupants) {
      const Request& request = occupant.request;
      std::set<std::string> nodes;
      std::set<std::string> types;
      for (const NodeShare& share : occupant.placement) {
        const auto node = std::ranges::find(state_.nodes, share.node, &ClusterNode::name);
        ASSERT_NE(node, state_.nodes.end());
        nodes.insert(share.node);
        types.insert(node->device_type);
        used[share.node] += share.devices;
        ++owners[share.node];
        by_team[{request.team, node->device_type}] += share.devices;
        by_user[{request.team, request.user, node->device_type}] += share.devices;
        ASSERT_GE(share.devices, request.devices);
        ASSERT_TRUE(occupant.since_ns != now_ns || node->available) << "drained";
        for (const Reservation& reservation : state_.reservations)
          if (std::ranges::find(reservation.nodes, share.node) != reservation.nodes.end() &&
              std::ranges::find(reservation.teams, request.team) == reservation.teams.end() &&
              occupant.stopped_by_ns == 0) {
            const WallTime end_ns = occupant.since_ns + request.time.count();
            ASSERT_TRUE(end_ns <= reservation.from_ns || occupant.since_ns >= reservation.to_ns)
                << "job " << request.id << " runs into a reservation of others";
          }
      }
      ASSERT_EQ(static_cast<int>(nodes.size()), request.nodes) << "a gang is whole";
      ASSERT_EQ(types.size(), 1U);
      if (request.array != 0) ++by_array[request.array];
    }
    for (const ClusterNode& node : state_.nodes)
      ASSERT_LE(used[node.name], node.devices) << node.name << " is oversubscribed";
    for (const Occupant& occupant : state_.occupants) {
      const Request& request = occupant.request;
      for (const NodeShare& share : occupant.placement)
        ASSERT_TRUE(!request.whole_nodes || owners[share.node] == 1);
      ASSERT_TRUE(request.array_limit == 0 || by_array[request.array] <= request.array_limit);
    }
    for (const Team& team : state_.teams)
      for (const auto& [type, limit] : team.quota)
        ASSERT_LE((by_team[{team.name, type}]), limit) << team.name << " exceeds its quota";
    for (const auto& [whose, devices] : by_user) {
      const auto& [team, user, type] = whose;
      const auto known = std::ranges::find(state_.teams, team, &Team::name);
      if (known == state_.teams.end() || !known->user_quota.contains(type)) continue;
      ASSERT_LE(devices, known->user_quota.at(type)) << user << " exceeds the quota of one";
    }
  }

  Snapshot state_;
  std::vector<Work> work_;
  std::map<JobId, std::int64_t> runs_ns_;
  SchedulerOptions options_;
  std::optional<WallTime> wake_ns_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int from(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<unsigned>(most - least + 1));
  }
  bool one_in(int n) { return from(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

/// Jobs of one team and priority, so that the line is in the order of submission.
std::vector<Work> plain_work(Random& random, const std::vector<ClusterNode>& nodes, int jobs,
                             bool runs_to_its_limit) {
  std::vector<Work> work;
  for (JobId id = 1; id <= jobs; ++id) {
    Request request = request_of(id, random.from(1, static_cast<int>(nodes.size()) / 2),
                                 random.from(1, nodes[0].devices), 1);
    request.waiting_since_ns = random.from(0, 40) * kHourNs;
    request.time = std::chrono::hours(random.from(1, 12));
    request.whole_nodes = random.one_in(5);
    if (random.one_in(3)) request.device_type = nodes[0].device_type;
    const std::int64_t runs_ns = runs_to_its_limit
                                     ? request.time.count()
                                     : random.from(1, 100) * (request.time.count() / 100);
    work.push_back({request, runs_ns});
  }
  return work;
}

/// Whether waiting alone will not help: somebody has to change the job, a quota or the cluster.
bool needs_somebody(const Pending& pending) {
  switch (pending.kind) {
    case PendingKind::approval:
    case PendingKind::paused:
    case PendingKind::no_queue:
    case PendingKind::queue_closed:
    case PendingKind::no_team:
    case PendingKind::no_such_type:
    case PendingKind::too_large:
    case PendingKind::drained:
    case PendingKind::owner_disabled:
    case PendingKind::owner_removed:
    case PendingKind::owner_is_viewer:
    case PendingKind::owner_left_team:
      return true;
    case PendingKind::team_quota:
    case PendingKind::user_quota:
      return pending.devices > pending.limit;
    default:
      return false;
  }
}

/// Whatever is left could not run: it says so, and somebody has to change something.
void check_rest(const Simulation& simulation, const SchedulerOptions& options) {
  const Decision rest = decide(simulation.state(), options, simulation.now_ns + 100 * kHourNs);
  EXPECT_TRUE(rest.starts.empty());
  for (const Decision::Waiting& waiting : rest.waiting)
    EXPECT_TRUE(needs_somebody(waiting.reason)) << to_words(waiting.reason);
}

const SchedulerOptions kWithoutGrace{50, 10, 0, Nanoseconds(0)};

TEST(SchedulerProperties, BackfillNeverDelaysTheFirstJobInLine) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Snapshot cluster;
    cluster.nodes = nodes_of(random.from(2, 6), random.from(1, 8));
    if (random.one_in(2))
      std::ranges::copy(nodes_of(4, random.from(1, 8), "A100", "a"),
                        std::back_inserter(cluster.nodes));
    auto work = plain_work(random, cluster.nodes, 40, seed % 2 == 0);
    SchedulerOptions options = kWithoutGrace;
    options.plan_depth = static_cast<std::size_t>(random.from(1, 8));
    Simulation simulation(cluster, work, options);
    simulation.compare_with_reference = true;
    simulation.run();
    if (HasFatalFailure()) return;
    for (const auto& [id, record] : simulation.records) EXPECT_TRUE(record.done) << "job " << id;
    check_rest(simulation, options);
  }
}

TEST(SchedulerProperties, BackfillDoesStartJobsOutOfTurn) {
  // Otherwise the property above would be worth nothing.
  int overtaken = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Snapshot cluster;
    cluster.nodes = nodes_of(4, 4);
    const std::vector<Work> work = plain_work(random, cluster.nodes, 40, true);
    Simulation simulation(cluster, work, kWithoutGrace);
    simulation.run();
    for (const Work& first : work)
      for (const Work& second : work)
        if (first.request.waiting_since_ns < second.request.waiting_since_ns &&
            simulation.records[first.request.id].started_ns >
                simulation.records[second.request.id].started_ns)
          ++overtaken;
  }
  EXPECT_GT(overtaken, 50);
}

TEST(SchedulerProperties, NothingIsEverOversubscribedWhateverIsAskedFor) {
  for (unsigned seed = 1000; seed < 1120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Snapshot cluster;
    cluster.nodes = nodes_of(random.from(2, 6), random.from(2, 8));
    std::ranges::copy(nodes_of(3, 4, "A100", "a"), std::back_inserter(cluster.nodes));
    cluster.nodes[0].available = !random.one_in(4);
    const int quota = random.from(4, 24);
    cluster.teams = {{"vision", 1, {{"H200", quota}}, {{"H200", random.from(4, 24)}}},
                     {"text", 2, {{"A100", random.from(4, 12)}}, {}}};
    if (random.one_in(2))
      cluster.reservations = {
          {"r", {"n1", "n2"}, 10 * kHourNs, random.from(11, 30) * kHourNs, {"text"}}};
    std::vector<Work> work = plain_work(random, cluster.nodes, 50, false);
    for (Work& each : work) {
      Request& request = each.request;
      request.team = random.one_in(2) ? "vision" : "text";
      request.user = random.one_in(2) ? "ann" : "bob";
      request.priority = random.from(1, 5) * 50;
      request.preemptible = random.one_in(3);
      if (random.one_in(5)) {
        request.array = 7;
        request.array_limit = 2;
      }
    }
    SchedulerOptions options{static_cast<std::size_t>(random.from(1, 50)), 10, 100,
                             std::chrono::minutes(random.from(0, 20))};
    Simulation simulation(cluster, work, options);
    simulation.run();
    if (HasFatalFailure()) return;
    check_rest(simulation, options);
  }
}

/// A large job of low priority among small ones of high priority that never stop coming.
WallTime start_of_the_large_job(double points_per_hour) {
  Snapshot cluster;
  cluster.nodes = nodes_of(4, 4);
  std::vector<Work> work;
  Request large = request_of(1, 4, 4, 2);
  large.priority = 10;
  large.waiting_since_ns = kHourNs;
  work.push_back({large, large.time.count()});
  for (JobId id = 2; id <= 1500; ++id) {
    Request small = request_of(id, 1, 2, 2);
    small.priority = 200;
    small.waiting_since_ns = id * (kHourNs / 5);  // more than the cluster can do
    work.push_back({small, small.time.count()});
  }
  Simulation simulation(cluster, work, {4, points_per_hour, 0, Nanoseconds(0)});
  simulation.run();
  return simulation.records[1].started_ns;
}

TEST(SchedulerProperties, NobodyStarvesBehindAStreamOfMoreImportantJobs) {
  // After 19 h of waiting it has caught up with jobs that are submitted then.
  EXPECT_LT(start_of_the_large_job(10), 40 * kHourNs);
}

TEST(SchedulerProperties, WithoutAgeingTheLargeJobWouldStarve) {
  EXPECT_GT(start_of_the_large_job(0), 250 * kHourNs);
}

}  // namespace
}  // namespace assay::jobs
