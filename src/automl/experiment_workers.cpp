// What workers do, and what becomes of their trials.

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "automl/event_text.h"
#include "automl/experiment.h"
#include "core/text.h"

namespace assay::automl {

namespace {

constexpr int kWorkerFailures = 3;  // in a row, before it gets no more work
constexpr int kMinFailures = 10;    // in a row, before the experiment ends
constexpr std::size_t kTrialsAtOnce = 2;

bool too_many(int failures, const ExperimentSettings& settings) {
  return failures >= std::max(kMinFailures, 3 * settings.workers);
}

std::string failures_text(int failures, const std::string& last) {
  return fmt::format("{} trials in a row failed, the last: {}", failures, event_text(last));
}

}  // namespace

Experiment::Actions Experiment::joined(double now_s, int worker, const Hello& hello) {
  Actions actions;
  if (const std::string why = checks_.rank(hello.rank); !why.empty()) {
    record_refusal(now_s, hello, why, actions);
    actions.close.push_back({worker, why, true});
    return actions;
  }
  if (const auto known = sent_away_.find(hello.rank); known != sent_away_.end()) {
    actions.close.push_back({worker, "it was sent away: " + known->second, true});
    return actions;
  }
  for (const auto& [other, state] : workers_) {
    if (state.hello.rank != hello.rank) continue;
    actions.close.push_back({other, "another worker of the same rank came", true});
    remove(now_s, other, "another worker of the same rank came", actions);
    break;
  }
  came_.insert(hello.rank);
  lost_.erase(hello.rank);
  Worker& state = workers_[worker];
  state.hello = hello;
  state.hello.token.clear();
  state.heard_s = state.moved_s = now_s;
  record(now_s,
         journal::Worker{.rank = hello.rank,
                         .what = journal::Worker::Change::joined,
                         .host = event_text(hello.host),
                         .device = event_text(hello.device)},
         actions);
  return actions;
}

Experiment::Actions Experiment::left(double now_s, int worker, const std::string& reason) {
  Actions actions;
  if (!workers_.contains(worker)) return actions;
  remove(now_s, worker, reason, actions);
  dispatch(now_s, actions);
  check_end(now_s, actions);
  return actions;
}

void Experiment::remove(double now_s, int worker, const std::string& reason, Actions& actions) {
  const Worker state = workers_.at(worker);
  const std::string why = event_text(reason);
  const std::string who =
      fmt::format("worker {} on {}", state.hello.rank, event_text(state.hello.host));
  for (const std::int64_t id : state.trials)
    give_back(now_s, id, who + " was lost: " + why, actions);
  lost_[state.hello.rank] = who + ": " + why;
  heard_s_ = std::max(heard_s_, state.heard_s);
  workers_.erase(worker);
  std::erase(idle_, worker);
  record(now_s,
         journal::Worker{.rank = state.hello.rank,
                         .what = journal::Worker::Change::left,
                         .host = event_text(state.hello.host),
                         .reason = why},
         actions);
}

void Experiment::record_refusal(double now_s, const Hello& hello, const std::string& why,
                                Actions& actions) {
  record(now_s, journal::Refused{hello.rank, event_text(hello.host), why}, actions);
}

void Experiment::refuse(double now_s, int worker, const std::string& why, Actions& actions) {
  record_refusal(now_s, workers_.at(worker).hello, why, actions);
  const std::string reason = "it reported what cannot be: " + why;
  send_away(now_s, worker, reason, actions);
  dispatch(now_s, actions);
}

// For good.
void Experiment::send_away(double now_s, int worker, const std::string& reason, Actions& actions) {
  sent_away_[workers_.at(worker).hello.rank] = reason;
  actions.close.push_back({worker, reason, true});
  remove(now_s, worker, reason, actions);
}

// The trial of a worker that is gone: for another one, unless it has cost too many already.
void Experiment::give_back(double now_s, std::int64_t id, const std::string& reason,
                           Actions& actions) {
  Trial& trial = trials_[static_cast<std::size_t>(id)];
  if (trial.state != State::running) return;
  if (trial.dropped_s) {
    const bool measured = trial.accuracy.has_value();
    end_attempt(now_s, id, measured ? TrialStatus::ok : TrialStatus::failed,
                "time limit of the trial", true, actions);
  } else if (trial.attempt >= settings_.attempts) {
    end_attempt(now_s, id, TrialStatus::failed,
                fmt::format("{} lost with it, the last: {}",
                            counted(trial.attempt, "worker was", "workers were"), reason),
                true, actions);
  } else {
    end_attempt(now_s, id, TrialStatus::lost, reason, false, actions);
    waiting_.push_front(id);
  }
}

void Experiment::end_attempt(double now_s, std::int64_t id, TrialStatus status,
                             const std::string& reason, bool final, Actions& actions,
                             const Done* done) {
  Trial& trial = trials_[static_cast<std::size_t>(id)];
  journal::Ended event{.trial = id,
                       .attempt = trial.attempt,
                       .status = status,
                       .reason = event_text(reason),
                       .final = final,
                       .accuracy = trial.accuracy,
                       .epochs = trial.epochs,
                       .trained = trial.trained,
                       .validated = trial.validated,
                       .seconds = done != nullptr ? done->seconds : now_s - trial.started_s};
  if (const auto at = workers_.find(trial.worker); at != workers_.end()) {
    event.worker = at->second.hello.rank;
    event.host = event_text(at->second.hello.host);
    std::erase(at->second.trials, id);
  }
  if (done != nullptr) {
    event.setup_s = done->setup_s;
    event.wait_s = done->wait_s;
  }
  record(now_s, event, actions);
  --running_;
  const bool ok = status == TrialStatus::ok;
  if (!final) {
    trial.state = State::waiting;
    return;
  }
  trial.state = ok ? State::ok : State::failed;
  ++(ok ? ok_ : failed_);
  failures_in_a_row_ = ok ? 0 : failures_in_a_row_ + 1;
  actions.tell.push_back({id, ok ? trial.accuracy : std::nullopt, event_text(reason)});
}

Experiment::Trial* Experiment::held(int worker, std::int64_t id) {
  const auto at = workers_.find(worker);
  if (at == workers_.end()) return nullptr;
  const std::vector<std::int64_t>& trials = at->second.trials;
  if (std::ranges::find(trials, id) == trials.end()) return nullptr;
  return &trials_[static_cast<std::size_t>(id)];
}

Experiment::Actions Experiment::received(double now_s, int worker, const WorkerMessage& message) {
  Actions actions;
  const auto at = workers_.find(worker);
  if (at == workers_.end()) return actions;
  Worker& state = at->second;
  state.heard_s = now_s;
  if (const auto* alive = std::get_if<Alive>(&message)) {
    if (alive->progress > state.progress) state.moved_s = now_s;
    state.progress = std::max(state.progress, alive->progress);
    return actions;
  }
  state.moved_s = now_s;
  if (std::holds_alternative<Ready>(message)) {
    if (ended()) {
      actions.send.push_back({worker, Stop{}});
      return actions;
    }
    if (state.ready || state.trials.size() >= kTrialsAtOnce) {
      const std::string reason = "it asked for work though it has enough";
      actions.close.push_back({worker, reason, true});
      remove(now_s, worker, reason, actions);
    } else {
      state.ready = true;
      idle_.push_back(worker);
    }
    dispatch(now_s, actions);
  } else if (const auto* inherited = std::get_if<Inherited>(&message)) {
    if (!ended()) on_inherited(now_s, worker, *inherited, actions);
  } else if (const auto* epoch = std::get_if<Epoch>(&message)) {
    if (!ended()) on_epoch(now_s, worker, *epoch, actions);
  } else if (const auto* done = std::get_if<Done>(&message)) {
    if (!ended()) on_done(now_s, worker, *done, actions);
  }
  check_end(now_s, actions);
  return actions;
}

void Experiment::on_inherited(double now_s, int worker, const Inherited& inherited,
                              Actions& actions) {
  const Trial* trial = held(worker, inherited.trial);
  if (trial == nullptr) return;
  record(now_s,
         journal::Inherited{inherited.trial, trial->attempt, workers_.at(worker).hello.rank,
                            trial->planned.proposal.parent, inherited.tensors, inherited.of,
                            event_text(inherited.sha256)},
         actions);
}

void Experiment::on_epoch(double now_s, int worker, const Epoch& epoch, Actions& actions) {
  Trial* trial = held(worker, epoch.trial);
  if (trial == nullptr) return;  // of a trial that was given up
  if (const std::string why = checks_.epoch(trial->reports, epoch, now_s - trial->started_s);
      !why.empty())
    return refuse(now_s, worker, why, actions);
  pace_.tell(now_s - trial->epoch_s, static_cast<double>(trial->planned.per_sample.aiperf_train));
  trial->epoch_s = now_s;
  trial->epochs = epoch.epoch;
  trial->trained = std::max(trial->trained, epoch.trained);
  trial->validated = std::max(trial->validated, epoch.validated);
  trial->accuracy = std::max(trial->accuracy.value_or(0), epoch.accuracy);
  record(now_s,
         journal::Epoch{epoch.trial, trial->attempt, workers_.at(worker).hello.rank, epoch.epoch,
                        epoch.accuracy, epoch.loss, epoch.trained, epoch.validated, epoch.at_s},
         actions);
}

void Experiment::on_done(double now_s, int worker, const Done& done, Actions& actions) {
  Trial* trial = held(worker, done.trial);
  if (trial == nullptr) return;
  if (const std::string why = checks_.done(trial->reports, done, now_s - trial->started_s);
      !why.empty())
    return refuse(now_s, worker, why, actions);
  Worker& state = workers_.at(worker);
  trial->trained = std::max(trial->trained, done.trained);
  trial->validated = std::max(trial->validated, done.validated);
  if (done.trained > 0 || done.ok) state.failures = 0;
  if (trial->dropped_s) {
    end_attempt(now_s, done.trial, trial->accuracy ? TrialStatus::ok : TrialStatus::failed,
                "time limit of the trial", true, actions, &done);
  } else if (done.ok && trial->accuracy) {
    end_attempt(now_s, done.trial, TrialStatus::ok, "", true, actions, &done);
  } else if (done.ok) {
    end_attempt(now_s, done.trial, TrialStatus::failed, "no epoch was reported", true, actions,
                &done);
  } else if (done.trained > 0 || trial->avoid >= 0) {
    end_attempt(now_s, done.trial, TrialStatus::failed, done.reason, true, actions, &done);
  } else {
    // It was not even begun: the worker (a missing data set) or the trial may be the cause. Another
    // worker tells.
    trial->avoid = state.hello.rank;
    end_attempt(now_s, done.trial, TrialStatus::failed, done.reason, false, actions, &done);
    waiting_.push_front(done.trial);
    if (++state.failures >= kWorkerFailures && workers_.size() > 1) {
      const std::string reason = fmt::format("{} trials in a row could not be begun, the last: {}",
                                             kWorkerFailures, event_text(done.reason));
      send_away(now_s, worker, reason, actions);
    }
  }
  if (too_many(failures_in_a_row_, settings_))
    conclude(now_s, ExperimentEnd::failed, failures_text(failures_in_a_row_, done.reason), actions);
  dispatch(now_s, actions);
}

Experiment::Actions Experiment::failed(double now_s, int worker, std::int64_t id,
                                       const std::string& reason) {
  Actions actions;
  if (held(worker, id) == nullptr) return actions;
  end_attempt(now_s, id, TrialStatus::failed, reason, true, actions);
  actions.send.push_back({worker, Drop{id}});
  if (too_many(failures_in_a_row_, settings_))
    conclude(now_s, ExperimentEnd::failed, failures_text(failures_in_a_row_, reason), actions);
  dispatch(now_s, actions);
  check_end(now_s, actions);
  return actions;
}

Experiment::Actions Experiment::weights(double now_s, std::int64_t trial, std::int64_t bytes,
                                        const std::string& problem, bool displaced) {
  Actions actions;
  record(now_s,
         journal::Weights{trial, bytes, problem.empty(), event_text(problem),
                          displaced ? std::optional(true) : std::nullopt},
         actions);
  return actions;
}

}  // namespace assay::automl
