#include "agent/round_supervisor.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/one_shot_commands.h"
#include "agent/round_summary.h"
#include "agent/self_usage.h"
#include "core/env_names.h"
#include "core/error.h"
#include "core/host.h"
#include "core/process_tree.h"
#include "core/run_layout.h"

namespace assay::agent {

namespace {

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr std::int64_t kTicksPerHeartbeat = 5;
// Reading the environment of every process costs a few milliseconds.
constexpr std::int64_t kBetweenMarks = 10'000'000'000;
// For containers that outlasted the kill of their ranks.
constexpr Nanoseconds kSecondCleanupLimit = kCleanupLimit / 2;

}  // namespace

RoundSupervisor::RoundSupervisor(asio::io_context& loop, int node, RoundRequest request, Send send,
                                 std::function<void()> done)
    : loop_(loop),
      node_(node),
      request_(std::move(request)),
      send_(std::move(send)),
      done_(std::move(done)),
      rank_watch_(
          request_.stall_limit, request_.time_limit,
          std::ranges::any_of(request_.ranks,
                              [](const RankRequest& rank) { return !rank.cleanup.empty(); })),
      timer_(loop),
      live_telemetry_(request_.directory / layout::kTelemetry) {}

RoundSupervisor::~RoundSupervisor() = default;

bool RoundSupervisor::relay(const Relay& relay) {
  if (!ssh_) return false;
  ssh_->receive(relay);
  if (ssh_) most_marked_ = std::max(most_marked_, std::min(ssh_->visitors().started(), 1));
  return true;
}

// By hand: one line in an agent's life does not justify a logging library in a static program.
void RoundSupervisor::note(const std::string& text) const {
  std::ofstream(request_.directory / "agent.log", std::ios::app)
      << iso_utc(wall_now_ns()) << ' ' << text << '\n';
}

void RoundSupervisor::schedule_tick() {
  timer_.expires_at(std::chrono::steady_clock::time_point(Nanoseconds(started_ns_)) +
                    kTick * (ticks_ + 1));
  timer_.async_wait([this](const asio::error_code& ec) {
    if (!ec) tick();
  });
}

void RoundSupervisor::tick() {
  const std::int64_t mono = mono_now_ns();
  ticks_ = (mono - started_ns_) / Nanoseconds(kTick).count();
  children_changed();
  if (phase_ == Phase::ended || (phase_ == Phase::closing && !removing_)) return;
  if (phase_ == Phase::running && !rests_) check_limits(mono);
  if (phase_ == Phase::running && !rests_ && ticks_ % kTicksPerHeartbeat == 0) check_rest(mono);
  if (phase_ == Phase::stopping && mono >= kill_at_ns_) kill_round();
  if (phase_ == Phase::leftovers) look_for_leftovers();
  if ((phase_ == Phase::closing && !removing_) || phase_ == Phase::ended) return;
  if (ticks_ % kTicksPerHeartbeat == 0) {
    send_heartbeat();
    send_live();
  }
  if (phase_ == Phase::running && !rests_) watch_->look(mono);
  if (phase_ == Phase::running) look_where_ranks_run(mono);
  if (phase_ == Phase::running && only_watches() && mono >= next_marks_ns_) {
    most_marked_ = std::max(most_marked_, static_cast<int>(marked_processes().size()));
    next_marks_ns_ = mono + kBetweenMarks;
  }
  report_log_errors();
  schedule_tick();
}

void RoundSupervisor::children_changed() {
  if (ssh_) ssh_->children_changed();
  if (phase_ != Phase::running && phase_ != Phase::stopping) return;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i]->reap()) continue;
    // Its container removed itself. After a stop, a runtime interrupted while starting one also
    // exits with 0 but leaves it.
    if (ranks_[i]->exit()->ok() && !stop_cause_) request_.ranks[i].cleanup.clear();
    if (!rests_) report_exit(*ranks_[i]);
  }
  if (removing_ || any_running() || (only_watches() && phase_ == Phase::running)) return;
  if (ssh_ && !ssh_->visitors().finish()) return;
  if (!rests_) finish_watching(mono_now_ns());
  phase_ = Phase::leftovers;
  leftovers_.begin(mono_now_ns());
  look_for_leftovers();
}

void RoundSupervisor::check_limits(std::int64_t mono) {
  const auto late = [&](Nanoseconds limit) {
    return limit.count() > 0 && mono - started_ns_ > limit.count();
  };
  if (!late(request_.time_limit)) return;
  send_(LimitReached{rank_watch_.silent(mono, ranks_)});
  stop(EndedBy::time_limit, request_.grace);
}

void RoundSupervisor::finish_watching(std::int64_t mono) {
  machine_use_ = watch_->finish(mono);
  if (rounds_here_) machine_use_->other_runs = rounds_here_->finish(mono);
  rounds_here_.reset();
}

void RoundSupervisor::check_rest(std::int64_t mono) {
  if (!request_.ends_at_rest || only_watches()) return;
  const bool worked = std::ranges::any_of(
      ranks_, [](const auto& rank) { return rank->log().received_bytes() > 0; });
  const auto since = rest_watch_.look(mono, living_processes(), worked);
  if (!since) return;
  rests_ = true;
  finish_watching(mono);
  // A sleeping machine's readings say nothing about the training.
  if (recorder_) recorder_->stop([] {});
  const std::int64_t ago = mono - *since;
  const Instant at = now();
  for (const auto& rank : ranks_) {
    if (!rank->running()) continue;
    RankExit exit = exit_of(*rank);
    exit.exit = ExitStatus{.code = 0, .signal = {}};
    exit.rests = true;
    exit.at = {at.mono_ns - ago, at.wall_ns - ago};
    send_(exit);
  }
}

void RoundSupervisor::stop(EndedBy cause, Nanoseconds grace) {
  const std::int64_t kill_at = mono_now_ns() + grace.count();
  if (phase_ == Phase::stopping || (phase_ == Phase::leftovers && stop_cause_)) {
    kill_at_ns_ = std::min(kill_at_ns_, kill_at);
    return;
  }
  if (phase_ != Phase::running) return;
  phase_ = Phase::stopping;
  stop_cause_ = cause;
  kill_at_ns_ = kill_at;
  for (const auto& rank : ranks_) {
    rank->signal(SIGTERM);
    rank->signal(SIGCONT);  // a stopped process acts on the signal only once it continues
  }
  if (ssh_) ssh_->visitors().signal(SIGTERM);
  children_changed();
}

std::vector<pid_t> RoundSupervisor::living_processes() const {
  std::vector<pid_t> found = descendants(::getpid());
  if (recorder_) {
    const std::vector<int> samplers = recorder_->sampler_pids();
    std::set<pid_t> keep(samplers.begin(), samplers.end());
    for (const int sampler : samplers)
      for (const pid_t child : descendants(sampler)) keep.insert(child);
    std::erase_if(found, [&](pid_t pid) { return keep.contains(pid); });
  }
  if (only_watches() || request_.owns_marked)
    for (const pid_t pid : marked_processes()) found.push_back(pid);
  return found;
}

// Leaves out those of another agent of the round on the same machine.
std::vector<pid_t> RoundSupervisor::marked_processes() const {
  std::vector<pid_t> found = processes_of_round(request_.id);
  std::erase_if(found, [](pid_t pid) { return is_below(pid, "assay-agent"); });
  return found;
}

std::vector<pid_t> RoundSupervisor::job_processes() const {
  std::set<pid_t> found;
  if (watch_) found.insert(watch_->own_processes().begin(), watch_->own_processes().end());
  for (const auto& rank : ranks_)
    if (rank->running()) found.insert(rank->pid());
  return {found.begin(), found.end()};
}

// Removes containers first: they go at once while their supervisors live.
void RoundSupervisor::kill_round() {
  if (removing_) return;
  if (std::exchange(removed_at_kill_, true)) return kill_everything();
  remove_containers([this] {
    kill_everything();
    children_changed();
  });
}

void RoundSupervisor::kill_everything() {
  for (const auto& rank : ranks_) rank->signal(SIGKILL);
  for (const pid_t pid : living_processes()) ::kill(pid, SIGKILL);
}

// Processes of a rank's group were asked with it; to them, a second signal may mean "at once".
bool RoundSupervisor::was_asked_with_its_rank(pid_t pid) const {
  const pid_t group = ::getpgid(pid);
  return std::ranges::any_of(ranks_, [&](const auto& rank) { return rank->pid() == group; });
}

std::set<int> RoundSupervisor::held_outputs() {
  std::set<int> held;
  for (const auto& rank : ranks_)
    if (rank->output_held()) held.insert(rank->rank());
  return held;
}

void RoundSupervisor::look_for_leftovers() {
  // This agent is a subreaper, so orphans become its children and end as its zombies.
  const std::vector<pid_t> left = living_processes();
  const std::set<int> held = held_outputs();
  if (left.empty()) {
    // Somebody lives who holds an output: a daemon may change its parent between two looks.
    if (!held.empty() && leftovers_.patient(mono_now_ns())) return;
    if (!stop_cause_) held_.insert(held.begin(), held.end());
    return close();
  }
  using Action = Leftovers::Action;
  const Action action =
      leftovers_.next(mono_now_ns(), left.size(),
                      stop_cause_ ? std::optional<std::int64_t>(kill_at_ns_) : std::nullopt);
  if (action == Action::wait) return;
  if (action == Action::give_up) {
    for (const pid_t pid : left) send_(Unkillable{pid, std::string(1, process_state(pid))});
    return close();
  }
  if (!stop_cause_) held_.insert(held.begin(), held.end());
  for (const pid_t pid : left) {
    if (action == Action::ask && was_asked_with_its_rank(pid)) continue;
    ::kill(pid, action == Action::kill ? SIGKILL : SIGTERM);
    ::kill(pid, SIGCONT);
  }
}

void RoundSupervisor::close() {
  phase_ = Phase::closing;
  remove_containers([this] { finish(); });
  ssh_.reset();
}

void RoundSupervisor::finish() {
  timer_.cancel();
  for (const auto& rank : ranks_) rank->close_output();
  ssh_.reset();
  dlws_home_.reset();
  report_log_errors();
  const auto end_round = [this] {
    // Collects zombies adopted from the ranks.
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    RoundEnd end;
    end.id = request_.id;
    if (evidence_) list_files(end);
    recorder_.reset();
    phase_ = Phase::ended;
    end.agent_cpu_s = self_cpu_s() - cpu_before_s_;
    end.agent_rss_bytes = peak_resident_bytes();
    end.killed_leftovers = leftovers_.noteworthy();
    end.output_held.assign(held_.begin(), held_.end());
    if (only_watches()) end.marked = most_marked_;
    end.machine = machine_use_;
    for (const auto& rank : ranks_)
      if (rank->log().dropped_bytes() > 0)
        end.dropped.push_back({rank->rank(), rank->log().dropped_bytes()});
    end.at = now();
    send_(end);
    done_();
  };
  if (recorder_)
    recorder_->stop(end_round);
  else
    asio::post(loop_, end_round);
}

void RoundSupervisor::remove_containers(std::function<void()> then) {
  std::vector<std::vector<std::string>> commands;
  for (std::size_t i = 0; i < ranks_.size(); ++i) commands.push_back(request_.ranks[i].cleanup);
  if (ssh_ && ssh_->visitors().used_container()) commands.push_back(request_.ssh.cleanup);
  if (std::ranges::all_of(commands, &std::vector<std::string>::empty)) return then();
  const bool again = phase_ == Phase::closing && removed_at_kill_;
  removing_ = true;
  const auto gone = [this, commands, then = std::move(then)](const std::exception_ptr& /*error*/,
                                                             const std::vector<bool>& removed) {
    removing_ = false;
    for (std::size_t i = 0; i < removed.size(); ++i) {
      const bool of_a_rank = i < ranks_.size();
      if (removed[i] && of_a_rank) request_.ranks[i].cleanup.clear();
      if (removed[i] || phase_ != Phase::closing) continue;
      send_gap(of_a_rank ? "rank" + std::to_string(ranks_[i]->rank()) : "ssh", 0,
               "its container could not be removed with " + commands[i].front());
    }
    then();
  };
  asio::co_spawn(loop_, clean_up(commands, again ? kSecondCleanupLimit : kCleanupLimit), gone);
}

bool RoundSupervisor::any_running() const {
  return std::ranges::any_of(ranks_, [](const auto& rank) { return rank->running(); }) ||
         (ssh_ && ssh_->visitors().busy());
}

void RoundSupervisor::look_where_ranks_run(std::int64_t mono) {
  if (request_.bind.mode == BindMode::none) return;
  std::map<int, pid_t> running;
  for (const auto& rank : ranks_)
    if (rank->running()) running[rank->rank()] = rank->pid();
  rank_places_.look(mono, running);
}

RankExit RoundSupervisor::exit_of(const RankProcess& rank) const {
  RankExit report;
  report.rank = rank.rank();
  report.local_rank = rank.local_rank();
  report.ended_by = stop_cause_.value_or(EndedBy::itself);
  report.log_bytes = rank.log().received_bytes();
  report.dropped_bytes = rank.log().dropped_bytes();
  report.steps = rank.progress().steps();
  return report;
}

void RoundSupervisor::report_exit(const RankProcess& rank) {
  RankExit report = exit_of(rank);
  report.exit = *rank.exit();
  report.at = rank.ended();
  if (CpuSet seen = rank_places_.seen(rank.rank()); !seen.empty()) report.ran_on = std::move(seen);
  send_(report);
}

void RoundSupervisor::report_log_errors() {
  if (log_error_reported_) return;
  for (const auto& rank : ranks_) {
    if (rank->log().write_error().empty()) continue;
    log_error_reported_ = true;
    const std::string log = layout::rank_log(rank->rank());
    send_gap(log, 0, rank->log().write_error(), log);
    return;
  }
}

std::vector<evidence::FileRecord> RoundSupervisor::written_files() const {
  std::vector<evidence::FileRecord> files;
  for (const auto& rank : ranks_)
    for (evidence::FileRecord& file : rank->log().files()) files.push_back(std::move(file));
  if (recorder_)
    if (auto table = recorder_->table()) files.push_back(std::move(*table));
  return files;
}

void RoundSupervisor::list_files(RoundEnd& end) {
  std::vector<std::string> problems;
  end.files = evidence_->finish(now(), written_files(), problems);
  end.head = evidence_->head();
  for (const std::string& problem : problems) send_gap(std::string(layout::kEvidence), 0, problem);
  if (const int error = evidence_->last_error(); error != 0)
    send_gap(std::string(layout::kEvidence), 0, std::strerror(error),
             std::string(layout::kEvidence));
}

void RoundSupervisor::send_gap(const std::string& source, double gap_seconds,
                               const std::string& reason, const std::string& file) {
  send_(Gap{source, gap_seconds, reason, now(), file});
}

void RoundSupervisor::send_heartbeat() {
  Heartbeat beat = heartbeat_of(ranks_, recorder_.get(), now());
  beat.id = request_.id;
  beat.silent = rank_watch_.silent(beat.at.mono_ns, ranks_);
  const int error = evidence_->add(beat.at, written_files());
  if (error != 0 && !std::exchange(chain_error_reported_, true))
    send_gap(std::string(layout::kEvidence), 0, std::strerror(error));
  beat.head = evidence_->head();
  send_(beat);
}

void RoundSupervisor::send_live() {
  if (request_.live_bytes == 0) return;
  for (const auto& rank : ranks_)
    if (auto piece = rank->take_live())
      send_(Output{request_.id, layout::rank_log(rank->rank()), std::move(piece->data),
                   piece->skipped_bytes});
  if (std::string rows = live_telemetry_.take(request_.live_bytes); !rows.empty())
    send_(Output{request_.id, std::string(layout::kTelemetry), std::move(rows), 0});
}

RoundMetrics RoundSupervisor::metrics() const {
  RoundMetrics out = metrics_of(ranks_, recorder_.get(), mono_now_ns());
  out.case_name = request_.case_name;
  out.round = request_.round;
  out.running = phase_ != Phase::ended;
  return out;
}

}  // namespace assay::agent
