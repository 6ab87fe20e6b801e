#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "launch/fleet.h"
#include "plan/plan.h"
#include "rendezvous/ranks.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

/// How a round ended, as in the journal's round_end.
struct RoundOutcome {
  std::string status;  ///< "completed", "failed", "timed_out", "stalled", "interrupted", …
  std::string reason;  ///< names the culprit; empty when completed
  std::string advice;
};

/// What is known of a running round, for progress and the live view.
struct RoundProgress {
  int ranks = 0;
  int started = 0;
  int ended = 0;
  std::map<int, Json> heartbeats;  ///< newest of each node
  Json automl;                     ///< of an AutoML case: how far its experiment is
};

/// Runs one round on the fleet: sends the work, journals what the agents report, and ends it when
/// every rank has ended, a limit is reached, a rank fails, an agent is lost or the user asks.
class Round {
 public:
  struct Context {
    const plan::Plan& plan;
    const plan::CasePlan& plan_case;
    const store::RunDir& run;
    const Launcher& launcher;
    Fleet& fleet;
    store::Journal& journal;
    std::function<void(const RoundProgress&)> on_progress;  ///< may be empty
    /// Of the ranks besides: what neither plan nor journal may hold.
    std::map<std::string, std::string> env{};
  };

  Round(asio::io_context& loop, Context context, int number);

  asio::awaitable<RoundOutcome> run();
  /// First call: SIGTERM and grace; second: SIGKILL at once. The workers of an experiment have been
  /// told to stop by then, and get SIGTERM only when they have not ended within the grace.
  void interrupt();
  /// The ranks are about to end by themselves, and that is right; who has not after the grace is
  /// stopped.
  void wind_down();
  /// Ends the round for a reason from outside of it.
  void fail(const std::string& status, const std::string& reason, const std::string& advice);

 private:
  struct Node {
    bool ended = false;
    bool lost = false;
    bool leaving = false;  // its agent was told to end by somebody else
    std::int64_t heard_ns = 0;
    double idle_s = 0;
    std::set<int> living;                            // ranks that were started and have not ended
    std::vector<std::vector<std::string>> cleanups;  // of its containers
  };

  [[nodiscard]] std::string master_address() const;
  [[nodiscard]] std::filesystem::path remote_dir(int node) const;
  asio::awaitable<void> choose_port();
  asio::awaitable<void> collect_evidence();
  bool name_the_scheduler();
  asio::awaitable<std::map<int, Json>> drop_caches();
  void journal_start();
  void drop_those_that_leave(bool all);
  void send_work();
  void on_message(int node, const Json& message);
  void on_lost(int node, const std::string& reason);
  void on_rank_exit(int node, const Json& message);
  void on_limit(int node, const Json& message);
  void on_start_failed(int node, const Json& message);
  void on_heartbeat(int node, const Json& message);
  void check_deadlines();
  void stop_all(const std::string& cause, Nanoseconds grace);
  /// A rank or an agent is gone: the end of the round, but not of an experiment that has others.
  /// Gives whether it is the end.
  bool conclude_unless_others(const std::string& status, const std::string& reason,
                              const std::string& advice);
  void conclude(const std::string& status, const std::string& reason,
                const std::string& advice = {});
  void journal(const std::string& event, int node, const Json& message);
  [[nodiscard]] bool finished() const;
  [[nodiscard]] const std::string& host(int node) const;
  [[nodiscard]] std::string rank_on_host(int rank, int node) const;

  Context context_;
  int number_;
  rendezvous::Placement placement_;
  std::string id_;
  std::vector<Node> nodes_;
  asio::steady_timer changed_;
  std::exception_ptr failure_;
  std::optional<RoundOutcome> outcome_;  // the first reason that ends the round otherwise than well
  std::optional<RoundOutcome> last_loss_;  // of an experiment's workers
  bool winding_down_ = false;
  std::optional<std::int64_t> stop_at_ns_;     // after a rank failed: when the others are stopped
  std::optional<std::int64_t> give_up_at_ns_;  // after a stop: when silent agents are dropped
  bool stopped_from_outside_ = false;
  int interrupts_ = 0;
  RoundProgress progress_;
};

}  // namespace assay::launch
