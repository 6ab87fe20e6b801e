#include "jobs/job_store.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json_fields.h"
#include "database/migrate.h"
#include "jobs/job_array.h"
#include "jobs/stored_words.h"

namespace assay::jobs {

namespace {

using database::Statement;
using database::Transaction;

// What lists show is apart from what is long, so that a list of 100,000 jobs is read quickly.
constexpr std::array<std::string_view, 6> kSchema{R"(
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  team TEXT NOT NULL,
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  state TEXT NOT NULL,
  devices INTEGER NOT NULL,
  device_type TEXT NOT NULL,
  verdict TEXT NOT NULL,
  submitted_ns INTEGER NOT NULL,
  started_ns INTEGER NOT NULL,
  ended_ns INTEGER NOT NULL,
  array INTEGER NOT NULL,
  array_index INTEGER,
  request_key TEXT
);
CREATE INDEX jobs_by_time ON jobs (submitted_ns, id);
CREATE INDEX jobs_by_state ON jobs (state, submitted_ns, id);
CREATE INDEX jobs_by_owner ON jobs (owner, submitted_ns, id);
CREATE INDEX jobs_by_team ON jobs (team, submitted_ns, id);
CREATE INDEX jobs_by_name ON jobs (name, id);
CREATE INDEX jobs_by_start ON jobs (started_ns, id);
CREATE INDEX jobs_by_end ON jobs (ended_ns, id);
CREATE INDEX jobs_by_key ON jobs (owner, request_key) WHERE request_key IS NOT NULL;
CREATE TABLE details (
  job INTEGER PRIMARY KEY REFERENCES jobs (id),
  submission TEXT NOT NULL,
  life TEXT NOT NULL
);
CREATE TABLE timeline (
  job INTEGER NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  event TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  who TEXT NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE TABLE usage (
  job INTEGER NOT NULL REFERENCES jobs (id),
  attempt INTEGER NOT NULL,
  team TEXT NOT NULL,
  owner TEXT NOT NULL,
  devices INTEGER NOT NULL,
  from_ns INTEGER NOT NULL,
  to_ns INTEGER NOT NULL,
  PRIMARY KEY (job, attempt)
) WITHOUT ROWID;
CREATE INDEX usage_by_end ON usage (to_ns);
)",
                                                  // What was used outlives its job.
                                                  R"(
ALTER TABLE details ADD COLUMN code TEXT NOT NULL DEFAULT '';
CREATE TABLE uses (
  job INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  team TEXT NOT NULL,
  owner TEXT NOT NULL,
  devices INTEGER NOT NULL,
  from_ns INTEGER NOT NULL,
  to_ns INTEGER NOT NULL,
  device_type TEXT NOT NULL,
  idle_device_s REAL NOT NULL DEFAULT 0,
  energy_j REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (job, attempt)
) WITHOUT ROWID;
INSERT INTO uses SELECT job, attempt, usage.team, usage.owner, usage.devices, from_ns, to_ns,
  device_type, 0, 0 FROM usage JOIN jobs ON jobs.id = usage.job;
DROP TABLE usage;
ALTER TABLE uses RENAME TO usage;
CREATE INDEX usage_by_end ON usage (to_ns);
)",
                                                  R"(
CREATE TABLE notices (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  listener TEXT NOT NULL,
  job INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  state TEXT NOT NULL,
  words TEXT NOT NULL
);
CREATE INDEX notices_by_listener ON notices (listener, number);
)",
                                                  // Of submissions, where it could only be found by
                                                  // reading all of them.
                                                  R"(
CREATE TABLE dependencies (
  first INTEGER NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (first, job)
) WITHOUT ROWID;
CREATE INDEX dependencies_by_job ON dependencies (job);
INSERT OR IGNORE INTO dependencies SELECT each.value, details.job FROM details,
  json_each(CASE WHEN json_valid(submission) THEN submission ELSE '{}' END, '$.after') AS each;
)",
                                                  // What was idle was watched; of the rest nobody
                                                  // wrote down whether it was.
                                                  R"(
ALTER TABLE usage ADD COLUMN watched_device_s REAL NOT NULL DEFAULT 0;
UPDATE usage SET watched_device_s = devices * (to_ns - from_ns) / 1e9
  WHERE idle_device_s > 0 OR energy_j > 0;
)",
                                                  // All that a list asks of elements, so that it
                                                  // need not look at the table.
                                                  R"(
CREATE INDEX jobs_by_array ON jobs (array, state, verdict, owner, team, queue, id)
  WHERE array <> 0;
)"};

constexpr const char* kSelectJob =
    "SELECT id, owner, team, array, array_index, submission, life, code FROM jobs "
    "JOIN details ON details.job = jobs.id ";

constexpr const char* kInsertEvent =
    "INSERT INTO timeline (job, number, at_ns, event, from_state, to_state, attempt, who, words)"
    " SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
    " FROM timeline WHERE job = ?1";

Error no_such_job(JobId id) {
  return {ErrorKind::usage, fmt::format("there is no job {}", id)};
}

std::string text_of(State state) {
  return std::string(to_text(state));
}

}  // namespace

JobStore::JobStore(const std::filesystem::path& file)
    : database_(file, {.wait = database::kWaitOfServers}) {
  database::migrate(database_, kSchema);
}

void JobStore::skip_numbers(JobId last) {
  Transaction transaction(database_);
  Statement query = database_.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'");
  const bool any = query.step();
  const bool enough = any && query.number(0) >= last;
  query.reset();
  if (enough) return;
  database_
      .prepare(any ? "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'jobs'"
                   : "INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?1)")
      .bind(1, last)
      .run();
  transaction.commit();
}

std::vector<JobId> JobStore::submit(const NewJob& job, WallTime now_ns) {
  Transaction transaction(database_);
  std::vector<JobId> ids;
  const std::string submission = dump_line(fields_to_json(job.submission));
  if (!job.request_key.empty()) {
    Statement earlier = database_.prepare(
        "SELECT id, submission FROM jobs JOIN details ON details.job = jobs.id"
        " WHERE owner = ? AND request_key = ? ORDER BY id");
    earlier.bind(1, job.owner).bind(2, job.request_key);
    while (earlier.step()) {
      ids.push_back(earlier.number(0));
      if (earlier.text(1) != submission)
        throw Error(ErrorKind::usage, "the request has the key of another one, which made job " +
                                          std::to_string(ids.front()));
    }
    if (!ids.empty()) return ids;
  }
  Life life = born(job.needs_approval, now_ns);
  life.grace_ns = std::min(job.grace, kMaxGrace).count();
  NewRows rows{
      database_.prepare("INSERT INTO jobs (name, owner, team, queue, priority, state, devices,"
                        " device_type, verdict, submitted_ns, started_ns, ended_ns, array,"
                        " array_index, request_key)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?) RETURNING id"),
      database_.prepare("INSERT INTO details (job, submission, life, code) VALUES (?, ?, ?, ?)"),
      database_.prepare(kInsertEvent),
      database_.prepare("INSERT OR IGNORE INTO dependencies (first, job) VALUES (?, ?)"),
      submission,
      dump_line(fields_to_json(life))};
  if (job.submission.array.empty()) {
    ids.push_back(insert(job, life, rows, 0, std::nullopt));
  } else {
    const auto range = parse_array(job.submission.array);
    if (!range) throw Error(ErrorKind::usage, "not a valid array: '" + job.submission.array + "'");
    for (const int index : range->indices)
      ids.push_back(insert(job, life, rows, ids.empty() ? 0 : ids.front(), index));
    database_.prepare("UPDATE jobs SET array = ?1 WHERE id = ?1").bind(1, ids.front()).run();
  }
  transaction.commit();
  return ids;
}

JobId JobStore::insert(const NewJob& job, const Life& life, NewRows& rows, JobId array,
                       std::optional<int> index) {
  const Submission& submission = job.submission;
  Statement& add = rows.job;
  add.reset();
  add.bind(1, submission.name).bind(2, job.owner).bind(3, job.team).bind(4, submission.queue);
  add.bind(5, std::int64_t{submission.priority.value_or(kDefaultPriority)});
  add.bind(6, text_of(life.state));
  add.bind(7, std::int64_t{submission.nodes} * devices_per_node(submission));
  add.bind(8, submission.device_type).bind(9, to_text(life.verdict)).bind(10, life.submitted_ns);
  add.bind(11, array);
  if (index)
    add.bind(12, std::int64_t{*index});
  else
    add.bind_null(12);
  if (job.request_key.empty())
    add.bind_null(13);
  else
    add.bind(13, job.request_key);
  if (!add.step()) throw Error(ErrorKind::internal, "the database has not given the job a number");
  const JobId id = add.number(0);
  add.run();
  rows.details.reset();
  rows.details.bind(1, id).bind(2, rows.submission).bind(3, rows.life).bind(4, job.code).run();
  for (const JobId first : submission.after) {
    rows.dependency.reset();
    rows.dependency.bind(1, first).bind(2, id).run();
  }
  Event event;
  event.kind = EventKind::submitted;
  event.who = job.owner;
  rows.event.reset();
  write_event(rows.event, id, event, {true, life.state, life.state, {}, "submitted"}, 0,
              life.submitted_ns);
  return id;
}

void JobStore::write_event(Statement& add, JobId id, const Event& event, const Change& change,
                           int attempt, WallTime now_ns) {
  add.bind(1, id).bind(2, now_ns).bind(3, to_text(event.kind)).bind(4, to_text(change.from));
  add.bind(5, to_text(change.to)).bind(6, std::int64_t{attempt}).bind(7, event.who);
  add.bind(8, change.words).run();
}

Change JobStore::apply(JobId id, const Event& event, WallTime now_ns) {
  Transaction transaction(database_);
  std::optional<Job> job = find(id);
  if (!job) throw no_such_job(id);
  Change change = apply_one(*std::move(job), event, now_ns);
  transaction.commit();
  return change;
}

std::vector<Change> JobStore::apply_all(const std::vector<JobId>& ids, const Event& event,
                                        WallTime now_ns) {
  Transaction transaction(database_);
  std::vector<Change> out;
  for (const JobId id : ids) {
    std::optional<Job> job = find(id);
    if (job) {
      out.push_back(apply_one(*std::move(job), event, now_ns));
    } else {
      out.emplace_back();
      out.back().words = no_such_job(id).message();
    }
  }
  transaction.commit();
  return out;
}

std::map<JobId, JobOwner> JobStore::owners(const std::vector<JobId>& ids) {
  std::map<JobId, JobOwner> out;
  for (const JobId id : ids) {
    Statement query = database_.prepare("SELECT owner, team FROM jobs WHERE id = ?");
    query.bind(1, id);
    if (query.step()) out[id] = {query.text(0), query.text(1)};
  }
  return out;
}

Change JobStore::apply_one(Job job, const Event& event, WallTime now_ns) {
  const JobId id = job.id;
  Change change = jobs::apply(job.life, policy_of(job.submission), event, now_ns);
  if (!change.taken) return change;
  const Life& life = job.life;
  Statement list = database_.prepare(
      "UPDATE jobs SET state = ?2, verdict = ?3, started_ns = ?4, ended_ns = ?5 WHERE id = ?1");
  list.bind(1, id).bind(2, to_text(life.state)).bind(3, to_text(life.verdict));
  list.bind(4, life.started_ns).bind(5, life.ended_ns).run();
  database_.prepare("UPDATE details SET life = ?2 WHERE job = ?1")
      .bind(1, id)
      .bind(2, dump_line(fields_to_json(life)))
      .run();
  Statement add = database_.prepare(kInsertEvent);
  write_event(add, id, event, change, life.attempt, change.at_ns);
  if (is_final(change.to) && !is_final(change.from))
    for (const std::string& listener : listeners_)
      database_
          .prepare(
              "INSERT INTO notices (listener, job, at_ns, state, words) VALUES (?, ?, ?, ?, ?)")
          .bind(1, listener)
          .bind(2, id)
          .bind(3, now_ns)
          .bind(4, to_text(change.to))
          .bind(5, change.words)
          .run();
  if (change.released() && life.started_ns != 0) {
    std::int64_t devices = 0;
    for (const NodeShare& share : life.placement) devices += share.devices;
    Statement used = database_.prepare(
        "INSERT OR REPLACE INTO usage"
        " (job, attempt, team, owner, devices, from_ns, to_ns, device_type)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    used.bind(1, id).bind(2, std::int64_t{life.attempt}).bind(3, job.team).bind(4, job.owner);
    used.bind(5, devices).bind(6, life.started_ns);
    used.bind(7, std::max(change.at_ns, life.started_ns)).bind(8, job.submission.device_type).run();
  }
  return change;
}

void JobStore::clock_was_set(Nanoseconds by) {
  Transaction transaction(database_);
  Statement life = database_.prepare("UPDATE details SET life = ?2 WHERE job = ?1");
  Statement list = database_.prepare("UPDATE jobs SET started_ns = ?2 WHERE id = ?1");
  for (Job& job : unfinished()) {
    jobs::clock_was_set(job.life, by);
    life.reset();
    life.bind(1, job.id).bind(2, dump_line(fields_to_json(job.life))).run();
    list.reset();
    list.bind(1, job.id).bind(2, job.life.started_ns).run();
  }
  transaction.commit();
}

Job JobStore::job_of(const Statement& row, Known* known) const {
  Job job;
  job.id = row.number(0);
  job.owner = row.text(1);
  job.team = row.text(2);
  job.array = row.number(3);
  if (!row.is_null(4)) job.array_index = static_cast<int>(row.number(4));
  const std::string where = fmt::format("job {}", job.id);
  const auto read = [&](int column, const char* what, auto* last, auto& to) {
    std::string text = row.text(column);
    if (last != nullptr && last->first == text) {
      to = last->second;
      return;
    }
    to = read_stored<std::remove_reference_t<decltype(to)>>(text, where + what);
    if (last != nullptr) *last = {std::move(text), to};
  };
  read(5, ": submission", known == nullptr ? nullptr : &known->submission, job.submission);
  read(6, ": life", known == nullptr ? nullptr : &known->life, job.life);
  job.code = row.text(7);
  return job;
}

std::optional<Job> JobStore::find(JobId id) {
  Statement query = database_.prepare(std::string(kSelectJob) + "WHERE id = ?");
  query.bind(1, id);
  if (!query.step()) return std::nullopt;
  return job_of(query);
}

bool JobStore::knows_request(const std::string& owner, const std::string& key) {
  if (key.empty()) return false;
  Statement query =
      database_.prepare("SELECT 1 FROM jobs WHERE owner = ? AND request_key = ? LIMIT 1");
  query.bind(1, owner).bind(2, key);
  return query.step();
}

std::optional<State> JobStore::state_of(JobId id) {
  Statement query = database_.prepare("SELECT state FROM jobs WHERE id = ?");
  query.bind(1, id);
  if (!query.step()) return std::nullopt;
  return word_of<State>(query.text(0));
}

std::optional<JobId> JobStore::unfinished_after(JobId id) {
  Statement query = database_.prepare(
      "SELECT jobs.id, state FROM dependencies JOIN jobs ON jobs.id = dependencies.job"
      " WHERE first = ? ORDER BY jobs.id");
  query.bind(1, id);
  while (query.step())
    if (!is_final(word_of<State>(query.text(1)))) return query.number(0);
  return std::nullopt;
}

std::vector<Job> JobStore::unfinished() {
  return in_states([](State state) { return !is_final(state); });
}

std::vector<Job> JobStore::holding_nodes() {
  return in_states([](State state) { return holds_nodes(state); });
}

std::vector<Job> JobStore::in_states(bool (*wanted)(State)) {
  std::string states;
  for (const State state : enum_values<State>())
    if (wanted(state)) states += (states.empty() ? "'" : ", '") + text_of(state) + "'";
  Statement query =
      database_.prepare(std::string(kSelectJob) + "WHERE state IN (" + states + ") ORDER BY id");
  std::vector<Job> out;
  Known known;  // the elements of an array have one submission, and while they wait one life
  while (query.step()) out.push_back(job_of(query, &known));
  return out;
}

std::vector<TimelineEntry> JobStore::timeline(JobId id) {
  Statement query = database_.prepare(
      "SELECT at_ns, event, from_state, to_state, attempt, who, words FROM timeline"
      " WHERE job = ? ORDER BY number");
  query.bind(1, id);
  std::vector<TimelineEntry> out;
  while (query.step())
    out.push_back({query.number(0), word_of<EventKind>(query.text(1)),
                   word_of<State>(query.text(2)), word_of<State>(query.text(3)),
                   static_cast<int>(query.number(4)), query.text(5), query.text(6)});
  return out;
}

void JobStore::change_priority(JobId id, int priority) {
  Transaction transaction(database_);
  std::optional<Job> job = find(id);
  if (!job) throw no_such_job(id);
  job->submission.priority = priority;
  write_submission(id, job->submission);
  database_.prepare("UPDATE jobs SET priority = ?2 WHERE id = ?1")
      .bind(1, id)
      .bind(2, std::int64_t{priority})
      .run();
  transaction.commit();
}

void JobStore::rename(JobId id, const std::string& name) {
  Transaction transaction(database_);
  std::optional<Job> job = find(id);
  if (!job) throw no_such_job(id);
  job->submission.name = name;
  write_submission(id, job->submission);
  database_.prepare("UPDATE jobs SET name = ?2 WHERE id = ?1").bind(1, id).bind(2, name).run();
  transaction.commit();
}

void JobStore::write_submission(JobId id, const Submission& submission) {
  database_.prepare("UPDATE details SET submission = ?2 WHERE job = ?1")
      .bind(1, id)
      .bind(2, dump_line(fields_to_json(submission)))
      .run();
}

void JobStore::remove(JobId id) {
  Transaction transaction(database_);
  if (!state_of(id)) throw no_such_job(id);
  for (const char* sql :
       {"DELETE FROM timeline WHERE job = ?", "DELETE FROM dependencies WHERE job = ?",
        "DELETE FROM details WHERE job = ?", "DELETE FROM jobs WHERE id = ?"})
    database_.prepare(sql).bind(1, id).run();
  transaction.commit();
}

Policy policy_of(const Submission& submission) {
  return {.preemptible = submission.preemptible, .retries = submission.retries};
}

Request request_of(const Job& job, Nanoseconds default_time) {
  const Submission& submission = job.submission;
  Request request;
  request.id = job.id;
  request.user = job.owner;
  request.team = job.team;
  request.queue = submission.queue;
  request.priority = submission.priority.value_or(kDefaultPriority);
  request.waiting_since_ns = job.life.waiting_since_ns;
  request.not_before_ns = job.life.not_before_ns;
  request.nodes = submission.nodes;
  request.devices = devices_per_node(submission);
  request.device_type = submission.device_type;
  request.whole_nodes = submission.whole_nodes;
  // Of the time that it may run in all.
  request.time = Nanoseconds(std::max<std::int64_t>(
      1, (submission.time ? submission.time->value : default_time).count() - job.life.ran_ns));
  request.preemptible = submission.preemptible;
  request.array = job.array;
  request.array_limit = array_limit(submission.array);
  return request;
}

}  // namespace assay::jobs
