#include "platform/platform_state.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "database/database.h"
#include "jobs/job_snapshot.h"

namespace assay::platform {

namespace {

// A clock that was set, or a node that is back, is noticed by then.
constexpr Nanoseconds kMaxWait = std::chrono::seconds(10);

constexpr const char* kJobsFile = "jobs.db";

bool is_full_disk(const database::DatabaseError& error) {
  return error.cause() == database::Cause::disk_full;
}

// 0: it is not there.
std::uint64_t inode_of(const std::filesystem::path& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_ino : 0;
}

bool same_node(const jobs::ClusterNode& a, const jobs::ClusterNode& b) {
  return a.name == b.name && a.device_type == b.device_type && a.devices == b.devices &&
         a.available == b.available;
}

}  // namespace

Platform::State::State(Options given, std::unique_ptr<engine::Engine> given_engine)
    : options(std::move(given)),
      engine(std::move(given_engine)),
      cluster_file(options.data / "cluster.json"),
      folders(options.data),
      reserve(std::filesystem::absolute(options.data)),
      folder_lock(lock_data_folder(options.data)),
      clock(options.clocks()),
      store(options.data / kJobsFile),
      store_inode(inode_of(options.data / kJobsFile)),
      cluster(read_cluster_file(cluster_file)),
      readers(options.data / kJobsFile),
      view(options.data / kJobsFile) {
  options.data = std::filesystem::absolute(options.data);
  options.scheduler.hand_over = engine->traits().has_queue;
  // The runs of a lost database are nobody's, and must not become those of other jobs.
  if (const jobs::JobId last = folders.last(); last > 0) store.skip_numbers(last);
  store.tell(options.listeners);
  for (const jobs::AttemptUse& use : store.uses(0, std::numeric_limits<jobs::WallTime>::max()))
    usage.put(use);
  engine->report_to([this](const engine::Execution& execution, jobs::Event event) {
    // Before anything is waited for: it happened now, whenever it can be written down.
    if (event.at_ns == 0) event.at_ns = wall_ns();
    const std::lock_guard guard(mutex);
    reports.emplace_back(execution, std::move(event));
    changed.notify_all();
  });
}

Platform::State::~State() {
  thread_.request_stop();
  observer_.request_stop();
  changed.notify_all();
  if (thread_.joinable()) thread_.join();
  if (observer_.joinable()) observer_.join();
  engine.reset();  // it reports until then
}

void Platform::State::start() {
  std::vector<engine::Order> orders;
  {
    const std::lock_guard guard(mutex);
    // The server ended between the two steps of a removal: it has not taken place.
    for (const jobs::JobId id : folders.all_removed())
      if (store.state_of(id)) {
        std::error_code ec;  // what cannot be put back stays where it is
        std::filesystem::rename(folders.removed(id), folders.of(id), ec);
      }
    for (const jobs::Job& job : store.holding_nodes()) {
      orders.push_back(order_of(job));
      // One that waits in the engine's queue is not found: it has not begun.
      if (options.scheduler.hand_over && job.life.stop_by_ns != 0)
        actions.emplace_back(
            job.id,
            jobs::Action{jobs::ActionKind::stop, job.life.attempt, 0,
                         Nanoseconds(std::max<std::int64_t>(0, job.life.stop_by_ns - wall_ns()))});
      if (job.life.state == jobs::State::running)
        note_running(job.id, {.taken = true, .to = jobs::State::running});
    }
  }
  engine->recall(orders);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  // Telemetry of days is long: nobody waits for it to be read.
  observer_ = std::jthread([this](const std::stop_token& stop) { observe(stop); });
}

engine::Order Platform::State::order_of(const jobs::Job& job) const {
  engine::Order order;
  order.execution = {job.id, job.life.attempt};
  order.restarts = job.life.restarts;
  order.folder = folders.of(job.id, job.life.attempt);
  order.owner = job.owner;
  order.team = job.team;
  order.array_index = job.array_index;
  order.submission = limited(job.submission);
  order.placement = job.life.placement;
  for (const jobs::Queue& queue : cluster.settings.queues)
    if (queue.name == job.submission.queue) order.queue = queue;
  return order;
}

jobs::Submission Platform::State::limited(jobs::Submission submission) const {
  if (!submission.time && !options.scheduler.hand_over)
    submission.time = jobs::WrittenDuration{options.default_time};
  return submission;
}

void Platform::State::require_store() const {
  const std::filesystem::path file = options.data / kJobsFile;
  if (inode_of(file) == store_inode) return;
  throw database::DatabaseError(database::Cause::not_writable,
                                "the file was removed or replaced while the server runs",
                                file.string(), "stop the server, and put back a good copy");
}

void Platform::State::wake() {
  undecided = true;
  changed.notify_all();
}

void Platform::State::follow_clock() {
  const Nanoseconds by = clock.set_by(options.clocks());
  if (by.count() == 0) return;
  store.clock_was_set(by);
  clock.take(by);
  for (auto& [id, one] : running)
    if (one.end_ns) *one.end_ns += by.count();
  // What has happened before cannot be later than now; what is earlier would count for less.
  if (by.count() > 0)
    for (auto& [execution, event] : reports) event.at_ns += by.count();
  undecided = true;
}

jobs::Change Platform::State::apply(jobs::JobId id, const jobs::Event& event) {
  follow_clock();
  const jobs::Change change = store.apply(id, event, wall_ns());
  follow(id, event, change);
  return change;
}

std::vector<jobs::Change> Platform::State::apply_all(const std::vector<jobs::JobId>& ids,
                                                     const jobs::Event& event) {
  follow_clock();
  const std::vector<jobs::Change> changes = store.apply_all(ids, event, wall_ns());
  for (std::size_t i = 0; i < ids.size(); ++i) follow(ids[i], event, changes[i]);
  return changes;
}

void Platform::State::follow(jobs::JobId id, const jobs::Event& event, const jobs::Change& change) {
  for (const jobs::Action& action : change.actions) actions.emplace_back(id, action);
  if (change.taken) {
    waiting.erase(id);
    note_running(id, change);
    if (const auto job = store.find(id)) {
      if (change.released()) account(*job);
      tell(*job, event.kind, change.words, change.at_ns);
    }
    undecided = true;
  }
  changed.notify_all();
}

jobs::Change Platform::State::take_wish(jobs::JobId id, const jobs::Event& wish) {
  try {
    return apply(id, wish);
  } catch (const database::DatabaseError& error) {
    if (!is_full_disk(error) || wish.kind != jobs::EventKind::kill_asked) throw;
    const auto job = store.find(id);
    if (!job || !jobs::holds_nodes(job->life.state)) throw;
    jobs::Life life = job->life;
    const jobs::Policy policy = jobs::policy_of(job->submission);
    const jobs::WallTime now_ns = wall_ns();
    const auto earlier = unwritten_kills.find(id);
    if (earlier != unwritten_kills.end()) (void)jobs::apply(life, policy, earlier->second, now_ns);
    jobs::Change change = jobs::apply(life, policy, wish, now_ns);
    if (!change.taken) return change;
    if (earlier == unwritten_kills.end())
      unwritten_kills.emplace(id, wish).first->second.at_ns = now_ns;
    for (const jobs::Action& action : change.actions) actions.emplace_back(id, action);
    changed.notify_all();
    return change;
  }
}

jobs::Pending Platform::State::pending_of(jobs::JobId id, const jobs::Life& life) const {
  if (life.state == jobs::State::scheduling)
    if (std::string words = engine->waits_for(id); !words.empty())
      return {.kind = jobs::PendingKind::engine, .subject = std::move(words)};
  return jobs::pending_by_state(life);
}

void Platform::State::tell(const jobs::Job& job, jobs::EventKind event, std::string words,
                           jobs::WallTime at_ns) {
  news.push_back({job.id, job.owner, job.team, job.life.state, event, at_ns, std::move(words)});
}

void Platform::State::note_running(jobs::JobId id, const jobs::Change& change) {
  running.erase(id);
  if (change.to != jobs::State::running) return;
  const auto job = store.find(id);
  if (!job) return;
  Running& one = running[id];
  one.attempt = job->life.attempt;
  if (const auto time = limited(job->submission).time)
    one.end_ns =
        job->life.started_ns + std::max<std::int64_t>(0, time->value.count() - job->life.ran_ns);
}

std::vector<jobs::Queue> Platform::State::queues() const {
  std::vector<jobs::Queue> out = cluster.settings.queues;
  for (std::string& name : engine->queues())
    if (std::ranges::find(out, name, &jobs::Queue::name) == out.end())
      out.push_back({.name = std::move(name)});
  return out;
}

bool Platform::State::queue_wants_approval(const std::string& name) const {
  return std::ranges::any_of(cluster.settings.queues, [&](const jobs::Queue& queue) {
    return queue.name == name && queue.approval;
  });
}

std::vector<jobs::ClusterNode> Platform::State::usable(std::vector<jobs::ClusterNode> nodes) const {
  for (jobs::ClusterNode& node : nodes) {
    const auto drain = cluster.drains.find(node.name);
    if (drain == cluster.drains.end()) continue;
    node.available = false;
    node.drained = true;
    node.reason = drain->second.reason;
  }
  return nodes;
}

jobs::Snapshot Platform::State::snapshot(const std::vector<jobs::ClusterNode>& nodes,
                                         jobs::WallTime now_ns) {
  jobs::Snapshot out;
  {
    const std::lock_guard guard(mutex);
    out.nodes = usable(nodes);
    out.reservations = cluster.settings.reservations;
    out.queues = queues();
    out.teams = cluster.settings.teams;
  }
  {
    const std::lock_guard guard(view_mutex);
    jobs::add_jobs(out, view, options.default_time, options.half_life, now_ns);
  }
  if (!options.barred) return out;
  std::set<std::pair<std::string, std::string>> asked;
  for (const jobs::Request& request : out.queued)
    if (asked.emplace(request.user, request.team).second)
      if (const auto why = options.barred(request.user, request.team))
        out.barred.push_back({*why, request.user, request.team});
  return out;
}

// --- the thread

void Platform::State::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Nanoseconds wait{0};
    bool failed = false;
    try {
      wait = turn();
    } catch (const std::exception&) {
      // The disk, or no memory for a moment. Nothing is lost: what was not written is still to be
      // done. The wait is set here, not before: GCC 12 drops a value that a call which throws would
      // have replaced.
      wait = kAfterFailure;
      failed = true;
    }
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, wait, [&] {
      return !failed && (undecided || !reports.empty() || !actions.empty() || !news.empty());
    });
  }
}

Nanoseconds Platform::State::turn() {
  act();  // also when nothing can be written
  take_reports();
  act();
  enforce_limits();
  bool must_decide = false;
  {
    const std::vector<jobs::ClusterNode> nodes = engine->nodes();
    const std::lock_guard guard(mutex);
    undecided |= !std::ranges::equal(nodes, decided_nodes, same_node);
    must_decide = undecided || (decide_at_ns && wall_ns() >= *decide_at_ns);
  }
  if (must_decide) decide();
  act();
  publish();
  const std::lock_guard guard(mutex);
  if (undecided) return Nanoseconds(0);
  std::int64_t next_ns = wall_ns() + kMaxWait.count();
  if (decide_at_ns) next_ns = std::min(next_ns, *decide_at_ns);
  for (const auto& [id, one] : running)
    if (one.end_ns) next_ns = std::min(next_ns, *one.end_ns);
  return Nanoseconds(std::max<std::int64_t>(0, next_ns - wall_ns()));
}

void Platform::State::take_reports() {
  const std::lock_guard guard(mutex);
  try {
    write_what_happened();
  } catch (const database::DatabaseError& error) {
    // What filled the disk has ended: the room that is given up now stays free.
    const bool stopped = std::ranges::any_of(
        reports, [&](const auto& report) { return unwritten_kills.contains(report.first.job); });
    if (is_full_disk(error) && stopped) reserve.give_up();
    throw;
  }
}

void Platform::State::write_what_happened() {
  follow_clock();
  while (!unwritten_kills.empty()) {
    const auto [id, wish] = *unwritten_kills.begin();
    if (store.state_of(id)) (void)apply(id, wish);
    unwritten_kills.erase(id);
  }
  while (!reports.empty()) {
    const auto [execution, event] = reports.front();
    if (store.state_of(execution.job)) (void)apply(execution.job, event);
    reports.pop_front();
  }
}

void Platform::State::enforce_limits() {
  const std::lock_guard guard(mutex);
  follow_clock();
  std::vector<std::pair<jobs::JobId, int>> over;
  for (const auto& [id, one] : running)
    if (one.end_ns && wall_ns() >= *one.end_ns) over.emplace_back(id, one.attempt);
  for (const auto& [id, attempt] : over) {
    jobs::Event event = event_for(jobs::EventKind::time_limit);
    event.attempt = attempt;
    (void)apply(id, event);
    running.erase(id);
  }
}

void Platform::State::decide() {
  const std::vector<jobs::ClusterNode> nodes = engine->nodes();
  const jobs::WallTime now_ns = wall_ns();
  // Whatever fails on the way, there is still something to be decided.
  struct Unfinished {
    State& state;
    bool done = false;
    ~Unfinished() {
      if (done) return;
      const std::lock_guard guard(state.mutex);
      state.undecided = true;
    }
  } unfinished{*this};
  {
    const std::lock_guard guard(mutex);
    decided_nodes = nodes;
    device_types.clear();
    for (const jobs::ClusterNode& node : nodes) device_types[node.name] = node.device_type;
    undecided = false;
  }
  const jobs::Snapshot seen = snapshot(nodes, now_ns);
  const jobs::Decision decision = jobs::decide(seen, options.scheduler, now_ns);
  const std::lock_guard guard(mutex);
  const bool changed_meanwhile = undecided;
  waiting.clear();
  for (const jobs::Decision::Waiting& one : decision.waiting) waiting[one.id] = one;
  decide_at_ns = decision.wake_ns;
  // Nobody says so where another program changes an account.
  if (!seen.barred.empty())
    decide_at_ns =
        std::min(decide_at_ns.value_or(now_ns + kMaxWait.count()), now_ns + kMaxWait.count());
  // Whatever happened to a job meanwhile, an event that does not fit it any more changes nothing.
  for (const auto& [id, of] : decision.broken)
    (void)apply(id, event_for(jobs::EventKind::dependency_failed, fmt::format("job {}", of)));
  for (const auto& [id, in_favor] : decision.preemptions)
    (void)apply(id, event_for(jobs::EventKind::preempted, fmt::format("job {}", in_favor)));
  for (const auto& [id, placement] : decision.starts) {
    jobs::Event placed = event_for(options.scheduler.hand_over ? jobs::EventKind::handed_over
                                                               : jobs::EventKind::placed);
    placed.placement = placement;
    (void)apply(id, placed);
  }
  // What was just started is in the next decision's view; nothing else has changed by it.
  if (decision.broken.empty() && decision.preemptions.empty()) undecided = changed_meanwhile;
  unfinished.done = true;
}

}  // namespace assay::platform
