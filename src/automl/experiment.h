#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "automl/experiment_events.h"
#include "automl/experiment_settings.h"
#include "automl/pace.h"
#include "automl/planner.h"
#include "automl/report_check.h"
#include "automl/trial_status.h"
#include "automl/worker_protocol.h"

namespace assay::automl {

/// The coordinator's decisions: who trains what, what each message means, when it is over. No
/// clock, no thread, no I/O: times are passed in (seconds since the experiment began), and actions
/// come back. The same calls give the same actions.
class Experiment {
 public:
  struct Send {
    int worker = 0;
    CoordinatorMessage message;
  };
  struct Close {
    int worker = 0;
    std::string reason;
    bool refuse = false;  ///< it is told why, and must not come back
  };
  /// A result for the planner.
  struct Tell {
    std::int64_t trial = 0;
    std::optional<double> accuracy;  ///< nothing: it failed
    std::string reason;
  };
  /// Carried out in this order: the journal first, so that nothing is sent that could be forgotten.
  struct Actions {
    std::vector<Json> journal;  ///< whole events, without the wall time
    std::vector<Tell> tell;
    std::vector<Send> send;
    std::vector<Close> close;
  };

  explicit Experiment(ExperimentSettings settings);

  /// The first call. `planned` and `events` are those of an earlier coordinator, empty for a new
  /// experiment: its finished trials stay, those that were under way are given out again.
  [[nodiscard]] Actions begin(double now_s, const std::vector<Planned>& planned = {},
                              const std::vector<Json>& events = {});

  // `worker` is the number of its connection. A worker replaces an earlier one of its rank. One
  // that was lost may come back; one that was sent away for what it reported may not.
  [[nodiscard]] Actions joined(double now_s, int worker, const Hello& hello);
  [[nodiscard]] Actions left(double now_s, int worker, const std::string& reason);
  /// Any message but Hello. Fetch and Weights only show that the worker is alive. A worker whose
  /// report cannot be (ReportCheck) is named in the journal and sent away; so is one that joins
  /// with a rank that there is not.
  [[nodiscard]] Actions received(double now_s, int worker, const WorkerMessage& message);
  /// The worker sent a result of `trial` that cannot be one (NaN), or the trial cannot be sent.
  [[nodiscard]] Actions failed(double now_s, int worker, std::int64_t trial,
                               const std::string& reason);

  /// What became of a trial's weights; `problem` is empty when they are kept.
  [[nodiscard]] Actions weights(double now_s, std::int64_t trial, std::int64_t bytes,
                                const std::string& problem, bool displaced = false);

  /// How many more proposals to make, besides `under_way`, so that no worker waits.
  [[nodiscard]] int proposals_wanted(int under_way) const;
  /// A proposal is begun; `told` results are known to it.
  [[nodiscard]] Actions proposing(double now_s, std::int64_t told);
  [[nodiscard]] Actions proposed(double now_s, Planned planned);
  /// There is nothing new to try: what is under way is brought to its end.
  [[nodiscard]] Actions exhausted(double now_s, const std::string& reason);

  /// Checks the time limits; called at least once a second. A longer pause is the coordinator's
  /// own, and is not held against the workers.
  [[nodiscard]] Actions tick(double now_s);
  /// Ends the experiment; `reason` is `stopped` or `failed`.
  [[nodiscard]] Actions end(double now_s, ExperimentEnd reason, const std::string& detail);

  [[nodiscard]] bool ended() const noexcept { return end_reason_.has_value(); }
  [[nodiscard]] std::optional<ExperimentEnd> end_reason() const noexcept { return end_reason_; }
  [[nodiscard]] const std::string& end_detail() const noexcept { return end_detail_; }

  [[nodiscard]] const Graph* graph(std::int64_t trial) const noexcept;
  [[nodiscard]] std::optional<double> accuracy(std::int64_t trial) const noexcept;

  /// Progress, for people.
  struct Status {
    std::int64_t proposed = 0;
    std::int64_t ok = 0;
    std::int64_t failed = 0;
    std::int64_t running = 0;
    std::int64_t waiting = 0;  ///< prepared
    int workers = 0;
    int idle = 0;  ///< of them
    double best = 0;
  };
  [[nodiscard]] Status status() const;

 private:
  enum class State { waiting, running, ok, failed };
  struct Trial {
    Planned planned;
    State state = State::waiting;
    int attempt = 0;
    int worker = -1;
    int avoid = -1;  // the rank where it could not even be started
    double started_s = 0;
    double epoch_s = 0;                 // when it began, or its last epoch ended
    std::optional<double> dropped_s{};  // when it was told to end
    std::optional<double> accuracy{};
    int epochs = 0;
    std::int64_t trained = 0;
    std::int64_t validated = 0;
    ReportCheck::Attempt reports{};
  };
  struct Worker {
    Hello hello;
    double heard_s = 0;
    double moved_s = 0;         // when its trial was last seen to go on
    std::int64_t progress = 0;  // as it said last
    bool ready = false;
    std::vector<std::int64_t> trials;  // the one that is trained, and the one before while it ends
    int failures = 0;                  // in a row, before the first sample
  };

  /// Takes an event of an earlier coordinator.
  void recall(const Json& event);
  void dispatch(double now_s, Actions& actions);
  void hand_out(double now_s, int worker, std::int64_t id, Actions& actions);
  [[nodiscard]] std::optional<std::int64_t> choose(const Worker& worker);
  void on_inherited(double now_s, int worker, const Inherited& inherited, Actions& actions);
  void on_epoch(double now_s, int worker, const Epoch& epoch, Actions& actions);
  void on_done(double now_s, int worker, const Done& done, Actions& actions);
  /// Ends an attempt; `final` when the trial has its result.
  void end_attempt(double now_s, std::int64_t id, TrialStatus status, const std::string& reason,
                   bool final, Actions& actions, const Done* done = nullptr);
  void give_back(double now_s, std::int64_t id, const std::string& reason, Actions& actions);
  void remove(double now_s, int worker, const std::string& reason, Actions& actions);
  void record_refusal(double now_s, const Hello& hello, const std::string& why, Actions& actions);
  void refuse(double now_s, int worker, const std::string& why, Actions& actions);
  void send_away(double now_s, int worker, const std::string& reason, Actions& actions);
  void conclude(double now_s, ExperimentEnd reason, const std::string& detail, Actions& actions);
  void check_end(double now_s, Actions& actions);
  /// Ends it when nobody is left who could come back.
  void check_workers(double now_s, Actions& actions);
  /// Why the worker has to go; empty when it need not.
  [[nodiscard]] std::string hangs(double now_s, int worker, Actions& actions);
  void excuse_pause(double now_s);
  [[nodiscard]] Trial* held(int worker, std::int64_t id);
  /// `event`: of automl/experiment_events.h.
  template <class T>
  void record(double now_s, const T& event, Actions& actions) {
    if (closed_) return;  // what workers do after the end is not part of it
    actions.journal.push_back(journal::line(now_s, event));
    recorded_s_ = now_s;
  }

  ExperimentSettings settings_;
  ReportCheck checks_;
  Pace pace_;
  std::vector<Trial> trials_;
  std::map<int, Worker> workers_;
  std::deque<std::int64_t> waiting_;  // those that were lost first
  std::deque<int> idle_;              // ready, and nothing to do
  std::string exhausted_;
  std::optional<ExperimentEnd> end_reason_;
  std::string end_detail_;
  int failures_in_a_row_ = 0;
  double began_s_ = 0;
  double recorded_s_ = 0;
  double ticked_s_ = 0;
  double heard_s_ = 0;                    // of any worker that has gone
  std::set<int> came_;                    // ranks
  std::map<int, std::string> lost_;       // ranks that have gone and not come back: who and why
  std::map<int, std::string> sent_away_;  // ranks: why
  bool closed_ = false;
  std::int64_t running_ = 0;
  std::int64_t ok_ = 0;
  std::int64_t failed_ = 0;
};

}  // namespace assay::automl
