#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/files.h"
#include "core/time.h"
#include "platform/cluster_file.h"
#include "platform/disk_reserve.h"
#include "platform/job_folders.h"
#include "platform/job_readers.h"
#include "platform/listeners.h"
#include "platform/platform.h"

namespace assay::platform {

/// How long to wait after the disk was full, or the database locked.
inline constexpr Nanoseconds kAfterFailure = std::chrono::seconds(1);

[[nodiscard]] inline jobs::Event event_for(jobs::EventKind kind, std::string detail = {}) {
  jobs::Event event;
  event.kind = kind;
  event.detail = std::move(detail);
  return event;
}

/// What the platform's threads and its callers share. Everything is under the mutex but the
/// options, the engine, and what says otherwise.
///
/// The engine's cheap questions (queues, waits_for, expected_start) are asked with the mutex held,
/// all others, and whatever it is told to do, without it: that may take a while. The engine reports
/// with no lock of its own held, because a report takes the mutex.
struct Platform::State {
  State(Options given, std::unique_ptr<engine::Engine> given_engine);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  struct Running {
    int attempt = 0;
    std::optional<jobs::WallTime> end_ns{};  ///< its time is up; nothing: the engine sees to that
  };

  void start();
  /// Removes what is left of jobs that were removed. What cannot be removed stays for the next
  /// time.
  void sweep_removed();
  /// Throws Error where there is none.
  [[nodiscard]] std::string secret_for(const std::string& owner, const std::string& team,
                                       const std::string& name) const;
  /// With the mutex held.
  [[nodiscard]] engine::Order order_of(const jobs::Job& job) const;
  /// As it is run: one that asks for no time has the platform's, unless the engine's scheduler
  /// gives it one.
  [[nodiscard]] jobs::Submission limited(jobs::Submission submission) const;
  [[nodiscard]] jobs::WallTime wall_ns() const { return options.clocks().wall_ns; }
  /// With the mutex held. Where the wall clock was set, what is counted from moments before goes on
  /// as if it had not been: a job does not come to its time limit, or wait, by that.
  void follow_clock();
  /// What runs has used up to now.
  [[nodiscard]] std::vector<jobs::AttemptUse> running_uses();
  /// With the mutex held: takes an event, and leaves for the thread what follows from it.
  jobs::Change apply(jobs::JobId id, const jobs::Event& event);
  /// The same for many at once, which is much faster than one after another; none of them, with an
  /// Error, where that cannot be written.
  std::vector<jobs::Change> apply_all(const std::vector<jobs::JobId>& ids,
                                      const jobs::Event& event);
  /// With the mutex held: apply() of what a person asks for. What runs is stopped also when the
  /// disk is too full to write that down, because the job may be what fills it; it is written as
  /// soon as there is room.
  jobs::Change take_wish(jobs::JobId id, const jobs::Event& wish);
  /// Why a job does not run that is not in line.
  [[nodiscard]] jobs::Pending pending_of(jobs::JobId id, const jobs::Life& life) const;
  void tell(const jobs::Job& job, jobs::EventKind event, std::string words, jobs::WallTime at_ns);
  /// All that a decision depends on. Without the mutex: thousands of jobs take a while to be read,
  /// and nobody is to wait for that. What changes meanwhile is decided about afterwards.
  [[nodiscard]] jobs::Snapshot snapshot(const std::vector<jobs::ClusterNode>& nodes,
                                        jobs::WallTime now_ns);
  /// Of the settings, with those that the engine's scheduler has by itself. With the mutex held.
  [[nodiscard]] std::vector<jobs::Queue> queues() const;
  /// With the mutex held.
  [[nodiscard]] bool queue_wants_approval(const std::string& name) const;
  /// The engine's, without those that are drained.
  [[nodiscard]] std::vector<jobs::ClusterNode> usable(std::vector<jobs::ClusterNode> nodes) const;
  void wake();
  /// Whether what is written of jobs is still in their file. Throws DatabaseError where it was
  /// removed or replaced: what is written would be gone with this process.
  void require_store() const;

  Options options;
  std::unique_ptr<engine::Engine> engine;
  std::filesystem::path cluster_file;
  JobFolders folders;
  DiskReserve reserve;
  UniqueFd folder_lock;

  std::mutex mutex;
  ClockWatch clock;
  jobs::JobStore store;
  std::uint64_t store_inode = 0;
  ClusterState cluster;
  JobReaders readers;      ///< for callers who only read; without the mutex
  std::mutex usage_mutex;  ///< of the usage alone; taken last
  UsageTable usage;
  std::mutex view_mutex;  ///< of the view alone; taken without the other
  jobs::JobStore view;    ///< the same file as the store's, for snapshots
  std::map<jobs::JobId, jobs::Decision::Waiting> waiting;  ///< by the last decision
  std::map<jobs::JobId, Running> running;
  std::vector<jobs::ClusterNode> decided_nodes;     ///< of the last decision
  std::map<std::string, std::string> device_types;  ///< by node, as the engine said last
  std::deque<std::pair<engine::Execution, jobs::Event>> reports;
  std::map<jobs::JobId, jobs::Event> unwritten_kills;  ///< done already, by take_wish()
  std::vector<std::pair<jobs::JobId, jobs::Action>> actions;
  std::vector<JobEvent> news;
  std::deque<jobs::AttemptUse> to_measure;  ///< attempts that have ended
  std::int64_t idle_check_ns = 0;           ///< the next one, by the clock that nobody sets
  Listeners listeners;                      ///< called without the mutex
  bool undecided = true;                    ///< something has changed since the last decision
  std::optional<jobs::WallTime> decide_at_ns;
  std::condition_variable_any changed;

 private:
  /// What follows from a change that is on the disk.
  void follow(jobs::JobId id, const jobs::Event& event, const jobs::Change& change);
  void run(const std::stop_token& stop);
  /// One turn; gives for how long nothing will have to be done without an event.
  Nanoseconds turn();
  void take_reports();
  void write_what_happened();
  void enforce_limits();
  void note_running(jobs::JobId id, const jobs::Change& change);
  void account(const jobs::Job& job);
  [[nodiscard]] std::string device_type_of(const jobs::Job& job) const;
  void keep_use(const jobs::AttemptUse& use);
  /// The second thread: what the devices of jobs do and did.
  void observe(const std::stop_token& stop);
  void measure();
  void look_for_idle();
  void decide();
  void act();
  void start_job(jobs::JobId id, const jobs::Action& action);
  void publish();

  std::jthread thread_;
  std::jthread observer_;
};

}  // namespace assay::platform
