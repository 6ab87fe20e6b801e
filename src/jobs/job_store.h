#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"
#include "jobs/fair_share.h"
#include "jobs/job_state.h"
#include "jobs/submission.h"

namespace assay::jobs {

struct NewJob {
  Submission submission{};  ///< without problems
  std::string owner{};
  std::string team{};
  bool needs_approval = false;
  /// Chosen by the client: the same one again, from the same owner, is the same request and gives
  /// the same jobs, so that an answer that got lost can be asked for again. Empty: none.
  std::string request_key{};
  std::string code{};    ///< the upload that it works in; empty: none
  Nanoseconds grace{0};  ///< that its suite gives; 0: it does not say
};

struct Job {
  JobId id = 0;
  std::string owner{};
  std::string team{};
  JobId array = 0;  ///< the first element's id; 0: not of an array
  std::optional<int> array_index{};
  Submission submission{};
  Life life{};
  std::string code{};
};

struct JobOwner {
  std::string owner{};
  std::string team{};
};

/// What an attempt has used.
struct AttemptUse {
  JobId job = 0;
  int attempt = 0;
  std::string user{};
  std::string team{};
  std::string device_type{};  ///< empty: not known
  int devices = 0;
  WallTime from_ns = 0;
  WallTime to_ns = 0;
  double idle_device_s = 0;  ///< of its devices together, as far as it was measured
  double energy_j = 0;
  double watched_device_s = 0;  ///< in which it is known whether its devices were idle
};

/// That a job has ended, for somebody outside who has not been told yet.
struct Notice {
  std::int64_t number = 0;  ///< grows with each
  JobId job = 0;
  std::string name{};
  std::string owner{};
  std::string team{};
  State state = State::finished;
  Cause cause = Cause::none;
  Verdict verdict = Verdict::none;
  WallTime at_ns = 0;
  std::string words{};  ///< of the event that ended it
};

struct TimelineEntry {
  WallTime at_ns = 0;
  EventKind event = EventKind::submitted;
  State from = State::queued;
  State to = State::queued;
  int attempt = 0;
  std::string who{};
  std::string words{};
};

enum class JobOrder { submitted, started, ended, name, owner, priority, devices, state, ran };

constexpr auto enum_names(JobOrder) {
  using enum JobOrder;
  return std::to_array<EnumName<JobOrder>>({{submitted, "submitted"},
                                            {started, "started"},
                                            {ended, "ended"},
                                            {name, "name"},
                                            {owner, "owner"},
                                            {priority, "priority"},
                                            {devices, "devices"},
                                            {state, "state"},
                                            {ran, "ran"}});
}

/// Which jobs of all, in what order. Empty fields do not limit.
struct JobFilter {
  std::vector<State> states{};
  std::string owner{};
  std::string team{};
  std::string queue{};
  JobId array = 0;  ///< elements of this array
  /// Of an array one row: that of the first of its elements that match, with JobRow::all.
  bool arrays_as_one = false;
  std::string search{};  ///< in the name, ASCII letters without case; or a job's number
  JobOrder order = JobOrder::submitted;
  bool descending = true;
  WallTime now_ns = 0;  ///< until when a job has run that runs still; of the order ran
  std::int64_t offset = 0;
  std::int64_t limit = 50;  ///< at most kMaxPage
};
inline constexpr std::int64_t kMaxPage = 1000;

/// How the elements of an array stand, all of them.
struct ArrayStanding {
  JobId first = 0;
  JobId last = 0;
  std::int64_t elements = 0;
  std::map<State, std::int64_t> states{};
  std::map<Verdict, std::int64_t> verdicts{};  ///< of those that have one
};

/// A line of a list.
struct JobRow {
  JobId id = 0;
  std::string name{};
  std::string owner{};
  std::string team{};
  std::string queue{};
  int priority = 0;
  State state = State::queued;
  int devices = 0;  ///< in all
  std::string device_type{};
  Verdict verdict = Verdict::none;
  WallTime submitted_ns = 0;
  WallTime started_ns = 0;
  WallTime ended_ns = 0;
  JobId array = 0;
  std::optional<int> array_index{};
  std::int64_t ran_ns = 0;             ///< as Life::ran_ns
  std::optional<ArrayStanding> all{};  ///< where the row stands for a whole array
};

/// One of an array.
struct ArrayElement {
  JobId id = 0;
  int index = 0;
  State state = State::queued;
};

struct JobPage {
  std::vector<JobRow> rows{};
  std::int64_t total = 0;  ///< that match, on all pages
};

/// All jobs, in one SQLite file. What a call has changed is on the disk when it returns, and only
/// then may anybody act on it: an action that was lost with the process comes back with the events
/// `found` and `not_found`. Errors are of kind environment. Not thread-safe.
class JobStore {
 public:
  explicit JobStore(const std::filesystem::path& file);

  /// Numbers up to this one are not given to new jobs.
  void skip_numbers(JobId last);

  /// One job, or all elements of its array, or nothing at all.
  [[nodiscard]] std::vector<JobId> submit(const NewJob& job, WallTime now_ns);
  /// Takes an event as jobs::apply does. Throws Error of kind usage for a job that there is not.
  [[nodiscard]] Change apply(JobId id, const Event& event, WallTime now_ns);
  /// The same for many, of which a job that there is not takes nothing: all is on the disk at once.
  [[nodiscard]] std::vector<Change> apply_all(const std::vector<JobId>& ids, const Event& event,
                                              WallTime now_ns);
  /// As jobs::clock_was_set, for all jobs that have not ended.
  void clock_was_set(Nanoseconds by);

  /// Whether submit() would give jobs again that there are.
  [[nodiscard]] bool knows_request(const std::string& owner, const std::string& key);
  [[nodiscard]] std::optional<Job> find(JobId id);
  [[nodiscard]] std::optional<State> state_of(JobId id);
  /// Of those that there are.
  [[nodiscard]] std::map<JobId, JobOwner> owners(const std::vector<JobId>& ids);
  /// A job that comes after this one (Submission::after) and has not ended; nothing: none does.
  [[nodiscard]] std::optional<JobId> unfinished_after(JobId id);
  /// By their ids.
  [[nodiscard]] std::vector<Job> unfinished();
  /// Of them those that hold nodes.
  [[nodiscard]] std::vector<Job> holding_nodes();
  [[nodiscard]] std::vector<TimelineEntry> timeline(JobId id);
  [[nodiscard]] JobPage list(const JobFilter& filter);
  /// Of the array whose first element had this number; by their ids.
  [[nodiscard]] std::vector<ArrayElement> elements(JobId array);
  /// Throw Error of kind usage for a job that there is not.
  void change_priority(JobId id, int priority);
  void rename(JobId id, const std::string& name);
  /// Everything but what it has used, which still counts.
  void remove(JobId id);

  /// Who is to be told of the jobs that end from now on. What others had not been told is dropped.
  void tell(const std::vector<std::string>& listeners);
  /// What a listener has not been told, of numbers above `after`, the oldest first.
  [[nodiscard]] std::vector<Notice> notices(const std::string& listener, std::int64_t limit,
                                            std::int64_t after = 0);
  void told(std::int64_t number);

  /// What was measured of an attempt that has ended. Nothing happens where it has used nothing.
  void measure(const AttemptUse& use);
  [[nodiscard]] std::optional<AttemptUse> use_of(JobId job, int attempt);
  /// What ended in [from, to), in order.
  [[nodiscard]] std::vector<AttemptUse> uses(WallTime from_ns, WallTime to_ns);
  /// From what all attempts have used.
  [[nodiscard]] FairShare fair_share(Nanoseconds half_life, WallTime now_ns);

 private:
  /// What is the same for all elements of an array, which may be thousands.
  struct NewRows {
    database::Statement job;
    database::Statement details;
    database::Statement event;
    database::Statement dependency;
    std::string submission;
    std::string life;
  };
  struct Known {
    std::pair<std::string, Submission> submission{};
    std::pair<std::string, Life> life{};
  };

  [[nodiscard]] JobId insert(const NewJob& job, const Life& life, NewRows& rows, JobId array,
                             std::optional<int> index);
  /// apply() within a transaction.
  [[nodiscard]] Change apply_one(Job job, const Event& event, WallTime now_ns);
  static void write_event(database::Statement& add, JobId id, const Event& event,
                          const Change& change, int attempt, WallTime now_ns);
  void write_submission(JobId id, const Submission& submission);
  /// Of rows that each stand for an array.
  void add_standings(std::vector<JobRow>& rows);
  /// In a state of which `wanted` is true, by their ids.
  [[nodiscard]] std::vector<Job> in_states(bool (*wanted)(State));
  /// `known`: what was read last, which is not read again.
  [[nodiscard]] Job job_of(const database::Statement& row, Known* known = nullptr) const;

  database::Database database_;
  std::vector<std::string> listeners_;
};

/// What of a submission decides about the job's life.
[[nodiscard]] Policy policy_of(const Submission& submission);

/// What a queued job asks of the cluster; `default_time` is its queue's. Dependencies are for the
/// caller to fill in.
[[nodiscard]] Request request_of(const Job& job, Nanoseconds default_time);

}  // namespace assay::jobs
