#include "engine/execution_watch.h"

#include <algorithm>
#include <exception>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/regular_file.h"
#include "core/text.h"
#include "core/time.h"
#include "engine/execution_event.h"
#include "engine/sweep_execution.h"

namespace assay::engine {

namespace {

// For agents whose controller was killed: they end their ranks themselves.
constexpr Nanoseconds kPatience = std::chrono::seconds(20);
constexpr int kBeginPollMs = 5;
constexpr int kSlowPollMs = 1000;
constexpr std::size_t kLogShown = 500;

std::map<std::string, int> capacities(const std::vector<EmbeddedNode>& nodes) {
  std::map<std::string, int> out;
  for (const EmbeddedNode& node : nodes) out[node.name] = node.devices;
  return out;
}

Beginning never_begins() {
  return {.never = true, .wall_ns = wall_now_ns()};
}

std::string end_of_log(const ExecutionFolder& folder) {
  const std::string log = read_regular_file_or_empty(folder.log());
  return printable(
      trim(std::string_view(log).substr(log.size() > kLogShown ? log.size() - kLogShown : 0)));
}

}  // namespace

std::vector<EmbeddedNode> nodes_of(const jobs::Placement& placement,
                                   const std::vector<EmbeddedNode>& nodes) {
  std::vector<EmbeddedNode> out;
  for (const jobs::NodeShare& share : placement) {
    const auto node = std::ranges::find(nodes, share.node, &EmbeddedNode::name);
    if (node == nodes.end())
      throw Error(ErrorKind::environment, "there is no node '" + share.node + "' any more");
    out.push_back(*node);
  }
  return out;
}

ExecutionWatch::ExecutionWatch(EmbeddedOptions options, Engine::Reporter reporter, Doubt doubt)
    : options_(std::move(options)),
      reporter_(std::move(reporter)),
      doubt_(std::move(doubt)),
      allocation_(capacities(options_.nodes)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_)
    throw system_error(ErrorKind::environment, "cannot make an event descriptor", {}, errno);
  starter_ = std::jthread([this](const std::stop_token& stop) { start_orders(stop); });
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

ExecutionWatch::~ExecutionWatch() {
  starter_.request_stop();
  watcher_.request_stop();
  to_start_changed_.notify_all();
  wake();
  // No sweeper begins when these two are gone.
  starter_.join();
  watcher_.join();
  for (Sweeper& sweeper : sweepers_) sweeper.thread.request_stop();
}

void ExecutionWatch::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void ExecutionWatch::forget(const Execution& execution) {
  allocation_.release(execution);
  live_.erase(execution);
}

void ExecutionWatch::report_all(Reports& reports) {
  while (!reports.empty()) {
    reporter_(reports.front().first, reports.front().second);
    reports.pop_front();
  }
}

void ExecutionWatch::start(const Order& order) {
  const std::lock_guard guard(mutex_);
  if (live_.contains(order.execution)) return;  // it is started already
  // In this order: where there is no memory for one of them, it is not started, and may be later.
  to_start_.push_back(order.execution);
  live_.emplace(order.execution, Live{order, ExecutionFolder(order.folder)});
  to_start_changed_.notify_all();
}

void ExecutionWatch::stop(const Execution& execution, Nanoseconds grace) {
  const std::lock_guard guard(mutex_);
  const auto found = live_.find(execution);
  if (found == live_.end()) return;  // its end was reported
  found->second.stop.want(mono_now_ns(), grace);
  wake();
}

void ExecutionWatch::recall(const std::vector<Order>& orders) {
  const std::lock_guard guard(mutex_);
  for (const Order& order : orders) {
    const auto [at, fresh] =
        live_.emplace(order.execution, Live{order, ExecutionFolder(order.folder)});
    if (!fresh) continue;
    at->second.phase = Phase::recalled;
    if (const auto task = at->second.folder.task())
      allocation_.restore(order.execution, task->devices);
  }
  wake();
}

DeviceAllocation::Devices ExecutionWatch::devices_of(const Execution& execution) {
  const std::lock_guard guard(mutex_);
  return allocation_.of(execution);
}

std::filesystem::path ExecutionWatch::run_of(const Execution& execution) {
  const std::lock_guard guard(mutex_);
  const auto found = live_.find(execution);
  return found == live_.end() || found->second.phase != Phase::running ? std::filesystem::path()
                                                                       : found->second.folder.run();
}

// --- starting

void ExecutionWatch::start_orders(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    to_start_changed_.wait(lock, stop, [this] { return !to_start_.empty(); });
    if (stop.stop_requested()) return;
    const Execution execution = to_start_.front();
    to_start_.pop_front();
    const auto found = live_.find(execution);
    if (found == live_.end() || found->second.phase != Phase::waiting) continue;
    try {
      const Order order = found->second.order;
      const bool possible = allocation_.can_ever_take(order.placement);
      const auto devices = allocation_.take(execution, order.placement);
      lock.unlock();
      start_order(order, devices, possible);
    } catch (const std::exception&) {
      // It cannot be looked at, or there is no memory to spare: what has become of it is found out
      // as after a restart.
      if (!lock.owns_lock()) lock.lock();
      if (const auto again = live_.find(execution); again != live_.end()) {
        again->second.phase = Phase::recalled;
        wake();
      }
    }
  }
}

ControllerProcess ExecutionWatch::launch(const Order& order,
                                         const DeviceAllocation::Devices& devices) {
  const PlacedSuite suite =
      place_suite(order, nodes_of(order.placement, options_.nodes), devices, options_.ssh);
  const ExecutionFolder folder(order.folder);
  write_execution(order, suite,
                  {.job = order.execution.job,
                   .attempt = order.execution.attempt,
                   .set = suite.set,
                   .devices = devices,
                   .remote_work = suite.remote_work,
                   .processors = suite.processors,
                   .secrets = suite.secrets},
                  folder);
  return start_controller(folder, options_.bindir, suite, order.secrets);
}

void ExecutionWatch::start_order(const Order& order,
                                 const std::optional<DeviceAllocation::Devices>& devices,
                                 bool possible) {
  ControllerProcess process;
  std::string problem;
  // Started before: it is found, not started again.
  const bool known = ExecutionFolder(order.folder).beginning().has_value();
  try {
    if (!known && !possible)
      problem = "a node of it is not there any more, or has fewer devices";
    else if (!known && !devices)
      problem = "not enough devices are free on its nodes";
    else if (!known)
      process = launch(order, *devices);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::unique_lock lock(mutex_);
  Live& live = live_.at(order.execution);
  if (known) {
    live.phase = Phase::recalled;
  } else if (problem.empty()) {
    live.process = std::move(process);
    live.phase = Phase::starting;
    live.begin_by_ns = mono_now_ns() + options_.begin_limit.count();
  } else {
    forget(order.execution);
    lock.unlock();
    reporter_(order.execution, event_of(order.execution,
                                        possible && !devices ? jobs::EventKind::not_placed
                                                             : jobs::EventKind::engine_error,
                                        problem));
    return;
  }
  wake();
}

// --- watching

void ExecutionWatch::watch(const std::stop_token& stop) {
  Reports reports;
  while (!stop.stop_requested()) {
    try {
      watch_once(reports);
    } catch (const std::exception&) {
      ::poll(nullptr, 0, kSlowPollMs);  // no memory for a moment
    }
  }
}

void ExecutionWatch::watch_once(Reports& reports) {
  std::vector<pollfd> descriptors{{wake_.get(), POLLIN, 0}};
  int wait_ms = -1;
  bool all = true;
  {
    const std::lock_guard guard(mutex_);
    all = step_all(reports);
    for (const auto& [execution, live] : live_) {
      if (live.process && (live.phase == Phase::starting || live.phase == Phase::running))
        descriptors.push_back({live.process.descriptor(), POLLIN, 0});
      const int own = wait_of(live);
      if (own >= 0) wait_ms = wait_ms < 0 ? own : std::min(wait_ms, own);
    }
  }
  if (!reports.empty()) return report_all(reports);
  // What could not be done about an end that shows on a descriptor is not tried without a pause.
  if (all)
    ::poll(descriptors.data(), descriptors.size(), wait_ms);
  else
    ::poll(descriptors.data(), 1, kSlowPollMs);
  std::uint64_t ignored = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &ignored, sizeof ignored);
}

void ExecutionWatch::find_process(Live& live) {
  if (live.process || live.process.pid() == 0) return;
  ControllerProcess process(live.process.pid());
  // A child that is not collected keeps its number. Of another: while the lock is held, its holder
  // lives, and the process of that number is no other.
  if (process && (live.phase == Phase::starting || live.folder.held()))
    live.process = std::move(process);
}

int ExecutionWatch::wait_of(const Live& live) {
  if (live.phase == Phase::starting) return live.stop.killed() ? kSlowPollMs : kBeginPollMs;
  if (live.phase == Phase::recalled) return kSlowPollMs;
  if (live.phase != Phase::running) return -1;
  if (const std::int64_t at_ns = live.stop.next_ns(); at_ns != StopSteps::kNever)
    return static_cast<int>(
        std::clamp<std::int64_t>((at_ns - mono_now_ns()) / 1'000'000 + 1, 0, kSlowPollMs));
  return live.process ? -1 : kSlowPollMs;
}

bool ExecutionWatch::step_all(Reports& reports) {
  std::erase_if(sweepers_, [](const Sweeper& sweeper) { return sweeper.done->load(); });
  bool all = true;
  std::vector<Execution> gone;
  for (auto& [execution, live] : live_) {
    try {
      if (step(execution, live, reports)) gone.push_back(execution);
    } catch (const std::exception&) {
      // The disk is full, or away, or there is no descriptor, thread or memory to spare.
      all = false;
    }
  }
  for (const Execution& execution : gone) forget(execution);
  return all;
}

bool ExecutionWatch::step(const Execution& execution, Live& live, Reports& reports) {
  switch (live.phase) {
    case Phase::recalled:
      return step_recalled(execution, live, reports);
    case Phase::starting:
      return step_starting(execution, live, reports);
    case Phase::running:
      step_running(execution, live);
      return false;
    case Phase::waiting:
    case Phase::ending:
      return false;
  }
  return false;
}

bool ExecutionWatch::step_recalled(const Execution& execution, Live& live, Reports& reports) {
  make_directories(live.folder.path());
  const bool never = live.folder.decide(never_begins());
  const auto beginning = live.folder.beginning();
  if (never || (beginning && beginning->never)) {
    reports.emplace_back(execution, event_of(execution, jobs::EventKind::not_found));
    return true;
  }
  if (!beginning) throw Error(ErrorKind::environment, "begun.json cannot be read");
  // While the lock is held, its holder lives, and the process of that number is no other.
  ControllerProcess process(beginning->pid);
  if (!live.folder.held()) {
    live.ended_unseen = true;
    sweep(execution, live);
    return false;
  }
  reports.emplace_back(execution, event_of(execution, jobs::EventKind::found));
  // It may have begun while the server was away.
  reports.back().second.at_ns = beginning->wall_ns;
  live.process = std::move(process);
  if (live.folder.stop_noted()) live.stop.was_told();
  live.phase = Phase::running;
  return false;
}

bool ExecutionWatch::step_starting(const Execution& execution, Live& live, Reports& reports) {
  find_process(live);
  auto beginning = live.folder.beginning();
  if (!beginning && live.stop.wanted()) {
    (void)live.folder.decide(never_begins());
    beginning = live.folder.beginning();
  }
  if (beginning && !beginning->never) {
    reports.emplace_back(execution, event_of(execution, jobs::EventKind::started));
    live.phase = Phase::running;
    return false;
  }
  const bool late = mono_now_ns() > live.begin_by_ns;
  if (!live.process.ended() && !late) return false;
  // It cannot begin any more: either it is gone, or it finds that it must not.
  if (!beginning && !live.folder.decide(never_begins())) {
    beginning = live.folder.beginning();
    if (!beginning || !beginning->never) return false;  // it began in this very moment
  }
  if (live.process && !live.process.ended()) {
    // A killed process needs a moment to end. Until then it is not to be collected, and has its
    // devices.
    live.process.signal(SIGKILL);
    live.stop.kill();
    return false;
  }
  live.process.reap();
  reports.emplace_back(
      execution, live.stop.wanted()
                     ? interrupted(execution)
                     : event_of(execution, jobs::EventKind::engine_error,
                                late ? "the controller did not begin in time"
                                     : "the controller ended at once: " + end_of_log(live.folder)));
  return true;
}

void ExecutionWatch::step_running(const Execution& execution, Live& live) {
  find_process(live);
  if (live.process ? live.process.ended() : !live.folder.held()) {
    live.process.reap();
    sweep(execution, live);
    return;
  }
  const std::int64_t now_ns = mono_now_ns();
  const StopSteps::Step due = live.stop.due(now_ns);
  if (due == StopSteps::Step::none) return;
  if (due == StopSteps::Step::tell) {
    try {
      live.folder.note_stop();
    } catch (const Error&) {
      // The disk is full, perhaps by this very job: it is stopped all the same, and a server that
      // comes after this one would only begin anew with it.
    }
  }
  live.process.signal(due == StopSteps::Step::kill ? SIGKILL : SIGTERM);
  live.stop.did(due, now_ns);
}

// --- ending

void ExecutionWatch::sweep(const Execution& execution, Live& live) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  const Nanoseconds patience = live.stop.killed() ? Nanoseconds(0) : kPatience;
  // Its place first: a thread that has begun must not be without one. It waits for the mutex, which
  // is held here, before it forgets the execution.
  sweepers_.push_back({std::jthread(), done});
  try {
    sweepers_.back().thread =
        std::jthread([this, execution, folder = live.folder, placement = live.order.placement,
                      stopped = live.stop.wanted(), unseen = live.ended_unseen, patience,
                      done](const std::stop_token& stop) {
          finish(execution, folder, placement, {stopped, unseen}, patience, stop);
          done->store(true);
        });
  } catch (const std::exception&) {
    sweepers_.pop_back();
    throw;
  }
  live.phase = Phase::ending;
}

void ExecutionWatch::finish(const Execution& execution, const ExecutionFolder& folder,
                            const jobs::Placement& placement, const Circumstances& how,
                            Nanoseconds patience, const std::stop_token& stop) {
  Reports reports;  // empty: something of it may still run
  for (;;) {
    try {
      if (reports.empty() && sweep_execution(folder, options_.bindir, patience, stop)) {
        const RunEnding ending = read_ending(folder, how.stopped);
        doubt_nodes(placement, ending);
        Reports all = reports_of_end(execution, folder, placement, ending, how);
        const std::lock_guard guard(mutex_);
        forget(execution);
        reports = std::move(all);
      }
      if (!reports.empty()) return report_all(reports);
    } catch (const std::exception&) {
      // No descriptor or memory to spare: what was not reported is reported in a moment.
    }
    // What cannot be killed now (it waits for a disk) may be gone later.
    if (stop.stop_requested()) return;
    patience = Nanoseconds(0);
    ::poll(nullptr, 0, kSlowPollMs);
  }
}

void ExecutionWatch::doubt_nodes(const jobs::Placement& placement, const RunEnding& ending) const {
  if (!doubt_ || (ending.lost.empty() && ending.unreached.empty() &&
                  ending.event.kind != jobs::EventKind::engine_error))
    return;
  for (const jobs::NodeShare& share : placement)
    doubt_(share.node,
           ending.unreached.contains(share.node) ? ending.event.may_run_on : Nanoseconds(0));
}

ExecutionWatch::Reports ExecutionWatch::reports_of_end(const Execution& execution,
                                                       const ExecutionFolder& folder,
                                                       const jobs::Placement& placement,
                                                       RunEnding ending,
                                                       const Circumstances& how) const {
  ending.event.attempt = execution.attempt;
  // That a node died before anything of the job was there is no fault of the job, nor an attempt.
  const auto nodes = nodes_of(placement, options_.nodes);
  if (ending.never_began && ending.lost.empty() &&
      std::ranges::any_of(nodes, &EmbeddedNode::remote))
    ending.event.kind = jobs::EventKind::not_placed;
  Reports reports;
  if (how.unseen) {
    jobs::Event began = event_of(execution, jobs::EventKind::started);
    if (const auto beginning = folder.beginning()) began.at_ns = beginning->wall_ns;
    reports.emplace_back(execution, began);
    if (const auto end = folder.end()) ending.event.at_ns = end->wall_ns;
  }
  if (!ending.lost.empty())
    reports.emplace_back(execution, event_of(execution, jobs::EventKind::node_lost, ending.lost));
  reports.emplace_back(execution, ending.event);
  return reports;
}

}  // namespace assay::engine
