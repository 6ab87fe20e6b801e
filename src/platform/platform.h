#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "jobs/job_store.h"
#include "jobs/pending.h"
#include "jobs/scheduler.h"
#include "platform/clock_watch.h"
#include "platform/job_retention.h"
#include "platform/usage_table.h"

namespace assay::platform {

/// What is done about jobs whose devices do nothing. Devices that are not measured (processors)
/// are never idle.
struct IdlePolicy {
  std::int64_t warn_s = 0;  ///< after so many seconds the owner is told; 0: nobody is ever
  std::int64_t stop_s = 0;  ///< after so many, and a warning, the job is stopped; 0: never

  static void fields(auto& self, auto&& field) {
    field.optional("warn_s", self.warn_s);
    field.optional("stop_s", self.stop_s);
  }
};

/// What an administrator decides about the cluster: kept in DATA/cluster.json.
struct Settings {
  std::vector<jobs::Queue> queues{};  ///< "default" is always one of them
  std::vector<jobs::Team> teams{};
  std::vector<jobs::Reservation> reservations{};
  IdlePolicy idle{};
  RetentionPolicy retention{};
};

struct Options {
  std::filesystem::path data{};  ///< jobs.db, cluster.json, jobs/ID/attempt-N/
  jobs::SchedulerOptions scheduler{};
  Nanoseconds default_time = std::chrono::hours(24);   ///< that a job may run which asks for none
  Nanoseconds half_life = std::chrono::hours(7 * 24);  ///< of what counts for the fair share
  /// The folder of an upload (NewJob::code), read-only. Called from the platform's thread; throws
  /// Error where there is none.
  std::function<std::filesystem::path(const std::string&)> code{};
  /// A secret that a submission names: of the job's owner, or of its team. Called from the
  /// platform's thread, too; throws Error where there is none.
  std::function<std::string(const std::string& owner, const std::string& team,
                            const std::string& name)>
      secret{};
  /// Why no job of that owner, in that team, starts now; nothing: they may. Called from several
  /// threads, without a lock of the platform's that its answer could need.
  std::function<std::optional<jobs::PendingKind>(const std::string& owner, const std::string& team)>
      barred{};
  std::vector<std::string> listeners{};  ///< outside, who are told of jobs that have ended
  std::function<Clocks()> clocks = read_clocks;
};

/// A submission that cannot be taken. Of kind usage.
class Refused : public Error {
 public:
  explicit Refused(std::vector<jobs::Problem> problems);
  [[nodiscard]] const std::vector<jobs::Problem>& problems() const noexcept { return problems_; }

 private:
  std::vector<jobs::Problem> problems_;
};

/// Where a job stands: what its record says, and what the last decision says about it.
struct JobView {
  jobs::Job job{};
  std::optional<jobs::Pending> pending{};  ///< why it does not run; nothing: it does, or has ended
  int place = 0;                           ///< in line, from 1; 0: not in line
  std::optional<jobs::WallTime> estimated_start_ns{};
};

/// What would happen to a submission.
struct Preview {
  std::vector<jobs::Problem> problems{};  ///< with any, nothing else is known
  std::string suite{};                    ///< that would be run, as YAML
  std::string plan{};                     ///< as `assay run --dry-run` shows it
  int elements = 0;                       ///< of an array; 0: it is none
  int at_once = 0;                        ///< elements that may run at a time; 0: any number
  jobs::Placement placement{};            ///< if it started now; empty: it would wait
  std::optional<Nanoseconds>
      time{};  ///< that it may run; nothing: the cluster's own scheduler says
  std::optional<jobs::Pending> pending{};
  int place = 0;
  std::optional<jobs::WallTime> estimated_start_ns{};
};

struct NodeView {
  jobs::ClusterNode node{};  ///< available: as it counts for the scheduler
  bool drained = false;
  std::string drained_by{};
  std::string reason{};
  bool lost = false;    ///< the engine cannot reach it
  std::string state{};  ///< in the word of the engine's scheduler; empty: it has none
  struct Use {
    jobs::JobId job = 0;
    std::string owner{};
    int devices = 0;
    std::vector<int> indices{};  ///< which devices; empty: not known
  };
  std::vector<Use> uses{};
};

/// A job has changed.
struct JobEvent {
  jobs::JobId id = 0;
  std::string owner{};
  std::string team{};
  jobs::State state = jobs::State::queued;
  jobs::EventKind event = jobs::EventKind::submitted;
  jobs::WallTime at_ns = 0;
  std::string words{};
};

/// The platform without its doors: takes submissions, decides who runs, has the engine run it and
/// keeps the records. It checks what is possible, not who may: that is for who calls it.
///
/// Thread-safe. Nothing is lost with the process: what was answered is on the disk, and a new one
/// on the same folder goes on. Throws Error: kind usage for what cannot be done, environment when
/// the disk fails.
class Platform {
 public:
  Platform(Options options, std::unique_ptr<engine::Engine> engine);
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  /// Jobs that run go on.
  ~Platform();

  /// For people, of jobs of the original.
  struct CopyWords {
    std::string ran{};    ///< why one that ran is over
    std::string waits{};  ///< why one that waited is paused
  };
  struct Copied {
    std::size_t lost = 0;               ///< that ran
    std::vector<jobs::JobId> paused{};  ///< that waited
  };
  /// Before start(), where the folder is a copy of another one (folder_identity.h) that was made at
  /// that moment (0: not known). What ran then is the original's: here it is an error of the
  /// engine, and nobody looks for its processes. With `hold`, what waits is paused.
  Copied begin_as_copy(const CopyWords& words, jobs::WallTime at_ns, bool hold);

  /// Recalls what ran before, and begins to decide.
  void start();

  /// The suite that a submission runs.
  [[nodiscard]] std::string suite_of(const jobs::Submission& submission) const;
  [[nodiscard]] Preview preview(const jobs::NewJob& job);
  /// Throws Refused. Where the job's queue wants approval, it needs that in any case.
  [[nodiscard]] std::vector<jobs::JobId> submit(const jobs::NewJob& job);
  /// approved, rejected, pause_asked, resume_asked or kill_asked. What does not fit the state is
  /// Error of kind usage with the state machine's words.
  jobs::Change ask(jobs::JobId id, jobs::EventKind what, const std::string& who);
  /// The same of many, in order, for about as long as `limit`: a refusal of one does not affect the
  /// others.
  struct Asked {
    struct One {
      jobs::JobId id = 0;
      bool taken = false;
      jobs::State state = jobs::State::queued;  ///< of one that was taken
      std::string words{};                      ///< why one was not
    };
    std::vector<One> all{};  ///< fewer than were asked for, where the time was up
  };
  [[nodiscard]] Asked ask_all(const std::vector<jobs::JobId>& ids, jobs::EventKind what,
                              const std::string& who, Nanoseconds limit);
  /// Whose jobs these are, of those that there are.
  [[nodiscard]] std::map<jobs::JobId, jobs::JobOwner> owners(const std::vector<jobs::JobId>& ids);
  /// Of a job that has not started. Throws Error of kind usage else.
  void change_priority(jobs::JobId id, int priority);
  void rename(jobs::JobId id, const std::string& name);
  /// The record and its runs, of a job that has ended. Both or, with an Error, none of them. What
  /// of the runs cannot be deleted now is nobody's any more, and tried again by remove_old() and by
  /// the next server.
  void remove(jobs::JobId id);

  /// Until when what a job that ended then leaves behind is kept.
  [[nodiscard]] KeptUntil kept_until(jobs::WallTime ended_ns);
  /// When a job's logs were removed, in ISO 8601; empty: they were not.
  [[nodiscard]] std::string logs_removed_at(jobs::JobId id);
  /// Removes what the settings say that is kept no longer, and what earlier removals have left;
  /// with `only_count` says what would be removed. What cannot be removed is tried again the next
  /// time, and so is what comes after `stop` was true.
  Removal remove_old(jobs::WallTime now_ns, bool only_count,
                     const std::function<bool()>& stop = {});

  /// What would be removed then if this were the policy; looks for `limit` at most.
  [[nodiscard]] RemovalAhead would_remove(const RetentionPolicy& policy, jobs::WallTime now_ns,
                                          std::size_t named, Nanoseconds limit);

  [[nodiscard]] std::optional<JobView> find(jobs::JobId id);
  [[nodiscard]] jobs::JobPage list(const jobs::JobFilter& filter);
  [[nodiscard]] std::vector<jobs::ArrayElement> elements(jobs::JobId array);
  /// What the last decision says about a job in line; nothing: it is not. Cheap.
  [[nodiscard]] std::optional<jobs::Decision::Waiting> waits(jobs::JobId id);
  [[nodiscard]] std::vector<jobs::TimelineEntry> timeline(jobs::JobId id);
  /// The run directory of an attempt (0: the last one); empty where it has none yet.
  [[nodiscard]] std::filesystem::path run_of(jobs::JobId id, int attempt = 0);

  /// The way into a job that runs, on a node as its run's journal names it (engine::Engine).
  [[nodiscard]] engine::Way enter(jobs::JobId id, const std::string& node,
                                  const std::vector<std::string>& args);

  [[nodiscard]] std::vector<NodeView> nodes();
  /// Why what is said of nodes and jobs may be out of date; empty: it is not.
  [[nodiscard]] std::string trouble();
  /// Jobs that the engine's scheduler has from elsewhere.
  [[nodiscard]] std::vector<engine::OtherJob> others();
  /// All that jobs can be submitted to: those of the settings, and those of the engine's scheduler.
  [[nodiscard]] std::vector<jobs::Queue> queues();
  void drain(const std::string& node, const std::string& reason, const std::string& who);
  void undrain(const std::string& node);
  [[nodiscard]] Settings settings();
  void change_settings(const Settings& settings);
  /// What Options::barred says has changed: whose jobs may start again need not wait.
  void reconsider();
  /// What ended between two moments, and what runs up to now, by user, team, month and type of
  /// device.
  [[nodiscard]] std::vector<UsageRow> usage(jobs::WallTime from_ns, jobs::WallTime to_ns);

  /// What a listener of Options::listeners has not been told, of numbers above `after`, the oldest
  /// first. It is kept with the jobs, so that nothing is lost with the process, until told() takes
  /// it off the list.
  [[nodiscard]] std::vector<jobs::Notice> notices(const std::string& listener, std::int64_t limit,
                                                  std::int64_t after = 0);
  void told(std::int64_t number);

  /// Called for every change, from the platform's thread; must not block, nor call back. Ends with
  /// what it returns, which waits for a call that is under way, and must not go within one.
  [[nodiscard]] std::shared_ptr<void> subscribe(std::function<void(const JobEvent&)> listener);

 private:
  struct State;
  [[nodiscard]] std::vector<jobs::Problem> check(const jobs::NewJob& job);
  /// Adds those of a submission's secrets that cannot be had. Without the mutex.
  void check_secrets(const jobs::NewJob& job, std::vector<jobs::Problem>& problems) const;
  /// Adds what is wrong with the suite, or does not fit what the job asks for.
  [[nodiscard]] engine::Planned plan(const jobs::NewJob& job, const jobs::Placement& placement,
                                     std::vector<jobs::Problem>& problems);
  /// Goes over what is kept no longer, those that ended first, until `visit(row, all)` says so;
  /// `all`: the job goes, else its logs.
  enum class Visited { stays, gone, stop };
  void visit_old(const std::function<RetentionPolicy()>& policy, jobs::WallTime now_ns,
                 const std::function<Visited(const jobs::JobRow& row, bool all)>& visit);
  std::unique_ptr<State> state_;
};

}  // namespace assay::platform
