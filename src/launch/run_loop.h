#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>

#include "launch/backend.h"
#include "launch/hook_runner.h"
#include "launch/preconditions.h"
#include "launch/seal_run.h"
#include "launch/step_rates.h"
#include "launch/time_left.h"

namespace assay::launch {

/// Executes the rounds of a run that are not finished yet: all of them for a new run, the rest when
/// resuming. A run that has nothing left to run stays as it is, with its seal. Cases, rounds,
/// retries, the journal, the live view and the user's signals are here; where a round runs is the
/// backend's. Finished rounds are never touched.
class RunLoop {
 public:
  /// Says of a case with CasePlan::only_if, by what the run has measured so far, why it does not
  /// hold; nothing: it does. Called on a thread of its own.
  using UnmetCondition = std::function<std::optional<std::string>(const plan::CasePlan&)>;
  /// Says of a case with CasePlan::until, by its rounds so far, why they are enough; nothing: they
  /// are not. Called on a thread of its own.
  using EnoughRounds = std::function<std::optional<std::string>(const plan::CasePlan&)>;

  RunLoop(store::RunDir run, Observer& observer, MakeBackend make_backend);

  /// Blocks until the run has ended; SIGINT, SIGTERM and SIGHUP stop it (twice: at once). Throws
  /// Error when the backend cannot go on or the run directory cannot be written; what was journaled
  /// by then stays, and the run can be resumed.
  RunStatus execute();

  /// What somebody says about the machines: `declared` in system.json beside what was found there.
  void declare(Json about) { declared_ = std::move(about); }

  /// What nothing can show about the run as it is before it goes on: kept in the journal for ever
  /// (`run_unproven`).
  void go_on_unproven(std::vector<std::string> reasons) { unproven_ = std::move(reasons); }

  /// Who decides how often cases with CasePlan::until are repeated, after their fewest rounds and
  /// up to their limit. Without it they go on to the limit.
  void repeat_until(EnoughRounds enough) { enough_ = std::move(enough); }

  /// Who decides whether cases with CasePlan::only_if are run. Without it they are skipped.
  void run_only_if(UnmetCondition unmet) { unmet_ = std::move(unmet); }

 private:
  asio::awaitable<RunStatus> execute_rounds(asio::io_context& loop);
  asio::awaitable<void> execute_cases();
  asio::awaitable<void> execute_case(const plan::CasePlan& plan_case);
  asio::awaitable<void> execute_rounds_of(const plan::CasePlan& plan_case);
  /// Skips the case, or runs the hooks before it; gives whether it can be run.
  asio::awaitable<bool> begin_case(const plan::CasePlan& plan_case);
  void skip(const plan::CasePlan& plan_case, plan::SkipCause cause, const std::string& reason);
  void make_hooks(const BackendContext& context, const std::vector<Json>& events);
  /// Why round `number` is not needed; nothing: it is.
  asio::awaitable<std::optional<std::string>> enough_before(const plan::CasePlan& plan_case,
                                                            int number);
  void end_repeats(const plan::CasePlan& plan_case, int last, const std::string& why);
  [[nodiscard]] bool has_result(const plan::CasePlan& plan_case, int number) const;
  /// The status of a run that ended and has nothing left to run; nothing: it goes on.
  [[nodiscard]] std::optional<RunStatus> final_status(const std::vector<Json>& journal) const;
  /// Whether a round that counts is still to come.
  [[nodiscard]] bool wanting(const plan::CasePlan& plan_case) const;
  /// Whether the stop that was asked for has taken something from the run: one that reaches a last
  /// round whose ranks have come to their `sleep infinity` has not.
  [[nodiscard]] bool is_cut_off() const;
  /// Gives whether a further round of the case can be started.
  asio::awaitable<bool> execute_round(const plan::CasePlan& plan_case, int number);
  /// The nodes of the case cannot be had.
  void give_up(const plan::CasePlan& plan_case, const std::string& reason);
  asio::awaitable<RoundOutcome> attempt(const plan::CasePlan& plan_case, int number);
  asio::awaitable<RoundOutcome> run_hook_on_nodes(const plan::CasePlan& hook_case, int number);
  /// Waits until the disk has the file or folder. A failure is a warning: the round is no less
  /// measured.
  asio::awaitable<void> keep_on_disk(std::filesystem::path path);
  /// Lists the files of the round and journals its end.
  asio::awaitable<void> end_round(const std::string& name, int number, const RoundOutcome& outcome);
  /// Closes the journal and seals the run.
  void seal();
  void write_live(const plan::CasePlan& plan_case, int number, const RoundProgress& progress);
  void interrupt();

  store::RunDir run_;
  Json declared_;
  std::vector<std::string> unproven_;
  Observer& observer_;
  MakeBackend make_backend_;
  std::unique_ptr<store::Journal> journal_;
  std::optional<SealRoom> seal_room_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HookRunner> hooks_;
  RoundStatuses finished_;  // by case and round
  std::set<std::string> skipped_;
  std::optional<std::string> failed_hook_;    // before all cases
  std::map<std::string, int> started_;        // by case: the last one ever
  std::set<std::string> begun_;               // cases of which a round was begun, ever
  std::map<std::string, std::string> ended_;  // ended_repeats()
  EnoughRounds enough_;
  UnmetCondition unmet_;
  bool all_completed_ = true;
  int interrupts_ = 0;
  int rounds_done_ = 0;
  int rounds_total_ = 0;
  std::int64_t live_written_ns_ = 0;
  std::int64_t round_started_ns_ = 0;
  TimeLeft time_left_;
  StepRates rates_;
};

}  // namespace assay::launch
