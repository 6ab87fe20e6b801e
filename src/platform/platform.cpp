#include "platform/platform.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "engine/execution_folder.h"
#include "jobs/job_array.h"
#include "platform/platform_state.h"

namespace assay::platform {

namespace {

// Of a job that is not there yet: behind all others of its standing.
constexpr jobs::JobId kNewcomer = std::numeric_limits<jobs::JobId>::max();

// Of one person: whatever somebody submits, the others' jobs are still decided about quickly.
constexpr std::int64_t kMaxWaiting = 20'000;

Error refusal(std::string what) {
  return {ErrorKind::usage, std::move(what)};
}

jobs::Job must_find(jobs::JobStore& store, jobs::JobId id) {
  auto job = store.find(id);
  if (!job) throw refusal(fmt::format("there is no job {}", id));
  return *job;
}

std::string words_of(const std::vector<jobs::Problem>& problems) {
  std::vector<std::string> lines;
  for (const jobs::Problem& problem : problems)
    lines.push_back(problem.path.empty() ? problem.message : problem.path + ": " + problem.message);
  return join(lines, "; ");
}

// What a person asks of a job. Throws Error of kind usage for what nobody can ask for.
jobs::Event wish_of(jobs::EventKind what, const std::string& who) {
  using enum jobs::EventKind;
  if (what != approved && what != rejected && what != pause_asked && what != resume_asked &&
      what != kill_asked)
    throw refusal("nobody can ask for '" + std::string(to_text(what)) + "'");
  jobs::Event event;
  event.kind = what;
  event.who = who;
  return event;
}

/// Nodes on which it would fit if nobody else were there; empty: there are none.
jobs::Placement placement_when_empty(const jobs::Request& request,
                                     const std::vector<jobs::ClusterNode>& nodes) {
  std::map<std::string, jobs::Placement> by_type;
  for (const jobs::ClusterNode& node : nodes) {
    if (node.devices < request.devices ||
        (!request.device_type.empty() && node.device_type != request.device_type))
      continue;
    jobs::Placement& placement = by_type[node.device_type];
    placement.push_back({node.name, request.whole_nodes ? node.devices : request.devices});
    if (static_cast<int>(placement.size()) == request.nodes) return placement;
  }
  return {};
}

}  // namespace

Refused::Refused(std::vector<jobs::Problem> problems)
    : Error(ErrorKind::usage, words_of(problems)), problems_(std::move(problems)) {}

Platform::Platform(Options options, std::unique_ptr<engine::Engine> engine)
    : state_(std::make_unique<State>(std::move(options), std::move(engine))) {}

Platform::~Platform() = default;

void Platform::start() {
  state_->start();
}

void Platform::check_secrets(const jobs::NewJob& job, std::vector<jobs::Problem>& problems) const {
  for (const auto& [variable, name] : job.submission.secrets) {
    try {
      (void)state_->secret_for(job.owner, job.team, name);
    } catch (const database::DatabaseError&) {
      throw;  // that cannot be told now
    } catch (const Error& error) {
      problems.push_back({"secrets." + variable, error.message()});
    }
  }
}

std::vector<jobs::Problem> Platform::check(const jobs::NewJob& job) {
  std::vector<jobs::Problem> problems = jobs::problems_of(job.submission);
  if (!problems.empty()) return problems;
  const jobs::Submission& submission = job.submission;
  const bool came_before = [&] {
    const std::lock_guard guard(state_->mutex);
    return state_->store.knows_request(job.owner, job.request_key);
  }();
  if (!came_before) check_secrets(job, problems);
  const std::lock_guard guard(state_->mutex);
  const auto queues = state_->queues();
  if (std::ranges::find(queues, submission.queue, &jobs::Queue::name) == queues.end())
    problems.push_back({"queue", "there is no queue '" + submission.queue + "'"});
  for (std::size_t i = 0; i < submission.after.size(); ++i) {
    const jobs::JobId id = submission.after[i];
    const auto state = state_->store.state_of(id);
    if (!state)
      problems.push_back({fmt::format("after[{}]", i), fmt::format("there is no job {}", id)});
    else if (is_final(*state) && *state != jobs::State::finished && !came_before)
      problems.push_back(
          {fmt::format("after[{}]", i),
           jobs::to_words({.kind = jobs::PendingKind::dependency_failed, .job = id})});
  }
  const auto array = jobs::parse_array(submission.array);
  const auto more =
      static_cast<std::int64_t>(array && !submission.array.empty() ? array->indices.size() : 1);
  const std::int64_t waiting =
      state_->store
          .list({.states = {jobs::State::unapproved, jobs::State::queued, jobs::State::paused},
                 .owner = job.owner,
                 .limit = 1})
          .total;
  if (waiting + more > kMaxWaiting && !came_before)
    problems.push_back(
        {submission.array.empty() ? "" : "array",
         fmt::format("at most {} jobs of one person may wait; {} do, and this would add {}",
                     kMaxWaiting, waiting, more)});
  if (!job.code.empty() && !state_->options.code)
    problems.push_back({"code", "this server keeps no uploads"});
  return problems;
}

engine::Planned Platform::plan(const jobs::NewJob& job, const jobs::Placement& placement,
                               std::vector<jobs::Problem>& problems) {
  engine::Planned planned;
  if (placement.empty() && !state_->engine->traits().has_queue) return planned;
  engine::Order order;
  order.owner = job.owner;
  order.team = job.team;
  order.submission = state_->limited(job.submission);
  order.placement = placement;
  try {
    planned = state_->engine->plan(order);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    problems.push_back({job.submission.suite.empty() ? "command" : "suite",
                        (error.where().empty() ? "" : error.where() + ": ") + error.message()});
    return planned;
  }
  const jobs::Submission& submission = job.submission;
  if (planned.nodes > submission.nodes)
    problems.push_back(
        {"nodes", fmt::format("the suite has a case of {} nodes; the job asks for {}",
                              planned.nodes, submission.nodes)});
  if (!submission.devices && planned.procs > submission.procs)
    problems.push_back(
        {"procs", fmt::format("the suite has a case of {} processes on a node; the job asks for {}",
                              planned.procs, submission.procs)});
  return planned;
}

std::string Platform::suite_of(const jobs::Submission& submission) const {
  return jobs::suite_text(state_->limited(submission));
}

Preview Platform::preview(const jobs::NewJob& job) {
  Preview out;
  out.problems = check(job);
  if (!out.problems.empty()) return out;
  out.suite = suite_of(job.submission);
  if (const auto time = state_->limited(job.submission).time) out.time = time->value;
  const std::vector<jobs::ClusterNode> nodes = state_->engine->nodes();
  const jobs::WallTime now_ns = state_->wall_ns();
  const bool approval = [&] {
    const std::lock_guard guard(state_->mutex);
    return job.needs_approval || state_->queue_wants_approval(job.submission.queue);
  }();
  if (const auto array = jobs::parse_array(job.submission.array);
      array && !job.submission.array.empty()) {
    out.elements = static_cast<int>(array->indices.size());
    out.at_once = array->limit;
  }
  jobs::Job newcomer{
      .id = kNewcomer, .owner = job.owner, .team = job.team, .submission = job.submission};
  newcomer.life = jobs::born(approval, now_ns);
  jobs::Request request = jobs::request_of(newcomer, state_->options.default_time);
  jobs::Snapshot seen = state_->snapshot(nodes, now_ns);
  {
    const std::lock_guard guard(state_->mutex);
    for (const jobs::JobId id : job.submission.after)
      request.after.push_back({id, state_->store.state_of(id).value_or(jobs::State::error)});
  }
  (approval ? seen.unapproved : seen.queued).push_back(request);
  const jobs::Decision decision = jobs::decide(seen, state_->options.scheduler, now_ns);
  for (const jobs::Decision::Start& start : decision.starts)
    if (start.id == kNewcomer) out.placement = start.placement;
  for (const jobs::Decision::Waiting& one : decision.waiting) {
    if (one.id != kNewcomer) continue;
    out.pending = one.reason;
    out.place = one.place;
    out.estimated_start_ns = one.estimated_start_ns;
  }
  if (state_->options.scheduler.hand_over && !out.pending)
    out.pending =
        jobs::Pending{.kind = jobs::PendingKind::engine,
                      .subject = "the cluster's own scheduler decides when and where it starts"};
  out.plan = plan(job, out.placement.empty() ? placement_when_empty(request, nodes) : out.placement,
                  out.problems)
                 .text;
  return out;
}

std::vector<jobs::JobId> Platform::submit(const jobs::NewJob& given) {
  std::vector<jobs::Problem> problems = check(given);
  Nanoseconds grace{0};
  if (problems.empty() && !given.submission.suite.empty()) {
    jobs::Job newcomer{.submission = given.submission};
    const jobs::Request request = jobs::request_of(newcomer, state_->options.default_time);
    grace = plan(given, placement_when_empty(request, state_->engine->nodes()), problems).grace;
  }
  if (!problems.empty()) throw Refused(std::move(problems));
  jobs::NewJob job = given;
  job.grace = grace;
  const std::lock_guard guard(state_->mutex);
  job.needs_approval |= state_->queue_wants_approval(job.submission.queue);
  state_->require_store();
  const jobs::WallTime now_ns = state_->wall_ns();
  std::vector<jobs::JobId> ids = state_->store.submit(job, now_ns);
  // A request that came again has made nothing new.
  if (auto made = state_->store.find(ids.front()); made && made->life.submitted_ns == now_ns)
    for (const jobs::JobId id : ids) {
      made->id = id;
      state_->tell(*made, jobs::EventKind::submitted, "submitted", now_ns);
    }
  state_->wake();
  return ids;
}

jobs::Change Platform::ask(jobs::JobId id, jobs::EventKind what, const std::string& who) {
  const jobs::Event event = wish_of(what, who);
  const std::lock_guard guard(state_->mutex);
  const jobs::Change change = state_->take_wish(id, event);
  if (!change.taken) throw refusal(change.words);
  return change;
}

Platform::Asked Platform::ask_all(const std::vector<jobs::JobId>& ids, jobs::EventKind what,
                                  const std::string& who, Nanoseconds limit) {
  constexpr std::size_t kAtOnce = 200;  // for some milliseconds others wait
  const jobs::Event event = wish_of(what, who);
  const std::int64_t until_ns = mono_now_ns() + limit.count();
  Asked out;
  for (std::size_t at = 0; at < ids.size() && (at == 0 || mono_now_ns() < until_ns);) {
    const std::size_t count = std::min(kAtOnce, ids.size() - at);
    const std::vector<jobs::JobId> some(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                        ids.begin() + static_cast<std::ptrdiff_t>(at + count));
    const std::lock_guard guard(state_->mutex);
    std::vector<jobs::Change> changes;
    try {
      changes = state_->apply_all(some, event);
    } catch (const database::DatabaseError&) {
      // One by one: what runs is stopped also where nothing can be written.
      for (const jobs::JobId id : some) changes.push_back(state_->take_wish(id, event));
    }
    for (std::size_t i = 0; i < count; ++i)
      out.all.push_back(
          {some[i], changes[i].taken, changes[i].to, changes[i].taken ? "" : changes[i].words});
    at += count;
  }
  return out;
}

std::map<jobs::JobId, jobs::JobOwner> Platform::owners(const std::vector<jobs::JobId>& ids) {
  return state_->readers.read([&](jobs::JobStore& store) { return store.owners(ids); });
}

void Platform::change_priority(jobs::JobId id, int priority) {
  if (priority < 0 || priority > jobs::kMaxPriority)
    throw refusal(fmt::format("a priority is a number from 0 to {}", jobs::kMaxPriority));
  const std::lock_guard guard(state_->mutex);
  const jobs::Job job = must_find(state_->store, id);
  if (jobs::is_final(job.life.state) || jobs::holds_nodes(job.life.state))
    throw refusal(fmt::format("job {} is {}: it can no longer be reprioritized", id,
                              to_text(job.life.state)));
  state_->store.change_priority(id, priority);
  state_->wake();
}

void Platform::rename(jobs::JobId id, const std::string& name) {
  const std::lock_guard guard(state_->mutex);
  jobs::Submission submission = must_find(state_->store, id).submission;
  submission.name = name;
  for (const jobs::Problem& problem : jobs::problems_of(submission))
    if (problem.path == "name") throw Refused(std::vector<jobs::Problem>{problem});
  state_->store.rename(id, name);
}

void Platform::remove(jobs::JobId id) {
  const std::filesystem::path folder = state_->folders.of(id);
  const std::filesystem::path removed = state_->folders.removed(id);
  std::error_code ec;
  {
    const std::lock_guard guard(state_->mutex);
    const auto state = state_->store.state_of(id);
    if (!state) throw refusal(fmt::format("there is no job {}", id));
    if (!jobs::is_final(*state))
      throw refusal(fmt::format("job {} is {}; stop it first", id, to_text(*state)));
    if (const auto next = state_->store.unfinished_after(id))
      throw refusal(fmt::format("job {} comes after job {}, and has not ended", *next, id));
    // The folder goes first, by its name: where the server ends before the record is gone, the next
    // one puts it back, and where it ends afterwards, the next one deletes it.
    const bool has_folder =
        std::filesystem::symlink_status(folder, ec).type() != std::filesystem::file_type::not_found;
    if (has_folder) std::filesystem::remove_all(removed, ec);  // of a database that was lost
    if (has_folder) std::filesystem::rename(folder, removed, ec);
    if (ec && has_folder)
      throw Error(ErrorKind::environment, "its runs could not be removed: " + ec.message(),
                  folder.string());
    try {
      state_->store.remove(id);
    } catch (...) {
      if (has_folder) std::filesystem::rename(removed, folder, ec);
      throw;
    }
  }
  // Without the mutex: a run may have thousands of files.
  std::filesystem::remove_all(removed, ec);
}

KeptUntil Platform::kept_until(jobs::WallTime ended_ns) {
  const std::lock_guard guard(state_->mutex);
  return platform::kept_until(state_->cluster.settings.retention, ended_ns);
}

std::string Platform::logs_removed_at(jobs::JobId id) {
  return logs_removal(state_->folders.of(id)).at;
}

void Platform::visit_old(const std::function<RetentionPolicy()>& policy, jobs::WallTime now_ns,
                         const std::function<Visited(const jobs::JobRow&, bool)>& visit) {
  jobs::JobFilter filter;
  for (const jobs::State state : enum_values<jobs::State>())
    if (jobs::is_final(state)) filter.states.push_back(state);
  filter.order = jobs::JobOrder::ended;
  filter.descending = false;
  filter.limit = jobs::kMaxPage;
  while (true) {
    const std::vector<jobs::JobRow> rows = list(filter).rows;
    for (const jobs::JobRow& row : rows) {
      const KeptUntil until = platform::kept_until(policy(), row.ended_ns);
      const bool all = until.job_ns && *until.job_ns <= now_ns;
      const bool logs = until.logs_ns && *until.logs_ns <= now_ns;
      // They are in the order of their ends: those behind it are kept, too.
      if (!all && !logs) return;
      // What was removed is in the list no longer.
      switch (visit(row, all)) {
        case Visited::stays:
          ++filter.offset;
          break;
        case Visited::gone:
          break;
        case Visited::stop:
          return;
      }
    }
    if (rows.size() < static_cast<std::size_t>(filter.limit)) return;
  }
}

Removal Platform::remove_old(jobs::WallTime now_ns, bool only_count,
                             const std::function<bool()>& stop) {
  if (!only_count) state_->sweep_removed();
  Removal out;
  visit_old([&] { return settings().retention; }, now_ns,
            [&](const jobs::JobRow& row, bool all) {
              if (stop && stop()) return Visited::stop;
              const std::filesystem::path folder = state_->folders.of(row.id);
              try {
                if (all) {
                  if (!only_count) remove(row.id);
                  ++out.jobs;
                  return only_count ? Visited::stays : Visited::gone;
                }
                if (!logs_removal(folder).finished) {
                  if (!only_count) remove_logs(folder, now_ns);
                  ++out.logs;
                }
              } catch (const std::exception& error) {
                if (++out.failed == 1)
                  out.first_why = fmt::format("job {}: {}", row.id, error.what());
              }
              return Visited::stays;
            });
  return out;
}

RemovalAhead Platform::would_remove(const RetentionPolicy& policy, jobs::WallTime now_ns,
                                    std::size_t named, Nanoseconds limit) {
  RemovalAhead out;
  const std::int64_t until_ns = mono_now_ns() + limit.count();
  visit_old([&] { return policy; }, now_ns,
            [&](const jobs::JobRow& row, bool all) {
              if (mono_now_ns() >= until_ns) {
                out.whole = false;
                return Visited::stop;
              }
              if (!all && logs_removal(state_->folders.of(row.id)).finished) return Visited::stays;
              ++(all ? out.jobs : out.logs);
              if (auto& first = all ? out.first_jobs : out.first_logs; first.size() < named)
                first.push_back(row);
              return Visited::stays;
            });
  return out;
}

std::vector<jobs::Notice> Platform::notices(const std::string& listener, std::int64_t limit,
                                            std::int64_t after) {
  return state_->readers.read(
      [&](jobs::JobStore& store) { return store.notices(listener, limit, after); });
}

void Platform::told(std::int64_t number) {
  const std::lock_guard guard(state_->mutex);
  state_->store.told(number);
}

std::optional<JobView> Platform::find(jobs::JobId id) {
  auto job = state_->readers.read([&](jobs::JobStore& store) { return store.find(id); });
  if (!job) return std::nullopt;
  JobView view{.job = std::move(*job)};
  const jobs::Life& life = view.job.life;
  if (jobs::is_final(life.state) || life.state == jobs::State::running) return view;
  const std::lock_guard guard(state_->mutex);
  if (life.state != jobs::State::queued) {
    view.pending = state_->pending_of(view.job.id, life);
    if (life.state == jobs::State::scheduling)
      view.estimated_start_ns = state_->engine->expected_start(id);
  } else if (const auto found = state_->waiting.find(id); found != state_->waiting.end()) {
    view.pending = found->second.reason;
    view.place = found->second.place;
    view.estimated_start_ns = found->second.estimated_start_ns;
  } else {
    view.pending = jobs::Pending{.kind = jobs::PendingKind::resources,
                                 .nodes = view.job.submission.nodes,
                                 .devices = jobs::devices_per_node(view.job.submission),
                                 .device_type = view.job.submission.device_type};
  }
  return view;
}

jobs::JobPage Platform::list(const jobs::JobFilter& filter) {
  return state_->readers.read([&](jobs::JobStore& store) { return store.list(filter); });
}

std::vector<jobs::ArrayElement> Platform::elements(jobs::JobId array) {
  return state_->readers.read([&](jobs::JobStore& store) { return store.elements(array); });
}

std::optional<jobs::Decision::Waiting> Platform::waits(jobs::JobId id) {
  const std::lock_guard guard(state_->mutex);
  if (const auto found = state_->waiting.find(id); found != state_->waiting.end())
    return found->second;
  std::string words = state_->engine->waits_for(id);
  if (words.empty()) return std::nullopt;
  return jobs::Decision::Waiting{
      .id = id,
      .reason = {.kind = jobs::PendingKind::engine, .subject = std::move(words)},
      .estimated_start_ns = state_->engine->expected_start(id)};
}

std::vector<jobs::TimelineEntry> Platform::timeline(jobs::JobId id) {
  return state_->readers.read([&](jobs::JobStore& store) { return store.timeline(id); });
}

std::filesystem::path Platform::run_of(jobs::JobId id, int attempt) {
  if (attempt == 0) {
    const auto job = state_->readers.read([&](jobs::JobStore& store) { return store.find(id); });
    if (job) attempt = job->life.attempt;
  }
  if (attempt <= 0) return {};
  return engine::ExecutionFolder(state_->folders.of(id, attempt)).run();
}

engine::Way Platform::enter(jobs::JobId id, const std::string& node,
                            const std::vector<std::string>& args) {
  engine::Execution execution{.job = id};
  {
    const std::lock_guard guard(state_->mutex);
    const jobs::Job job = must_find(state_->store, id);
    if (job.life.state != jobs::State::running)
      throw refusal(fmt::format("job {} does not run: it is {}", id, to_text(job.life.state)));
    execution.attempt = job.life.attempt;
  }
  return state_->engine->enter(execution, node, args);
}

std::shared_ptr<void> Platform::subscribe(std::function<void(const JobEvent&)> listener) {
  return state_->listeners.add(std::move(listener));
}

}  // namespace assay::platform
