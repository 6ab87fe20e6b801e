#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "agent/dlws_home.h"
#include "agent/evidence_log.h"
#include "agent/leftovers.h"
#include "agent/messages.h"
#include "agent/node_metrics.h"
#include "agent/rank_places.h"
#include "agent/rank_process.h"
#include "agent/rank_watch.h"
#include "agent/rest_watch.h"
#include "agent/round_cgroup.h"
#include "agent/running_rounds.h"
#include "agent/ssh_relay.h"
#include "telemetry/machine_watch.h"
#include "telemetry/recorder.h"

namespace assay::agent {

/// One round on one node, from the first fork to the end of the last process. Reports events
/// through `send` and calls `done` once, when nothing of the round is left (or when the rest cannot
/// be killed and has been named).
class RoundSupervisor {
 public:
  using Send = std::function<void(const Report& report)>;
  RoundSupervisor(asio::io_context& loop, int node, RoundRequest request, Send send,
                  std::function<void()> done);
  ~RoundSupervisor();
  RoundSupervisor(const RoundSupervisor&) = delete;
  RoundSupervisor& operator=(const RoundSupervisor&) = delete;

  void start();
  /// Sends SIGTERM now and SIGKILL after `grace`. A second call can only shorten the grace.
  void stop(EndedBy cause, Nanoseconds grace);
  /// Appends a line to agent.log in the node's folder, for what no message can carry because the
  /// controller no longer listens. Does nothing if it cannot be written.
  void note(const std::string& text) const;
  /// Must be called after SIGCHLD.
  void children_changed();
  /// Handles a message of the round's ssh from another node. Returns false when the round is
  /// closing and nobody here receives it.
  [[nodiscard]] bool relay(const Relay& relay);
  [[nodiscard]] const std::string& id() const noexcept { return request_.id; }
  [[nodiscard]] RoundMetrics metrics() const;

 private:
  enum class Phase { running, stopping, leftovers, closing, ended };

  void start_telemetry();
  void start_ssh();
  void watch_machine();
  void start_ranks();
  void schedule_tick();
  void tick();
  void check_limits(std::int64_t mono);
  /// Checks whether the ranks have reached their end although they still sleep.
  void check_rest(std::int64_t mono);
  void finish_watching(std::int64_t mono);
  void send_heartbeat();
  /// Sends the ranks' output and the telemetry to onlookers, if requested.
  void send_live();
  [[nodiscard]] RankExit exit_of(const RankProcess& rank) const;
  void look_where_ranks_run(std::int64_t mono);
  void report_exit(const RankProcess& rank);
  void report_log_errors();
  /// The files that were hashed while being written.
  [[nodiscard]] std::vector<evidence::FileRecord> written_files() const;
  void list_given_files();
  void list_files(RoundEnd& end);
  void kill_round();
  void kill_everything();
  void look_for_leftovers();
  [[nodiscard]] bool was_asked_with_its_rank(pid_t pid) const;
  /// Notes the ranks whose output is not at its end because other processes hold it.
  [[nodiscard]] std::set<int> held_outputs();
  void close();
  void finish();
  /// Calls `then` once they are gone or the time is over; heartbeats continue meanwhile.
  void remove_containers(std::function<void()> then);
  [[nodiscard]] std::vector<pid_t> living_processes() const;
  /// Whether no rank is started here, and the node is only watched until a stop.
  [[nodiscard]] bool only_watches() const noexcept { return request_.ranks.empty(); }
  /// The processes started here by another node's rank, found by the round's mark.
  [[nodiscard]] std::vector<pid_t> marked_processes() const;
  /// The ranks and the round's other known processes: cheap, because every sample asks for them.
  [[nodiscard]] std::vector<pid_t> job_processes() const;
  [[nodiscard]] bool any_running() const;
  /// `file` is evidence that could not be written.
  void send_gap(const std::string& source, double seconds, const std::string& reason,
                const std::string& file = {});

  asio::io_context& loop_;
  int node_;
  RoundRequest request_;
  Send send_;
  std::function<void()> done_;
  std::optional<RoundCgroup> cgroup_;  // outlives the ranks
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::unique_ptr<RoundSsh> ssh_;
  std::optional<DlwsHome> dlws_home_;
  std::unique_ptr<telemetry::Recorder> recorder_;
  std::optional<EvidenceLog> evidence_;
  RankWatch rank_watch_;
  RestWatch rest_watch_;
  bool rests_ = false;
  RankPlaces rank_places_;  // for bound ranks
  std::optional<telemetry::MachineWatch> watch_;
  std::optional<RunningRounds> rounds_here_;
  std::optional<telemetry::MachineUse> machine_use_;  // set when the last rank has ended
  asio::steady_timer timer_;
  Phase phase_ = Phase::running;
  std::int64_t started_ns_ = 0;
  double cpu_before_s_ = 0;
  std::int64_t ticks_ = 0;
  std::optional<EndedBy> stop_cause_;
  std::int64_t kill_at_ns_ = 0;
  bool removing_ = false;  // containers
  bool removed_at_kill_ = false;
  Leftovers leftovers_;
  std::set<int> held_;  // ranks whose output others held when these were ended
  LiveFile live_telemetry_;
  int most_marked_ = 0;  // most processes at once
  std::int64_t next_marks_ns_ = 0;
  bool log_error_reported_ = false;
  bool chain_error_reported_ = false;
};

}  // namespace assay::agent
