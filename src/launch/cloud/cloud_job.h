#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "cloud/sync.h"
#include "core/timed_stop.h"
#include "launch/cloud/cloud_connection.h"
#include "launch/cloud/job_machine.h"
#include "launch/cloud/retry_while_unreachable.h"
#include "launch/observer.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

/// A round as a job of the cloud: created or found again, followed to its end, its logs mirrored
/// into the run directory byte by byte, its results fetched. It does what a JobMachine says.
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
  using Actions = JobMachine::Actions;

  void apply(const Actions& todo);
  /// What comes next, whatever becomes of it.
  Actions perform(const Actions& todo);
  Actions answer(const Actions& todo);
  Actions prepare();
  Actions list_code();
  Actions upload(const Actions& todo);
  Actions create(const Actions& todo);
  [[nodiscard]] std::string piece_of_log(const Actions& todo);
  Actions read_log(const Actions& todo);
  Actions compare_log(const Actions& todo);
  Actions fetch(const Actions& todo);
  /// Until the answer to `work` is there, its time is over or the user asks to end.
  template <class F>
  auto request(const Actions& todo, const std::string& what, F&& work) {
    const TimedStop end(user(todo), Nanoseconds(todo.end_ns - mono_now_ns()));
    if (todo.insists) return work(end.token());
    retry_.end_at(todo.end_ns);
    return retry_(what, [&] { return work(end.token()); });
  }
  /// Whose wish to end stops what comes next.
  [[nodiscard]] const std::stop_token& user(const Actions& todo) const {
    return todo.insists ? context_.at_once : context_.asked;
  }
  /// Tells of a transfer, once a second at most.
  std::function<void(std::uint64_t done, std::uint64_t total)> said(const std::string& what);
  /// As the service is asked for it, with the code that it was made with.
  [[nodiscard]] RoundJob job() const;
  [[nodiscard]] cloud::FolderFiles code_files() const;
  void journal(const JobMachine::JournalEntry& entry);
  /// What the job runs, for the judge.
  void journal_executed();
  [[nodiscard]] std::filesystem::path log_file(int node) const;
  [[nodiscard]] CloudService& service() const { return *context_.cloud.jobs; }
  [[nodiscard]] std::string named() const { return machine_.named(); }

  Context context_;
  const plan::CasePlan& case_;
  int round_;
  std::filesystem::path folder_;
  JobMachine machine_;
  RetryWhileUnreachable retry_;
  cloud::FolderFiles code_;  // to be uploaded
  std::string hash_;         // of it
};

}  // namespace assay::launch
