#pragma once

#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/execution_folder.h"
#include "engine/slurm_engine.h"
#include "engine/slurm_overview.h"
#include "engine/slurm_step.h"

namespace assay::engine {

/// Submits executions to Slurm, and watches them: by their folders, and by what Slurm says of them.
/// Two threads: one submits, because that may take a while (a job's code is copied), one watches.
/// Slurm is asked by these threads alone, each call bounded, the lock not held. Thread-safe.
class SlurmWatch {
 public:
  SlurmWatch(SlurmEngineOptions options, SlurmOverview& overview, Engine::Reporter reporter);
  SlurmWatch(const SlurmWatch&) = delete;
  SlurmWatch& operator=(const SlurmWatch&) = delete;
  ~SlurmWatch();

  /// Where an execution runs.
  struct Place {
    bool runs = false;
    slurm::Allocation allocation{};
  };

  // As of Engine.
  void start(const Order& order);
  void stop(const Execution& execution, Nanoseconds grace);
  void recall(const std::vector<Order>& orders);
  [[nodiscard]] std::string waits_for(jobs::JobId job);
  [[nodiscard]] std::optional<jobs::WallTime> expected_start(jobs::JobId job);
  [[nodiscard]] Place place_of(const Execution& execution);
  /// Whether it is, or was, an execution of this server or one before it.
  [[nodiscard]] bool is_own(const slurm::Job& job);

 private:
  static constexpr std::int64_t kNotPlanned = std::numeric_limits<std::int64_t>::max();
  /// Two signals of one kind that wait at the same time are one, also on their way through Slurm.
  static constexpr Nanoseconds kBetweenSignals = std::chrono::milliseconds(300);

  struct Live {
    explicit Live(const Order& given) : order(given), folder(given.folder) {}
    const Order order;
    const ExecutionFolder folder;
    // Under the mutex:
    bool with_starter = false;  ///< the thread that submits has it
    SlurmPhase phase = SlurmPhase::recalled;
    std::int64_t since_ns = 0;               ///< answers of Slurm count that were asked for later
    bool stopped = false;                    ///< the platform wants its end
    Nanoseconds grace{0};                    ///< from the signal on
    std::int64_t force_at_ns = kNotPlanned;  ///< when it is told the second time
    int asked = 0;            ///< how often its controller was told to end: twice is at once
    std::string slurm_job{};  ///< that sbatch made; empty: not known
    slurm::Allocation allocation{};
    // Of the thread that watches:
    std::int64_t press_at_ns = 0;  ///< when Slurm is asked again to tell it
    std::int64_t kill_at_ns = kNotPlanned;
    std::int64_t gone_since_ns = kNotPlanned;  ///< that Slurm says so
    std::int64_t begun_ns = kNotPlanned;       ///< that its folder says so, and Slurm not yet
  };
  using LivePtr = std::shared_ptr<Live>;
  using Events = std::vector<jobs::Event>;

  void add(const Order& order, bool to_submit);
  void wake();  ///< with the mutex held

  void submit_all(const std::stop_token& stop);
  void submit(const LivePtr& live);
  [[nodiscard]] SlurmTarget target_of(const Order& order);
  void leave_starter(const LivePtr& live, SlurmPhase phase, const std::string& slurm_job = {});

  void watch(const std::stop_token& stop);
  /// One look at everything; gives whether something is to begin or end.
  [[nodiscard]] bool look_at_all(const std::stop_token& stop);
  void ask_soon();  ///< within a second
  void ask_slurm();
  void cancel_leftovers();
  void step(const LivePtr& live);
  [[nodiscard]] SlurmFacts look(const LivePtr& live, const std::optional<Beginning>& beginning,
                                const std::vector<slurm::Job>& jobs);
  /// Those of its jobs that Slurm knows; the one that counts first.
  [[nodiscard]] std::vector<slurm::Job> jobs_of(const Live& live,
                                                const std::optional<Beginning>& beginning);
  void call_off(const LivePtr& live, const std::vector<slurm::Job>& jobs);
  [[nodiscard]] Events events_of_loss(const Live& live, const std::vector<slurm::Job>& jobs) const;
  /// Whether Slurm has said when it began, or will not say it soon.
  [[nodiscard]] bool start_is_known(const LivePtr& live, const std::vector<slurm::Job>& jobs);
  void say_it_runs(const LivePtr& live, jobs::EventKind kind, const std::vector<slurm::Job>& jobs);
  void tell_to_end(const LivePtr& live, const std::string& id);
  void finish(const LivePtr& live, std::vector<slurm::Job> jobs);
  void report_end(const LivePtr& live, const Events& events);

  const SlurmEngineOptions options_;
  SlurmOverview& overview_;
  const Engine::Reporter reporter_;
  std::mutex mutex_;
  std::map<Execution, LivePtr> live_;
  std::set<std::string> roots_;  // below which the folders of executions are
  std::deque<LivePtr> to_submit_;
  std::map<std::string, std::vector<slurm::Job>> jobs_;  // by folder, as Slurm said last
  std::int64_t asked_ns_ = 0;  // when it was asked for; 0: the last question had no answer
  std::int64_t next_ask_ns_ = 0;
  std::int64_t rest_until_ns_ = 0;   // not sooner, whatever happens
  std::set<std::string> leftovers_;  // jobs that are to be cancelled
  bool news_ = false;                // for the thread that watches
  std::condition_variable_any to_submit_changed_;
  std::condition_variable_any changed_;
  // Last: they end before what they use.
  std::jthread submitter_;
  std::jthread watcher_;
};

}  // namespace assay::engine
