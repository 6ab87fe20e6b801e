#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/sync.h"
#include "core/error.h"
#include "launch/cloud/cloud_job_state.h"
#include "launch/cloud/cloud_service.h"
#include "launch/cloud/start_clock.h"
#include "launch/observer.h"
#include "perflog/progress.h"
#include "plan/launchers/job_service_options.h"
#include "plan/plan.h"
#include "store/journal_event.h"

namespace assay::launch {

/// The mind of a round that is a job of a service: what becomes of each answer and each silence,
/// when the job is given up, and how the round ended. No clock, no I/O: times are handed in, and
/// what has to be done comes back. The same calls give the same actions.
class JobMachine {
 public:
  struct Setup {
    int nodes = 1;
    int procs = 1;
    plan::Limits limits;
    plan::JobServiceOptions service;
    std::string section;           ///< of `service` in the suite: "cluster.http"
    bool tells_every_log = false;  ///< CloudService::tells_every_log()
    std::string started_field;     ///< CloudService::started_field()
  };
  /// A moment on all clocks of this machine.
  struct Now {
    std::int64_t mono_ns = 0;
    std::int64_t boot_ns = 0;
    std::int64_t wall_ns = 0;
  };

  /// What comes next, and the call that tells what it gave. Instead of it, failed() tells why it
  /// gave nothing, and interrupted() that the user asked to end meanwhile.
  enum class Do {
    prepare,    ///< the round's folder, with the job of an earlier process or a new one: prepared()
    find,       ///< look for the job by its name: found()
    list_code,  ///< listed()
    upload,     ///< uploaded()
    create,     ///< find it or make it: created()
    ask,        ///< about the job: told()
    size_logs,  ///< log_sizes()
    read_log,   ///< the piece, to the end of the log that is here: read()
    compare,    ///< the piece with what is here of it: compared()
    pause,      ///< tick()
    fetch,      ///< the results: fetched()
    measure,    ///< ask, once, how much the devices did: measured()
    stop,       ///< stopped()
    end,        ///< with the outcome, or by throwing the error
  };
  struct JournalEntry {
    store::JournalEvent event{};
    int node = -1;  ///< -1: of no node
    Json fields;
  };
  struct Piece {
    int node = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  /// The caller does them in this order, then what comes next.
  struct Actions {
    std::vector<JournalEntry> journal{};
    bool save = false;      ///< state()
    bool executed = false;  ///< journal what the job runs
    std::string waiting{};  ///< to be shown, like the next two
    std::string warning{};
    std::optional<RoundProgress> progress{};
    Do next = Do::end;
    // For what comes next:
    std::int64_t end_ns = 0;  ///< a request has its answer by then (monotonic), or never
    bool insists = false;     ///< asked once, and the user's first wish to end does not stop it
    Nanoseconds pause{};
    Piece piece{};
    RoundOutcome outcome{};
    std::optional<Error> error{};
  };

  explicit JobMachine(Setup setup);

  /// `again`: it is the state that an earlier process left.
  [[nodiscard]] Actions prepared(Now now, JobState state, bool again);
  [[nodiscard]] Actions found(Now now, const std::optional<ServiceJob>& job);
  [[nodiscard]] Actions listed(const std::string& hash, std::size_t files, std::uint64_t bytes);
  /// `hash`: what the folder has now.
  [[nodiscard]] Actions uploaded(Now now, const std::string& hash, const cloud::SyncReport& report);
  [[nodiscard]] Actions created(Now now, const ServiceJob& job);
  [[nodiscard]] Actions told(Now now, const ServiceJob& job);
  [[nodiscard]] Actions log_sizes(Now now, std::map<int, std::uint64_t> sizes);
  /// So many bytes came, with this text; none: the service has no more yet.
  [[nodiscard]] Actions read(Now now, std::uint64_t bytes, std::string_view piece = {});
  [[nodiscard]] Actions compared(Now now, bool same);
  [[nodiscard]] Actions tick(Now now);
  /// `impossible`: results that cannot be kept, of `objects` in all.
  [[nodiscard]] Actions fetched(std::size_t files, std::size_t objects,
                                const std::vector<std::string>& impossible);
  [[nodiscard]] Actions measured(std::optional<double> utilization);
  [[nodiscard]] Actions stopped(Now now);
  [[nodiscard]] Actions failed(Now now, const Error& error);
  [[nodiscard]] Actions interrupted(Now now);

  [[nodiscard]] const JobState& state() const noexcept { return state_; }
  /// As the service last told of it.
  [[nodiscard]] const ServiceJob& seen() const noexcept { return seen_; }
  [[nodiscard]] std::string named() const { return "job " + state_.name; }
  /// Whether there is a job that nobody has given up.
  [[nodiscard]] bool goes_on() const noexcept { return !state_.id.empty() && !state_.over; }

 private:
  enum class Phase {
    preparing,  ///< a job of an earlier process is asked about before the round begins
    starting,
    following,
    settling,  ///< it has ended: what is missing of its logs is waited for
    fetching,
    stopping,
    leaving,  ///< the user asked to end before it was known whether there is a job
  };

  /// What todo_ has by now, and this next.
  [[nodiscard]] Actions then(Do next);
  [[nodiscard]] Actions pause(Nanoseconds duration);
  [[nodiscard]] Actions end(const RoundOutcome& outcome);
  [[nodiscard]] Actions raise(const Error& error);
  [[nodiscard]] Actions begin_round(Now now);
  /// Has limits.time, too, where that is less than what is left of the start.
  [[nodiscard]] Actions question(Now now, Do next);
  [[nodiscard]] Actions follow(Now now);
  [[nodiscard]] Actions ask(Now now);
  [[nodiscard]] Actions next_log(Now now);
  void log_began_again();
  [[nodiscard]] Actions logs_are_read(Now now);
  [[nodiscard]] Actions look(Now now);
  [[nodiscard]] Actions conclude(Now now);
  [[nodiscard]] Actions stop(Now now, const RoundOutcome& outcome);
  /// It was stopped, or cannot be.
  [[nodiscard]] Actions end_stopped(Now now);
  [[nodiscard]] Actions leave(Now now);
  [[nodiscard]] Actions never_created();
  /// The next attempt is a new job.
  void give_up();
  /// From now on the service may be silent so long, whatever it is asked.
  void bound(Now now, Nanoseconds limit, const std::string& name);
  /// What is known of the instances' training, as agents tell it: by their logs so far.
  [[nodiscard]] RoundProgress progress(Now now) const;
  /// The instance that steps no more, though it did; of several, the one that is behind.
  [[nodiscard]] std::optional<int> steps_no_more(std::int64_t now_ns) const;
  /// What the job has had too much of.
  [[nodiscard]] std::optional<RoundOutcome> over_limit(std::int64_t now_ns) const;
  /// The error of an answer about another job.
  [[nodiscard]] std::optional<Error> of_another(const ServiceJob& job) const;
  /// Whether the logs that are here are as long as the service says.
  [[nodiscard]] bool has_all_logs() const;
  /// Those of whose logs the service tells nothing although it tells of logs.
  [[nodiscard]] std::vector<std::string> silent_instances() const;
  void journal(store::JournalEvent event, Json fields, int node = -1);
  void journal_starts(double late_s);
  void journal_ends(Now now, EndedBy how);
  /// Seconds since the job was last asked about: what is seen now may be so old.
  [[nodiscard]] double late_s(Now now) const;
  /// No job that is over now ran longer: seconds since it was asked for.
  [[nodiscard]] double within_s(Now now) const;
  [[nodiscard]] std::string key(const std::string& name) const {
    return setup_.section + "." + name;
  }

  Setup setup_;
  JobState state_;
  Phase phase_ = Phase::preparing;
  Do next_ = Do::prepare;
  Actions todo_;
  std::int64_t end_ns_ = 0;
  std::string bounded_by_;           // the setting, for people
  std::optional<StartClock> start_;  // of all that comes before the job
  std::optional<StartClock> clock_;  // of what is asked for meanwhile
  std::string hash_;                 // of the code that is uploaded
  std::optional<Error> refused_;     // to tell of the job: it is looked for
  ServiceJob seen_;
  std::map<int, std::uint64_t> log_sizes_;  // by instance, as the service last told
  std::set<int> doubtful_;                  // those of whose logs it told less than before
  /// The log of one instance, as far as this process has read it.
  struct Followed {
    perflog::ProgressScanner progress{};
    std::int64_t wrote_ns = 0;
    std::int64_t moved_ns = 0;  // when an event last came
  };
  std::map<int, Followed> followed_;
  int reading_ = 0;     // the instance whose log is read
  bool grown_ = false;  // a log, since it was last asked about
  int looks_ = 0;       // for the logs of a job that has ended
  Nanoseconds pause_{};
  RoundOutcome outcome_;
  std::int64_t asked_for_ns_ = 0;  // of the clock that goes on in sleep: this process asked for it
  // Monotonic:
  std::int64_t asked_ns_ = 0;    // the last question about it
  std::int64_t looked_ns_ = 0;   // the one before
  std::int64_t grown_ns_ = 0;    // a log last grew
  std::int64_t waiting_ns_ = 0;  // pending since then
  std::int64_t running_ns_ = 0;  // running since then
};

}  // namespace assay::launch
