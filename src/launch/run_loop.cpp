#include "launch/run_loop.h"

#include <algorithm>
#include <optional>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/signal_set.hpp>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/round_listing.h"
#include "launch/run_on_thread.h"
#include "launch/run_records.h"
#include "plan/dependencies.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

constexpr std::int64_t kLiveEvery = 900'000'000;

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

RunLoop::RunLoop(store::RunDir run, Observer& observer, MakeBackend make_backend)
    : run_(std::move(run)), observer_(observer), make_backend_(std::move(make_backend)) {
  for (const plan::CasePlan& plan_case : run_.plan().cases) rounds_total_ += plan_case.rounds();
}

RunStatus RunLoop::execute() {
  const store::RunLock lock(run_.path());
  asio::io_context loop(1);
  std::exception_ptr failure;
  RunStatus status = RunStatus::failed;
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  // nohup: the run is meant to outlive its terminal.
  if (!is_ignored(SIGHUP)) signals.add(SIGHUP);
  std::function<void()> wait_for_signal = [&] {
    signals.async_wait([&](const asio::error_code& ec, int) {
      if (ec) return;
      interrupt();
      wait_for_signal();
    });
  };
  wait_for_signal();
  ::signal(SIGPIPE, SIG_IGN);
  // A file beyond the user's limit (ulimit -f) is a file that cannot be written, not the end.
  ::signal(SIGXFSZ, SIG_IGN);
  asio::co_spawn(loop, execute_rounds(loop),
                 [&](const std::exception_ptr& error, RunStatus result) {
                   failure = error;
                   status = result;
                   hooks_.reset();
                   backend_.reset();
                   signals.cancel();
                 });
  loop.run();
  std::error_code ignored;
  std::filesystem::remove(run_.live_file(), ignored);
  std::filesystem::remove_all(run_.live_logs(), ignored);
  if (failure) std::rethrow_exception(failure);
  return status;
}

asio::awaitable<void> RunLoop::keep_on_disk(std::filesystem::path path) {
  std::string problem;
  try {
    co_await run_on_thread([&] { sync_to_disk(path); });
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty()) observer_.warning("evidence may not survive a power failure: " + problem);
}

void RunLoop::interrupt() {
  observer_.stopping(++interrupts_);
  if (hooks_) hooks_->interrupt(interrupts_);
  if (backend_) backend_->interrupt(interrupts_);
}

asio::awaitable<RunStatus> RunLoop::execute_rounds(asio::io_context& loop) {
  const bool resumed = std::filesystem::exists(run_.journal_file());
  std::vector<Json> journal;
  if (resumed) {
    journal = store::Journal::read(run_.journal_file());
    finished_ = finished_rounds(journal);
    started_ = last_started(journal);
    for (const auto& [name, round] : started_) begun_.insert(name);
    ended_ = store::ended_repeats(journal);
    if (const auto status = final_status(journal)) {
      if (store::ended_unsealed(journal) && unproven_.empty() &&
          !std::filesystem::exists(run_.path() / layout::kSeal)) {
        observer_.remark("nothing is left to run: the run gets the seal that it lacked");
        journal_ = std::make_unique<store::Journal>(run_.journal_file());
        seal();
      } else {
        observer_.remark("nothing is left to run: the run and its seal stay as they are");
      }
      co_return *status;
    }
  }
  break_seal(run_);
  seal_room_.emplace(run_.path());
  journal_ = std::make_unique<store::Journal>(run_.journal_file());
  journal_->append(resumed ? store::JournalEvent::run_resume : store::JournalEvent::run_start,
                   run_start(run_));
  note_unproven(*journal_, unproven_);
  const BackendContext context{loop, run_, *journal_, observer_};
  backend_ = make_backend_(context);
  make_hooks(context, journal);
  co_await backend_->prepare();
  if (!std::filesystem::exists(run_.system_file())) {
    write_system(run_, *journal_, co_await backend_->describe(), declared_);
    asio::co_spawn(loop, keep_on_disk(run_.system_file()), asio::detached);
  }
  co_await execute_cases();
  if (interrupts_ == 0) {
    const Json states = co_await backend_->device_states();
    // Without them the run is no less a run.
    try {
      add_states_after(run_, *journal_, states);
    } catch (const Error& error) {
      observer_.warning(std::string("the devices' state after the run is not known: ") +
                        error.what());
    }
  }
  co_await backend_->close();
  const RunStatus status = interrupts_ > 0 && is_cut_off() ? RunStatus::interrupted
                           : all_completed_                ? RunStatus::completed
                                                           : RunStatus::failed;
  journal_->append(store::JournalEvent::run_end, fields_to_json(store::RunEnd{status}));
  journal_->sync();
  hooks_.reset();
  backend_.reset();
  seal();
  co_return status;
}

void RunLoop::seal() {
  const std::optional<evidence::SigningKey> key = key_of_run(*journal_, observer_);
  journal_->sync();
  journal_.reset();  // gives back the space that it had set aside: the seal may need it
  seal_room_.reset();
  seal_run(run_, key, observer_);
}

void RunLoop::make_hooks(const BackendContext& context, const std::vector<Json>& events) {
  HookRunner::Rounds rounds;
  rounds.on_nodes = [this](const plan::CasePlan& hook_case, int number) {
    return run_hook_on_nodes(hook_case, number);
  };
  rounds.end = [this](const std::string& name, int number, const RoundOutcome& outcome) {
    return end_round(name, number, outcome);
  };
  hooks_ = std::make_unique<HookRunner>(context, std::move(rounds), events);
}

asio::awaitable<void> RunLoop::execute_cases() {
  const plan::Plan& plan = run_.plan();
  const std::string everywhere;
  int nodes = 1;
  bool pending = false;
  for (const plan::CasePlan& plan_case : plan.cases) {
    nodes = std::max(nodes, plan_case.nodes);
    pending |= wanting(plan_case);
  }
  if (pending && interrupts_ == 0)
    failed_hook_ = co_await hooks_->run(plan.hooks, plan::HookTime::before, everywhere, nodes);
  for (const plan::CasePlan& plan_case : plan.cases) co_await execute_case(plan_case);
  if (interrupts_ > 0 || !hooks_->owed("")) co_return;
  const std::optional<std::string> failed =
      co_await hooks_->run(plan.hooks, plan::HookTime::after, everywhere, nodes);
  all_completed_ &= !failed;
}

bool RunLoop::has_result(const plan::CasePlan& plan_case, int number) const {
  return finished_.contains({plan_case.name, number});
}

std::optional<RunStatus> RunLoop::final_status(const std::vector<Json>& journal) const {
  std::optional<RunStatus> status;
  for (const Json& event : journal) {
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::run_end)
      status = fields_from_any<store::RunEnd>(event).status.value;
    if (store::starts_run(kind) || kind == store::JournalEvent::round_start ||
        kind == store::JournalEvent::round_reopened)
      status.reset();
  }
  const plan::Plan& plan = run_.plan();
  if (status == RunStatus::completed) return status;
  // A failed hook may have to be run again.
  if (status != RunStatus::failed || !plan::hook_folders(plan).empty() ||
      std::ranges::any_of(plan.cases, [&](const auto& one) { return wanting(one); }))
    return std::nullopt;
  return status;
}

bool RunLoop::wanting(const plan::CasePlan& plan_case) const {
  if (ended_.contains(plan_case.name)) return false;
  for (int number = plan_case.warmup_rounds + 1; number <= plan_case.rounds(); ++number)
    if (!has_result(plan_case, number)) return true;
  return false;
}

bool RunLoop::is_cut_off() const {
  const plan::Plan& plan = run_.plan();
  return !all_completed_ || !plan::hook_folders(plan).empty() ||
         std::ranges::any_of(plan.cases, [&](const plan::CasePlan& one) {
           return !skipped_.contains(one.name) && wanting(one);
         });
}

// A round that was begun before it is run to its end, whatever became of the others since.
asio::awaitable<bool> RunLoop::begin_case(const plan::CasePlan& plan_case) {
  if (failed_hook_) {
    skip(plan_case, plan::SkipCause::hook, *failed_hook_);
    co_return false;
  }
  bool begun = false;
  for (int number = plan_case.warmup_rounds + 1; number <= plan_case.rounds(); ++number)
    begun |= has_result(plan_case, number);
  if (const auto why = failed_dependency(run_.plan(), plan_case, finished_, skipped_);
      why && !begun) {
    skip(plan_case, plan::SkipCause::dependency, *why);
    co_return false;
  }
  if (!plan_case.only_if.empty() && !begun) {
    std::optional<std::string> why = "whether its condition holds cannot be known";
    const auto ask = [&] { return unmet_(plan_case); };
    if (unmet_) why = co_await run_on_thread(ask);
    if (why) {
      skip(plan_case, plan::SkipCause::condition, *why);
      co_return false;
    }
  }
  const std::optional<std::string> failed = co_await hooks_->run(
      plan_case.hooks, plan::HookTime::before, plan_case.name, plan_case.nodes);
  if (failed) skip(plan_case, plan::SkipCause::hook, *failed);
  co_return !failed;
}

void RunLoop::skip(const plan::CasePlan& plan_case, plan::SkipCause cause,
                   const std::string& reason) {
  skipped_.insert(plan_case.name);
  // What was not meant to run is no failure.
  all_completed_ &= cause == plan::SkipCause::condition;
  rounds_total_ -= plan_case.rounds();
  journal_->append(store::JournalEvent::case_skipped,
                   {{"case", plan_case.name}, {"cause", to_text(cause)}, {"reason", reason}});
  journal_->sync();
  observer_.remark(printable(plan_case.name + ": skipped: " + reason));
}

asio::awaitable<void> RunLoop::execute_case(const plan::CasePlan& plan_case) {
  const bool pending = interrupts_ == 0 && wanting(plan_case);
  bool startable = true;
  if (pending) startable = co_await begin_case(plan_case);
  if (startable) co_await execute_rounds_of(plan_case);
  if (interrupts_ > 0 || !hooks_->owed(plan_case.name)) co_return;
  const std::optional<std::string> failed =
      co_await hooks_->run(plan_case.hooks, plan::HookTime::after, plan_case.name, plan_case.nodes);
  all_completed_ &= !failed;
}

asio::awaitable<void> RunLoop::execute_rounds_of(const plan::CasePlan& plan_case) {
  bool startable = true;
  const bool warm_up = wanting(plan_case);
  for (int number = 1; number <= plan_case.rounds(); ++number, ++rounds_done_) {
    if (has_result(plan_case, number)) {
      all_completed_ &= plan_case.is_warmup(number) ||
                        finished_.at({plan_case.name, number}) == RoundStatus::completed;
      continue;
    }
    if (interrupts_ > 0 || !startable || (plan_case.is_warmup(number) && !warm_up)) continue;
    const std::optional<std::string> why = co_await enough_before(plan_case, number);
    if (why) {
      end_repeats(plan_case, number - 1, *why);
      rounds_total_ -= plan_case.rounds() - number + 1;
      co_return;
    }
    startable = co_await execute_round(plan_case, number);
    if (skipped_.contains(plan_case.name)) {  // none of its rounds is among those to do any more
      rounds_done_ -= number - 1;
      co_return;
    }
  }
  if (plan_case.until && startable && interrupts_ == 0)
    end_repeats(plan_case, plan_case.rounds(), "more are not allowed");
}

// A round that was begun before is run to its end, whatever the others say.
asio::awaitable<std::optional<std::string>> RunLoop::enough_before(const plan::CasePlan& plan_case,
                                                                   int number) {
  if (!plan_case.until || number <= plan_case.warmup_rounds + plan_case.until->min ||
      number <= started_[plan_case.name])
    co_return std::nullopt;
  if (const auto ended = ended_.find(plan_case.name); ended != ended_.end())
    co_return ended->second;
  if (!enough_) co_return std::nullopt;
  const auto ask = [&] { return enough_(plan_case); };
  std::optional<std::string> why = co_await run_on_thread(ask);
  co_return why;
}

void RunLoop::end_repeats(const plan::CasePlan& plan_case, int last, const std::string& why) {
  if (ended_.contains(plan_case.name)) return;
  const int rounds = last - plan_case.warmup_rounds;
  journal_->append(store::JournalEvent::repeats_end,
                   {{"case", plan_case.name}, {"rounds", rounds}, {"reason", why}});
  ended_[plan_case.name] = why;
  observer_.remark(plan_case.name + ": no round after " + counted(rounds, "round") + ": " + why);
}

asio::awaitable<bool> RunLoop::execute_round(const plan::CasePlan& plan_case, int number) {
  RoundOutcome outcome = co_await attempt(plan_case, number);
  for (int retry = 1; retry <= run_.plan().cluster.retries && interrupts_ == 0 &&
                      outcome.status == RoundStatus::lost;
       ++retry) {
    journal_->append(store::JournalEvent::round_retry, {{"case", plan_case.name},
                                                        {"round", number},
                                                        {"retry", retry},
                                                        {"reason", outcome.reason}});
    outcome = co_await attempt(plan_case, number);
  }
  if (outcome.status == RoundStatus::not_run) {
    give_up(plan_case, outcome.reason);
    co_return false;
  }
  all_completed_ &= plan_case.is_warmup(number) || outcome.status == RoundStatus::completed;
  // What a machine cannot do now it cannot do in the next round either.
  co_return outcome.status != RoundStatus::launch_failed&& outcome.status !=
      RoundStatus::unrecorded;
}

// What was measured of the case stays, and what was lost is said; the other cases may have the
// nodes that they need.
void RunLoop::give_up(const plan::CasePlan& plan_case, const std::string& reason) {
  all_completed_ = false;
  if (begun_.contains(plan_case.name))
    observer_.warning(printable(plan_case.name + ": its other rounds are not run: " + reason));
  else
    skip(plan_case, plan::SkipCause::nodes, reason);
}

asio::awaitable<RoundOutcome> RunLoop::attempt(const plan::CasePlan& plan_case, int number) {
  ended_.erase(plan_case.name);
  hooks_->round_started(plan_case.name);
  const RoundTask task{plan_case, number, [&](const RoundProgress& progress) {
                         observer_.round_progress(plan_case, number, progress);
                         write_live(plan_case, number, progress);
                       }};
  std::optional<std::string> missing;
  try {
    co_await backend_->prepare_round(task);
  } catch (const NodesMissing& error) {
    missing = error.message() + (error.advice().empty() ? "" : " (" + error.advice() + ")");
  }
  if (missing) co_return RoundOutcome{RoundStatus::not_run, *missing};
  // Asked to end meanwhile: nothing was started.
  if (interrupts_ > 0) co_return RoundOutcome{RoundStatus::interrupted, "stopped by the user"};
  if (backend_->has_new_nodes())
    write_system(run_, *journal_, co_await backend_->describe(), declared_);
  observer_.round_started(plan_case, number, rounds_done_, rounds_total_);
  round_started_ns_ = mono_now_ns();
  time_left_.round_started(plan_case.name, number, plan_case.rounds(), rounds_done_, rounds_total_);
  rates_ = {};
  begun_.insert(plan_case.name);
  const RoundOutcome outcome = co_await backend_->run_round(task);
  co_await end_round(plan_case.name, number, outcome);
  time_left_.round_ended(static_cast<double>(mono_now_ns() - round_started_ns_) * 1e-9);
  if (is_result(outcome.status)) finished_[{plan_case.name, number}] = outcome.status;
  observer_.round_ended(plan_case, number, outcome);
  co_return outcome;
}

asio::awaitable<RoundOutcome> RunLoop::run_hook_on_nodes(const plan::CasePlan& hook_case,
                                                         int number) {
  const RoundTask task{hook_case, number, [](const RoundProgress&) {}};
  co_await backend_->prepare_round(task);
  const RoundOutcome outcome = co_await backend_->run_round(task);
  co_await end_round(hook_case.name, number, outcome);
  co_return outcome;
}

asio::awaitable<void> RunLoop::end_round(const std::string& name, int number,
                                         const RoundOutcome& outcome) {
  const std::filesystem::path folder = run_.round_dir(name, number);
  // The journal is durable: what it lists must be, too, or a power failure would look like
  // tampering.
  co_await keep_on_disk(folder);
  const auto list = [&] { return list_round_files(folder, outcome.listed); };
  const RoundFiles files = co_await run_on_thread(list);
  const Json round = fields_to_json(store::RoundName{name, number});
  Json listing = round;
  listing.update(fields_to_json(files));
  journal_->append(store::JournalEvent::round_files, listing);
  Json end = round;
  end.update(fields_to_json(
      store::RoundEnd{outcome.status, outcome.reason, outcome.advice, outcome.culprits}));
  journal_->append(store::JournalEvent::round_end, end);
  journal_->sync();
}

void RunLoop::write_live(const plan::CasePlan& plan_case, int number,
                         const RoundProgress& progress) {
  const std::int64_t mono = mono_now_ns();
  if (mono - live_written_ns_ < kLiveEvery) return;
  live_written_ns_ = mono;
  Json nodes = Json::array();
  for (const auto& [node, beat] : progress.heartbeats) {
    nodes.push_back({{"node", node}});
    nodes.back().update(fields_to_json(beat));
    if (node < static_cast<int>(progress.hosts.size()))
      nodes.back()["host"] = progress.hosts[static_cast<std::size_t>(node)];
    if (!beat.step_max) continue;
    if (const auto rate = rates_.rate(node, *beat.step_max, mono)) nodes.back()["rate"] = *rate;
  }
  Json live{{"run", run_.plan().run_id},
            {"host", host_name()},
            {"pid", ::getpid()},
            {"wall_ns", wall_now_ns()},
            {"case", plan_case.name},
            {"round", number},
            {"repeats", plan_case.rounds()},
            {"rounds_done", rounds_done_},
            {"rounds_total", rounds_total_},
            {"ranks", progress.ranks},
            {"started", progress.started},
            {"ended", progress.ended},
            {"nodes", std::move(nodes)}};
  const double elapsed_s = static_cast<double>(mono - round_started_ns_) * 1e-9;
  live["elapsed_s"] = elapsed_s;
  if (const auto left = time_left_.seconds(elapsed_s)) live["left_s"] = *left;
  if (plan_case.limits.time.count() > 0) live["limit_s"] = seconds(plan_case.limits.time);
  if (!progress.automl.is_null()) live["automl"] = progress.automl;
  if (!progress.state.empty()) live["state"] = progress.state;
  // For onlookers alone: a full disk is no reason to end a run.
  try {
    write_file_atomic(run_.live_file(), dump_pretty(live), /*sync=*/false);
  } catch (const Error&) {
    std::error_code ignored;
    std::filesystem::remove(run_.live_file(), ignored);  // better nothing than what is over
  }
}

}  // namespace assay::launch
