#include <cstdlib>
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cluster_examples.h"
#include "jobs/job_store.h"
#include "temporary_folder.h"

namespace assay::jobs {
namespace {

/// What runs on the nodes. It outlives the server, and it keeps the engine's contract: an execution
/// that it says it has not can never begin.
struct World {
  struct Execution {
    bool running = true;
    Exit exit{};
  };
  std::map<std::pair<JobId, int>, Execution> executions{};
  std::map<JobId, int> completed{};
  std::string violation{};

  void start(JobId job, int attempt) {
    for (const auto& [key, execution] : executions)
      if (key.first == job && execution.running)
        violation = "job " + std::to_string(job) + " runs twice at a time";
    if (!executions.try_emplace({job, attempt}).second)
      violation = "an execution of job " + std::to_string(job) + " was started twice";
  }
  void end(JobId job, int attempt, const Exit& exit) {
    const auto found = executions.find({job, attempt});
    if (found == executions.end() || !found->second.running) return;
    found->second = {false, exit};
    if (exit.ending == Ending::completed && ++completed[job] > 1)
      violation = "job " + std::to_string(job) + " was done twice";
  }
};

/// The server's loop as far as it matters here: write, then act.
class Server {
 public:
  Server(JobStore& store, World& world) : store_(store), world_(world) {}

  std::vector<JobId> acknowledged;  ///< jobs that their owner was told of
  WallTime now_ns = 0;

  void submit() {
    for (int i = 0; i < 6; ++i) {
      NewJob job;
      job.submission.name = "job";
      job.submission.command = "true";
      job.submission.preemptible = true;
      job.submission.retries.count = 1;
      acknowledged.push_back(store_.submit(job, now_ns).at(0));
    }
  }

  void take(JobId id, EventKind kind, int attempt, const Exit& exit = {}) {
    Event event;
    event.kind = kind;
    event.attempt = attempt;
    event.exit = exit;
    if (kind == EventKind::placed) event.placement = {{"n1", 1}};
    const Change change = store_.apply(id, event, now_ns);
    for (const Action& action : change.actions) {
      if (action.kind == ActionKind::start) world_.start(id, action.attempt);
      if (action.kind == ActionKind::stop || action.kind == ActionKind::stop_now)
        world_.end(id, action.attempt, {Ending::interrupted, 143, Verdict::none});
    }
  }

  /// After a restart: what the engine has is compared with what is written.
  void recover() {
    for (const Job& job : store_.unfinished()) {
      if (!holds_nodes(job.life.state)) continue;
      const auto found = world_.executions.find({job.id, job.life.attempt});
      if (found == world_.executions.end())
        take(job.id, EventKind::not_found, job.life.attempt);
      else if (found->second.running)
        take(job.id, EventKind::found, job.life.attempt);
      else
        take(job.id, EventKind::exited, job.life.attempt, found->second.exit);
    }
    const auto executions = world_.executions;
    for (const auto& [key, execution] : executions) {
      const auto job = store_.find(key.first);
      ASSERT_TRUE(job) << "something runs that nobody knows";
      if (execution.running && job->life.attempt != key.second)
        take(key.first, EventKind::found, key.second);
    }
  }

  /// Until all jobs are over; gives whether they are.
  bool run() {
    for (int i = 0; i < 60; ++i) {
      const auto jobs = store_.unfinished();
      if (jobs.empty()) return true;
      now_ns += 400 * kSecondNs;
      for (const Job& job : jobs) step(job);
    }
    return false;
  }

 private:
  /// What happens to each of the six jobs in its first attempt.
  void step(const Job& job) {
    const Life& life = job.life;
    const auto kind = job.id % 6;
    const bool first = life.attempt == 1;
    switch (life.state) {
      case State::queued:
        return take(job.id, EventKind::placed, 0);
      case State::scheduling:
        return take(job.id, EventKind::started, life.attempt);
      case State::paused:
        return take(job.id, EventKind::resume_asked, 0);
      case State::running:
        if (first && kind == 1) return take(job.id, EventKind::preempted, 0);
        if (first && kind == 2) return take(job.id, EventKind::pause_asked, 0);
        if (first && kind == 3) return take(job.id, EventKind::kill_asked, 0);
        if (first && kind == 4) return take(job.id, EventKind::node_lost, life.attempt);
        world_.end(job.id, life.attempt,
                   first && kind == 5 ? Exit{Ending::failed, 1, Verdict::none} : Exit{});
        [[fallthrough]];
      default:
        if (const auto ended = world_.executions.find({job.id, life.attempt});
            ended != world_.executions.end() && !ended->second.running)
          take(job.id, EventKind::exited, life.attempt, ended->second.exit);
    }
  }

  JobStore& store_;
  World& world_;
};

/// Called whenever SQLite has done a statement.
std::function<void()> g_after_statement;

int call_after_statement(unsigned, void*, void*, void*) {
  if (g_after_statement) g_after_statement();
  return 0;
}

int trace_connection(sqlite3* database, char**, const void*) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, call_after_statement, nullptr);
}

TEST(JobStoreCrash, AServerThatDiesAfterAnyStatementLosesNoJobAndRunsNoneTwice) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(trace_connection));
  // Processes are killed here, not machines: thousands of syncs need no disk.
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "jobs.db";
  struct Moment {
    std::filesystem::path file;
    World world;
    std::vector<JobId> acknowledged;
    WallTime now_ns;
  };
  std::vector<Moment> moments;
  World world;
  {
    JobStore store(file);
    Server server(store, world);
    g_after_statement = [&] {
      const auto copy = folder.path() / std::to_string(moments.size()) / "jobs.db";
      std::filesystem::create_directory(copy.parent_path());
      std::filesystem::copy_file(file, copy);
      if (std::filesystem::exists(file.string() + "-wal"))
        std::filesystem::copy_file(file.string() + "-wal", copy.string() + "-wal");
      moments.push_back({copy, world, server.acknowledged, server.now_ns});
    };
    server.submit();
    ASSERT_TRUE(server.run());
    g_after_statement = nullptr;
  }
  ASSERT_EQ(world.violation, "");
  ASSERT_EQ(world.completed.size(), 5U) << "all but the one that is killed";
  ASSERT_GT(moments.size(), 200U);

  for (std::size_t i = 0; i < moments.size(); ++i) {
    SCOPED_TRACE("killed after statement " + std::to_string(i));
    Moment& moment = moments[i];
    JobStore store(moment.file);
    Server server(store, moment.world);
    server.now_ns = moment.now_ns;
    server.recover();
    ASSERT_TRUE(server.run()) << "a job does not come to its end";
    ASSERT_EQ(moment.world.violation, "");
    for (const JobId id : moment.acknowledged) {
      const auto job = store.find(id);
      ASSERT_TRUE(job) << "job " << id << " was lost";
      const bool done = moment.world.completed[id] == 1;
      EXPECT_EQ(job->life.state == State::finished, done) << "job " << id;
      EXPECT_TRUE(done || id % 6 == 3) << "job " << id << " " << to_text(job->life.state);
    }
    std::filesystem::remove_all(moment.file.parent_path());
  }
  sqlite3_reset_auto_extension();
}

}  // namespace
}  // namespace assay::jobs
