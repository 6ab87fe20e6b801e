#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "launch/experiment_host.h"
#include "launch/round.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Told what happens while a run goes on; every call comes from the thread that executes the run.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void round_started(const plan::CasePlan& plan_case, int round, int done, int total) = 0;
  virtual void round_progress(const plan::CasePlan& plan_case, int round,
                              const RoundProgress& progress) = 0;
  virtual void round_ended(const plan::CasePlan& plan_case, int round,
                           const RoundOutcome& outcome) = 0;
  /// The agents are not there yet: what the scheduler says they wait for.
  virtual void waiting(const std::string& what_for) = 0;
  /// Something that the user should know and that does not end the run.
  virtual void warning(const std::string& text) = 0;
  virtual void stopping(int signals) = 0;  ///< the user asked once (1) or again (2)
};

/// Executes the rounds of a run that are not finished yet: all of them for a new run, the rest when
/// resuming. Finished rounds are never touched; a round that was cut off is kept under another name
/// and run again.
class Controller {
 public:
  /// `bindir` holds assay-agent and the built-in workloads.
  Controller(store::RunDir run, std::filesystem::path bindir, Observer& observer);

  /// Blocks until the run has ended; SIGINT and SIGTERM stop it (twice: at once). Gives the run's
  /// status, as in the journal's run_end: "completed", "failed" or "interrupted".
  /// Throws Error when the fleet cannot be started or the run directory not be written; what was
  /// journaled by then stays, and the run can be resumed.
  std::string execute();

 private:
  asio::awaitable<std::string> execute_rounds(asio::io_context& loop);
  asio::awaitable<void> prepare(Fleet& fleet, store::Journal& journal);
  asio::awaitable<void> compare_clocks(Fleet& fleet, store::Journal& journal);
  asio::awaitable<void> provide_image(Fleet& fleet, const plan::CasePlan& plan_case);
  asio::awaitable<RoundOutcome> execute_round(asio::io_context& loop, Fleet& fleet,
                                              store::Journal& journal,
                                              const plan::CasePlan& plan_case, int round);
  void take_up_experiment(const plan::CasePlan& plan_case, int round) const;
  void write_live(const plan::CasePlan& plan_case, int round, const RoundProgress& progress);
  void interrupt();

  store::RunDir run_;
  std::filesystem::path bindir_;
  Observer& observer_;
  std::unique_ptr<Launcher> launcher_;
  std::map<std::pair<std::string, int>, std::string> finished_;  // (case, round) → status
  std::set<std::string> images_;                                 // that every node has
  Round* current_ = nullptr;
  ExperimentHost* experiment_ = nullptr;  // of the current round
  Fleet* fleet_ = nullptr;
  int interrupts_ = 0;
  int rounds_done_ = 0;
  int rounds_total_ = 0;
  std::int64_t live_written_ns_ = 0;
};

/// system.json: what ran, started by which launcher, and what the nodes are.
void write_system(const store::RunDir& run, std::string_view launcher, Json nodes);

/// Keeps what a round that was cut off left behind under another name (….interrupted-1, …), and
/// gives how often that has happened to the round. Throws Error of kind environment.
int set_aside(const store::RunDir& run, const plan::CasePlan& plan_case, int round);

/// The rounds that need no further run: (case, round) → status. A failed round is a result; an
/// interrupted, lost or never started one is not.
[[nodiscard]] std::map<std::pair<std::string, int>, std::string> finished_rounds(
    const std::vector<Json>& journal);

}  // namespace assay::launch
