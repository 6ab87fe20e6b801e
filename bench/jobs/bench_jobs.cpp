// The cost of the platform's core on one core: a scheduler decision with 1,000 jobs in line and
// 1,000 nodes, and pages of a list of 100,000 finished jobs.

#include <cstdlib>
#include <filesystem>
#include <random>

#include <benchmark/benchmark.h>

#include "core/scratch_folder.h"
#include "jobs/job_store.h"
#include "jobs/scheduler.h"

namespace {

using namespace assay::jobs;

constexpr WallTime kHour = 3'600'000'000'000;

enum Load { mixed, small_jobs, all_preemptible };

/// A full cluster: 1,000 nodes with 8 devices, jobs that end at different times, and 1,000 in line.
Snapshot full_cluster(Load load) {
  std::mt19937 random(1);
  const auto from = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  Snapshot snapshot;
  for (int i = 0; i < 1000; ++i)
    snapshot.nodes.push_back({"node" + std::to_string(i), i % 4 == 0 ? "A100" : "H200", 8, true});
  for (int i = 0; i < 20; ++i) {
    Team team;
    team.name = "team" + std::to_string(i);
    team.quota = {{"H200", 2000}, {"A100", 1000}};
    team.user_quota = {{"H200", 500}};
    snapshot.teams.push_back(team);
  }
  snapshot.queues = {{"default", 0, false, true}};
  JobId id = 0;
  const auto request = [&] {
    Request out;
    out.id = ++id;
    out.user = "user" + std::to_string(from(0, 199));
    out.team = "team" + std::to_string(from(0, 19));
    out.queue = "default";
    out.priority = from(1, 200);
    out.waiting_since_ns = id;
    out.time = std::chrono::minutes(from(10, 3000));
    out.nodes = load == small_jobs ? 1 : from(1, 4) == 1 ? from(2, 64) : 1;
    out.devices = out.nodes > 1 ? 8 : from(1, 8);
    out.device_type = from(0, 2) == 0 ? "A100" : from(0, 1) == 0 ? "H200" : "";
    out.preemptible = load == all_preemptible || from(0, 3) == 0;
    return out;
  };
  for (const ClusterNode& node : snapshot.nodes) {
    int free = load == small_jobs ? 8 : 7 + from(0, 1);
    while (free > 0) {
      Occupant occupant{request(), {}, 0, 0};
      occupant.request.nodes = 1;
      if (load == all_preemptible) occupant.request.priority = 0;
      const int devices = std::min(free, load == small_jobs ? 1 : from(1, 8));
      occupant.placement = {{node.name, devices}};
      snapshot.occupants.push_back(occupant);
      free -= devices;
      snapshot.fair_share.add(occupant.request.team, occupant.request.user, from(1, 100000), 0);
    }
  }
  for (int i = 0; i < 1000; ++i) snapshot.queued.push_back(request());
  return snapshot;
}

void decision(benchmark::State& state) {
  const Snapshot snapshot = full_cluster(static_cast<Load>(state.range(0)));
  std::size_t starts = 0;
  std::size_t planned = 0;
  std::size_t preempted = 0;
  SchedulerOptions options;
  options.plan_depth = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    const Decision decision = decide(snapshot, options, kHour / 10);
    starts = decision.starts.size();
    preempted = decision.preemptions.size();
    planned = 0;
    for (const auto& waiting : decision.waiting) planned += waiting.estimated_start_ns ? 1 : 0;
  }
  state.counters["running"] = static_cast<double>(snapshot.occupants.size());
  state.counters["starts"] = static_cast<double>(starts);
  state.counters["planned"] = static_cast<double>(planned);
  state.counters["preempted"] = static_cast<double>(preempted);
}
BENCHMARK(decision)
    ->ArgNames({"load", "planned"})
    ->Args({mixed, 50})
    ->Args({small_jobs, 50})
    ->Args({all_preemptible, 50})
    ->Args({mixed, 1000})
    ->Unit(benchmark::kMillisecond);

/// Bypasses the store's own calls: 100,000 jobs with a transaction each would take long.
JobStore& full_store() {
  static const assay::ScratchFolder folder("assay-bench");
  static JobStore store = [] {
    JobStore made(folder.path() / "jobs.db");
    NewJob job;
    job.submission.name = "resnet-50 of a finished job";
    job.submission.command = std::string(300, 'x');
    job.owner = "ann";
    job.team = "vision";
    const JobId id = made.submit(job, 1).at(0);
    Event kill;
    kill.kind = EventKind::kill_asked;
    (void)made.apply(id, kill, 2);
    assay::database::Database raw(folder.path() / "jobs.db");
    raw.execute(R"(BEGIN;
WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO jobs SELECT i, name || ' ' || i, 'user' || (i % 500), 'team' || (i % 20), queue,
  i % 200, CASE i % 7 WHEN 0 THEN 'failed' ELSE 'finished' END, i % 64, 'H200', 'VALID',
  i * 1000000000, i * 1000000000, (i + (i * 7919) % 5000) * 1000000000, 0, NULL, NULL
  FROM n, jobs WHERE id = 1;
INSERT INTO details SELECT jobs.id, submission, life, code FROM jobs, details
  WHERE jobs.id > 1 AND details.job = 1;
COMMIT;)");
    return made;
  }();
  return store;
}

void page(benchmark::State& state, const JobFilter& filter) {
  JobStore& store = full_store();
  JobPage last;
  for (auto _ : state) last = store.list(filter);
  state.counters["rows"] = static_cast<double>(last.rows.size());
  state.counters["total"] = static_cast<double>(last.total);
}

JobFilter filter_of(void (*change)(JobFilter&)) {
  JobFilter filter;
  change(filter);
  return filter;
}

BENCHMARK_CAPTURE(page, newest, filter_of([](JobFilter&) {}))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, last_page, filter_of([](JobFilter& f) { f.offset = 99'950; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, of_a_user, filter_of([](JobFilter& f) { f.owner = "user7"; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, failed, filter_of([](JobFilter& f) { f.states = {State::failed}; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, by_name, filter_of([](JobFilter& f) { f.order = JobOrder::name; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, by_end, filter_of([](JobFilter& f) { f.order = JobOrder::ended; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, search, filter_of([](JobFilter& f) { f.search = "4711"; }))
    ->Unit(benchmark::kMillisecond);
// Of all names.
BENCHMARK_CAPTURE(page, search_of_all, filter_of([](JobFilter& f) { f.search = " "; }))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(page, arrays_as_one, filter_of([](JobFilter& f) { f.arrays_as_one = true; }))
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
