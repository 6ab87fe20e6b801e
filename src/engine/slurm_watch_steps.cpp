#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <unistd.h>

#include "core/text.h"
#include "core/time.h"
#include "engine/execution_event.h"
#include "engine/slurm_watch.h"
#include "slurm/slurm_commands.h"

// The thread that watches executions.

namespace assay::engine {

namespace {

// Between two questions for the jobs of this server: while something is to begin or end, and else.
constexpr Nanoseconds kAskSoon = std::chrono::seconds(1);
constexpr Nanoseconds kAskSeldom = std::chrono::seconds(5);
// A slurmctld that is slow is asked less: questions take a tenth of the time at most.
constexpr int kRestPerQuestion = 10;
constexpr Nanoseconds kLongestRest = std::chrono::seconds(30);
// Between two looks at the folders.
constexpr Nanoseconds kLookSoon = std::chrono::milliseconds(100);
constexpr Nanoseconds kLookSeldom = std::chrono::milliseconds(500);
// For a controller that was told to end at once: its agents kill, and remove containers.
constexpr Nanoseconds kSlurmForceLimit = std::chrono::seconds(20);
// For Slurm's word of when a job began whose controller is there.
constexpr Nanoseconds kStartWait = std::chrono::seconds(5);
// For a controller whose job has ended, as Slurm says: a file system may be slow to tell.
constexpr Nanoseconds kGoneLimit = std::chrono::minutes(1);

slurm::Allocation allocation_of(const ExecutionFolder& folder) {
  slurm::Allocation allocation = folder.allocation().value_or(slurm::Allocation{});
  if (const auto beginning = folder.beginning()) allocation.job = beginning->slurm_job;
  return allocation;
}

// By Slurm's clock: a compute node's may be wrong, and this server may have been away.
jobs::WallTime wall_of(std::int64_t seconds) {
  return seconds * std::chrono::nanoseconds(std::chrono::seconds(1)).count();
}

jobs::Event began(const Order& order, jobs::EventKind kind, const slurm::Allocation& allocation,
                  const std::vector<slurm::Job>& jobs) {
  jobs::Event event = event_of(order.execution, kind, "Slurm job " + allocation.job);
  for (const slurm::NodeAllocation& node : allocation.nodes)
    event.placement.push_back({node.node, static_cast<int>(node.devices.size())});
  if (!jobs.empty() && jobs.front().state != slurm::JobState::pending)
    event.at_ns = wall_of(jobs.front().start_s);
  return event;
}

}  // namespace

void SlurmWatch::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool busy = true;
    try {
      busy = look_at_all(stop);
    } catch (const std::exception&) {
      // No memory for a moment: looked at again.
    }
    if (busy) ask_soon();
    std::unique_lock lock(mutex_);
    if (live_.empty() && leftovers_.empty())
      changed_.wait(lock, stop, [this] { return !live_.empty(); });
    else
      changed_.wait_for(lock, stop, busy ? kLookSoon : kLookSeldom,
                        [this] { return std::exchange(news_, false); });
  }
}

bool SlurmWatch::look_at_all(const std::stop_token& stop) {
  bool ask = false;
  {
    const std::lock_guard guard(mutex_);
    ask = (!live_.empty() || !leftovers_.empty()) &&
          mono_now_ns() >= std::max(next_ask_ns_, rest_until_ns_);
  }
  if (ask) ask_slurm();
  cancel_leftovers();
  std::vector<LivePtr> all;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [execution, live] : live_)
      if (!live->with_starter) all.push_back(live);
  }
  bool busy = false;
  for (const LivePtr& live : all) {
    if (stop.stop_requested()) return busy;
    try {
      step(live);
    } catch (const std::exception&) {
      // The disk is full, or away, or this machine has nothing to spare: looked at again in a
      // moment.
    }
    const std::lock_guard guard(mutex_);
    busy |= live->phase != SlurmPhase::running || live->stopped;
  }
  return busy;
}

void SlurmWatch::ask_soon() {
  const std::lock_guard guard(mutex_);
  next_ask_ns_ = std::min(next_ask_ns_, mono_now_ns() + kAskSoon.count());
}

void SlurmWatch::ask_slurm() {
  const std::int64_t asked_ns = mono_now_ns();
  auto answer = slurm::ask_jobs({.user = ::getuid()});
  const std::int64_t took_ns = mono_now_ns() - asked_ns;
  const auto* silence = std::get_if<slurm::NoAnswer>(&answer);
  if (silence != nullptr)
    overview_.not_heard(silence->words);
  else
    overview_.heard();
  const std::lock_guard guard(mutex_);
  next_ask_ns_ = mono_now_ns() + (silence != nullptr ? kAskSoon : kAskSeldom).count();
  asked_ns_ = silence != nullptr ? 0 : asked_ns;
  if (silence != nullptr) return;
  rest_until_ns_ = mono_now_ns() + std::min(kRestPerQuestion * took_ns, kLongestRest.count());
  jobs_.clear();
  for (slurm::Job& job : std::get<std::vector<slurm::Job>>(answer))
    jobs_[job.work_folder].push_back(std::move(job));
  // Of several jobs of an execution, the one that may still do something.
  for (auto& [folder, jobs] : jobs_)
    std::ranges::stable_partition(
        jobs, [](const slurm::Job& job) { return slurm::is_active(job.state); });
}

void SlurmWatch::cancel_leftovers() {
  std::set<std::string> ids;
  {
    const std::lock_guard guard(mutex_);
    ids = leftovers_;
  }
  for (const std::string& id : ids) {
    if (!overview_.trouble().empty() || !slurm::was_heard(slurm::cancel(id))) return;
    const std::lock_guard guard(mutex_);
    leftovers_.erase(id);
  }
}

std::vector<slurm::Job> SlurmWatch::jobs_of(const Live& live,
                                            const std::optional<Beginning>& beginning) {
  const std::lock_guard guard(mutex_);
  const auto found = jobs_.find(live.folder.work().string());
  if (found == jobs_.end()) return {};
  std::vector<slurm::Job> jobs = found->second;
  if (beginning && !beginning->slurm_job.empty())
    std::erase_if(jobs, [&](const slurm::Job& job) { return job.id != beginning->slurm_job; });
  return jobs;
}

SlurmFacts SlurmWatch::look(const LivePtr& live, const std::optional<Beginning>& beginning,
                            const std::vector<slurm::Job>& jobs) {
  using Controller = SlurmFacts::Controller;
  using InSlurm = SlurmFacts::InSlurm;
  SlurmFacts facts;
  {
    const std::lock_guard guard(mutex_);
    facts.stopped = live->stopped;
    if (asked_ns_ > live->since_ns)
      facts.in_slurm = jobs.empty()                           ? InSlurm::absent
                       : slurm::is_active(jobs.front().state) ? InSlurm::active
                                                              : InSlurm::ended;
  }
  if (beginning) facts.controller = beginning->never ? Controller::never : Controller::begun;
  if (facts.controller != Controller::begun) return facts;
  facts.lives = live->folder.held();
  facts.has_end = !facts.lives && live->folder.end().has_value();
  if (facts.has_end && !facts.stopped)
    facts.completed = read_ending(live->folder, false).event.exit.ending == jobs::Ending::completed;
  const std::int64_t now_ns = mono_now_ns();
  live->gone_since_ns =
      facts.in_slurm == InSlurm::ended ? std::min(live->gone_since_ns, now_ns) : kNotPlanned;
  facts.long_gone =
      live->gone_since_ns != kNotPlanned && now_ns - live->gone_since_ns > kGoneLimit.count();
  return facts;
}

void SlurmWatch::step(const LivePtr& live) {
  SlurmPhase phase = SlurmPhase::recalled;
  {
    const std::lock_guard guard(mutex_);
    phase = live->phase;
  }
  const auto beginning = live->folder.beginning();
  const std::vector<slurm::Job> jobs = jobs_of(*live, beginning);
  const SlurmFacts facts = look(live, beginning, jobs);
  switch (next_move(phase, facts)) {
    case SlurmMove::wait:
      if (phase == SlurmPhase::running && facts.stopped && beginning)
        tell_to_end(live, beginning->slurm_job);
      if (facts.has_end) ask_soon();
      return;
    case SlurmMove::submit: {
      const std::lock_guard guard(mutex_);
      live->with_starter = true;
      to_submit_.push_back(live);
      to_submit_changed_.notify_all();
      return;
    }
    case SlurmMove::adopt: {
      const std::lock_guard guard(mutex_);
      live->phase = SlurmPhase::submitted;
      return;
    }
    case SlurmMove::say_started:
      if (start_is_known(live, jobs)) say_it_runs(live, jobs::EventKind::started, jobs);
      return;
    case SlurmMove::say_found:
      return say_it_runs(live, jobs::EventKind::found, jobs);
    case SlurmMove::say_not_found:
      return report_end(live, {event_of(live->order.execution, jobs::EventKind::not_found)});
    case SlurmMove::call_off:
      return call_off(live, jobs);
    case SlurmMove::finish:
      return finish(live, jobs);
  }
}

bool SlurmWatch::start_is_known(const LivePtr& live, const std::vector<slurm::Job>& jobs) {
  if (!jobs.empty() && jobs.front().state != slurm::JobState::pending) return true;
  // What Slurm said last was from before it began.
  const std::int64_t now_ns = mono_now_ns();
  if (live->begun_ns == kNotPlanned) live->begun_ns = now_ns;
  const std::lock_guard guard(mutex_);
  if (asked_ns_ == 0 || asked_ns_ > live->begun_ns || now_ns - live->begun_ns > kStartWait.count())
    return true;
  next_ask_ns_ = 0;
  return false;
}

void SlurmWatch::say_it_runs(const LivePtr& live, jobs::EventKind kind,
                             const std::vector<slurm::Job>& jobs) {
  slurm::Allocation allocation = allocation_of(live->folder);
  const jobs::Event event = began(live->order, kind, allocation, jobs);
  {
    const std::lock_guard guard(mutex_);
    live->phase = SlurmPhase::running;
    live->asked = live->folder.stop_noted() ? 1 : 0;
    live->allocation = std::move(allocation);
  }
  reporter_(live->order.execution, event);
}

void SlurmWatch::tell_to_end(const LivePtr& live, const std::string& id) {
  const std::int64_t now_ns = mono_now_ns();
  if (now_ns < live->press_at_ns || !overview_.trouble().empty()) return;
  int asked = 0;
  std::int64_t force_at_ns = kNotPlanned;
  {
    const std::lock_guard guard(mutex_);
    asked = live->asked;
    force_at_ns = live->force_at_ns;
  }
  if (asked == 0 || (asked == 1 && now_ns >= force_at_ns)) {
    if (asked == 0) live->folder.note_stop();
    if (!slurm::is_done(slurm::signal_script(id, "TERM"))) {
      live->press_at_ns = mono_now_ns() + kAskSoon.count();
      return;
    }
    const std::lock_guard guard(mutex_);
    if (++live->asked == 1)
      live->force_at_ns = mono_now_ns() + std::max(live->grace, kBetweenSignals).count();
    else
      live->kill_at_ns = mono_now_ns() + kSlurmForceLimit.count();
  }
  if (now_ns >= live->kill_at_ns && slurm::was_heard(slurm::cancel(id)))
    live->kill_at_ns = mono_now_ns() + kSlurmForceLimit.count();
}

// --- ending

void SlurmWatch::call_off(const LivePtr& live, const std::vector<slurm::Job>& jobs) {
  make_directories(live->folder.path());
  // Else it began in this very moment.
  if (!live->folder.decide({.never = true, .wall_ns = wall_now_ns()})) return;
  live->folder.remove_secrets();
  bool stopped = false;
  bool recalled = false;
  {
    const std::lock_guard guard(mutex_);
    stopped = live->stopped;
    recalled = live->phase == SlurmPhase::recalled;
    for (const slurm::Job& job : jobs)
      if (slurm::is_active(job.state)) leftovers_.insert(job.id);
    if (jobs.empty() && !live->slurm_job.empty()) leftovers_.insert(live->slurm_job);
  }
  const bool cancelled = !jobs.empty() && jobs.front().state == slurm::JobState::cancelled;
  if (stopped)
    report_end(live, {interrupted(live->order.execution)});
  else if (recalled && !cancelled)
    report_end(live, {event_of(live->order.execution, jobs::EventKind::not_found)});
  else
    report_end(live, events_of_loss(*live, jobs));
}

SlurmWatch::Events SlurmWatch::events_of_loss(const Live& live,
                                              const std::vector<slurm::Job>& jobs) const {
  using enum jobs::EventKind;
  if (jobs.empty())
    return {
        event_of(live.order.execution, engine_error, "Slurm has lost its job before that began")};
  const slurm::Job& job = jobs.front();
  if (job.state == slurm::JobState::cancelled) {
    jobs::Event killed = event_of(live.order.execution, kill_asked, slurm::describe_end(job));
    killed.who = "Slurm";
    return {killed, interrupted(live.order.execution)};
  }
  const std::string code = slurm::exit_code_of(job.id);
  std::string words = fmt::format("Slurm job {} ended before its controller began: {}", job.id,
                                  to_lower(printable(job.state_text)));
  if (code == std::to_string(kNoFolderCode))
    words = fmt::format(
        "the folder {} is not there on {}: the server's data folder must be on a file system that "
        "all nodes of Slurm share",
        live.folder.path().string(), job.node_list);
  else if (code == std::to_string(kNoProgramCode))
    words = fmt::format("{} is not there on {}: Assay must be installed on all nodes of Slurm",
                        (options_.bindir / "assay").string(), job.node_list);
  return {event_of(live.order.execution, engine_error, std::move(words))};
}

void SlurmWatch::finish(const LivePtr& live, std::vector<slurm::Job> jobs) {
  bool stopped = false;
  bool recalled = false;
  {
    const std::lock_guard guard(mutex_);
    stopped = live->stopped;
    recalled = live->phase == SlurmPhase::recalled;
  }
  const slurm::Allocation allocation = allocation_of(live->folder);
  // slurmctld forgets jobs after some minutes; the server may have been away for longer.
  if (jobs.empty() && !allocation.job.empty())
    if (auto job = slurm::accounted_job(allocation.job)) jobs.push_back(std::move(*job));
  RunEnding ending = read_ending(live->folder, stopped);
  ending.event.attempt = live->order.execution.attempt;
  if (!jobs.empty() && !slurm::is_active(jobs.front().state))
    ending.event.at_ns = wall_of(jobs.front().end_s);
  else if (const auto end = live->folder.end(); recalled && end)
    ending.event.at_ns = end->wall_ns;
  Events events =
      events_of_end(ending, jobs.empty() ? std::nullopt : std::optional(jobs.front()), stopped);
  // It may have begun while the server was away.
  if (recalled) {
    events.insert(events.begin(), began(live->order, jobs::EventKind::started, allocation, jobs));
    if (const auto beginning = live->folder.beginning(); beginning && events.front().at_ns == 0)
      events.front().at_ns = beginning->wall_ns;
  }
  report_end(live, events);
}

}  // namespace assay::engine
