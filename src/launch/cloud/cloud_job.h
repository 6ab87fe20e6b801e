#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "cloud/sync.h"
#include "core/timed_stop.h"
#include "launch/cloud/cloud_connection.h"
#include "launch/cloud/cloud_job_state.h"
#include "launch/cloud/retry_while_unreachable.h"
#include "launch/cloud/start_clock.h"
#include "launch/observer.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

/// A round as a job of the cloud: created or found again, followed to its end, its logs mirrored
/// into the run directory byte by byte, its results fetched.
class CloudJob {
 public:
  /// What the jobs of a run share; all must outlive them. The functions may be called from any
  /// thread.
  struct Context {
    const plan::JobServiceOptions& options;
    const store::RunDir& run;
    CloudConnection& cloud;
    store::Journal& journal;
    std::function<void(const std::string&)> waiting;  ///< what takes its time
    std::function<void(const std::string&)> warning;
    std::function<void(const RoundProgress&)> progress;
    std::stop_token asked;    ///< the user asked to end
    std::stop_token at_once;  ///< and asked again
  };

  CloudJob(Context context, const plan::CasePlan& plan_case, int round);

  /// Blocks until the job has ended or was given up. A user who asks to end is an outcome
  /// (interrupted); the job is stopped then only if the suite asks for it. Throws Error when the
  /// service refuses something, or cannot be reached for as long as the round may take.
  RoundOutcome run();

 private:
  /// Tells of a transfer, once a second at most.
  std::function<void(std::uint64_t done, std::uint64_t total)> said(const std::string& what);
  void prepare();
  /// Everything that comes before the job is there, within one StartClock.
  void create();
  /// As the service is asked for it, with the code that it was made with.
  [[nodiscard]] RoundJob job() const;
  [[nodiscard]] cloud::FolderFiles code_files() const;
  /// Uploads the code to where its content is named, for which the clock gets the time; gives its
  /// hash.
  std::string upload_code(StartClock& clock);
  /// What the job runs, for the judge.
  void journal_executed();
  RoundOutcome follow();
  /// Nothing when it does not exist any more.
  std::optional<ServiceJob> ask();
  /// The service's answer about this round's job; throws Error for one about another job.
  ServiceJob own(ServiceJob told) const;
  RoundOutcome deleted();
  /// The time is over and the service does not answer: `silence` says so.
  RoundOutcome given_up(const OutOfTime& silence);
  /// Whether a job of an earlier run of the loop was deleted meanwhile: nobody has to ask twice for
  /// a new one.
  [[nodiscard]] bool is_gone();
  void make_anew();
  /// From now on the round may take so long, whatever the service does.
  void bound(Nanoseconds limit, const std::string& name);
  /// Stops what is under way when the user asks to end, or the time is over.
  [[nodiscard]] std::stop_token working() const {
    return bound_ ? bound_->token() : context_.asked;
  }
  /// retry_ before the job is there: given up when the start's time is over, whatever tries are
  /// still to come.
  template <class F>
  auto retry_before(const std::string& what, const StartClock& clock, F&& work) {
    const TimedStop end(context_.asked, clock.left());
    retry_.end_at(clock.end_ns());
    try {
      auto answer = retry_(what, [&] { return work(end.token()); });
      retry_.end_at(0);
      return answer;
    } catch (const OutOfTime& silence) {
      throw clock.over(what, silence);
    }
  }
  /// The same with a question, which has limits.time, too.
  template <class F>
  auto ask_before(const std::string& what, const StartClock& clock, F&& question) {
    const Nanoseconds limit = case_.limits.time;
    if (limit.count() > 0 && limit < clock.left())
      return retry_before(what, StartClock(limit, "limits.time"), question);
    return retry_before(what, clock, question);
  }
  /// Nothing while the job goes on.
  std::optional<RoundOutcome> look(const ServiceJob& job);
  std::optional<RoundOutcome> check_limits(const ServiceJob& job);
  RoundOutcome conclude(const ServiceJob& job);
  RoundOutcome interrupted();
  /// Whether the job was created although no answer confirmed it.
  bool find_unseen();
  /// Fetches what the logs have grown by; gives whether they have.
  bool mirror(const ServiceJob& job);
  /// Whether the logs that are here are as long as the service says.
  [[nodiscard]] bool has_all_logs() const;
  /// Those of whose logs the service tells nothing although it tells of logs.
  [[nodiscard]] std::vector<std::string> silent_instances() const;
  void append_log(const ServiceJob& job, int node, std::uint64_t size);
  /// Gives what is wrong with them, or nothing.
  std::optional<RoundOutcome> fetch_results();
  void journal_job(const ServiceJob& job);
  /// As CloudService::device_utilization; what goes wrong is a warning.
  std::optional<double> device_utilization();
  /// Asks the job to end and waits for it, bounded; what goes wrong is a warning that names it.
  void stop_job(const std::string& why);
  void journal(store::JournalEvent event, const Json& fields);
  void journal_of_node(store::JournalEvent event, int node, const Json& fields);
  /// Seconds since the job was last asked about: what is seen now may be so old.
  [[nodiscard]] double late_s() const;
  /// No job that is over now ran longer: seconds since it was asked for.
  [[nodiscard]] double within_s() const;
  void journal_ends(const ServiceJob& job, EndedBy how);
  [[nodiscard]] std::filesystem::path log_file(int node) const;
  /// The key in the suite: "cluster.modelarts.wait".
  [[nodiscard]] std::string key(const std::string& name) const;
  [[nodiscard]] std::string named() const { return "job " + state_.name; }
  void save() const { save_job_state(folder_, state_); }

  Context context_;
  const plan::CasePlan& case_;
  int round_;
  std::filesystem::path folder_;
  JobState state_;
  RetryWhileUnreachable retry_;
  std::optional<TimedStop> bound_;
  std::string bounded_by_;                    // the setting, for people
  ServiceJob seen_;                           // as the service last told of it
  std::map<int, std::uint64_t> log_sizes_{};  // by instance, as it last told
  std::int64_t asked_for_ns_ = 0;  // of boot_now_ns(), when this process asked for the job
  std::int64_t looked_ns_ = 0;     // monotonic, when it was asked about before the last answer
  std::int64_t grown_ns_ = 0;      // monotonic, when a log last grew
  std::int64_t waiting_ns_ = 0;    // monotonic, since when it has been pending
  std::int64_t running_ns_ = 0;    // monotonic, since when it has been running
};

}  // namespace assay::launch
