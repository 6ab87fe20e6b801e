#include "automl/experiment.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "automl/event_text.h"
#include "automl/hash.h"

namespace assay::automl {

namespace {

constexpr double kFirstWorker = 300;  // the first one has come by then, or none will
constexpr double kClockEvery = 5;     // so that an elapsed time is lost by no more in a crash
constexpr double kPause = 5;          // between two ticks: the coordinator itself was stopped
constexpr std::size_t kNamed = 8;     // workers that a reason names
constexpr int kStockShare = 16;       // one prepared trial for so many workers
constexpr int kMaxStock = 64;
constexpr std::uint64_t kSeedMask = (std::uint64_t{1} << 53) - 1;

}  // namespace

Experiment::Experiment(ExperimentSettings settings)
    : settings_(std::move(settings)), checks_(settings_), pace_(seconds(settings_.progress)) {}

Experiment::Actions Experiment::begin(double now_s, const std::vector<Planned>& planned,
                                      const std::vector<Json>& events) {
  Actions actions;
  began_s_ = ticked_s_ = now_s;
  if (events.empty()) {
    record(now_s, journal::Experiment{.settings = to_json(settings_)}, actions);
    return actions;
  }
  record(now_s, journal::Resume{}, actions);
  for (const Planned& p : planned) trials_.push_back({.planned = p});
  for (const Json& event : events) recall(event);
  for (std::size_t id = 0; id < trials_.size(); ++id) {
    Trial& trial = trials_[id];
    ok_ += trial.state == State::ok ? 1 : 0;
    failed_ += trial.state == State::failed ? 1 : 0;
    if (trial.state == State::running) {
      record(now_s,
             journal::Ended{.trial = static_cast<std::int64_t>(id),
                            .attempt = trial.attempt,
                            .status = TrialStatus::lost,
                            .reason = "the coordinator ended"},
             actions);
      --trial.attempt;
      trial.state = State::waiting;
    }
    if (trial.state == State::waiting) waiting_.push_back(static_cast<std::int64_t>(id));
  }
  check_end(now_s, actions);
  return actions;
}

void Experiment::recall(const Json& event) {
  const auto kind = journal::event_of(event);
  const double at_s = journal::read<journal::Stamps>(event).at_s;
  const auto trial_of = [this](std::int64_t id) {
    return graph(id) == nullptr ? nullptr : &trials_[static_cast<std::size_t>(id)];
  };
  if (kind == journal::Event::started) {
    const auto started = journal::read<journal::Started>(event);
    Trial* trial = trial_of(started.trial);
    if (trial == nullptr) return;
    trial->attempt = started.attempt;
    trial->state = State::running;
    trial->epoch_s = at_s;
  } else if (kind == journal::Event::epoch) {
    Trial* trial = trial_of(journal::read<journal::Epoch>(event).trial);
    if (trial == nullptr) return;
    pace_.tell(at_s - trial->epoch_s, static_cast<double>(trial->planned.per_sample.aiperf_train));
    trial->epoch_s = at_s;
  } else if (kind == journal::Event::ended) {
    const auto ended = journal::read<journal::Ended>(event);
    Trial* trial = trial_of(ended.trial);
    if (trial == nullptr) return;
    const bool ok = ended.status == TrialStatus::ok;
    trial->state = !ended.final ? State::waiting : ok ? State::ok : State::failed;
    if (trial->state == State::ok) trial->accuracy = ended.accuracy.value_or(0);
    if (!ended.counts()) --trial->attempt;
  }
}

int Experiment::proposals_wanted(int under_way) const {
  if (ended() || !exhausted_.empty()) return 0;
  const auto known = static_cast<std::int64_t>(trials_.size()) + under_way;
  std::int64_t stock = settings_.workers;
  // Before the first result there is nothing to prepare from: who asks gets a random morphism.
  if (known >= settings_.workers && ok_ + failed_ == 0)
    stock = static_cast<std::int64_t>(idle_.size());
  else if (known >= settings_.workers)
    stock = static_cast<std::int64_t>(idle_.size()) +
            std::min<std::int64_t>(kMaxStock,
                                   1 + static_cast<std::int64_t>(workers_.size()) / kStockShare);
  // A trial that some worker could not begin is not for everybody who asks.
  const auto ready = std::ranges::count_if(waiting_, [this](std::int64_t id) {
    return trials_[static_cast<std::size_t>(id)].avoid < 0;
  });
  const std::int64_t wanted = stock - ready - under_way;
  return static_cast<int>(
      std::clamp<std::int64_t>(wanted, 0, std::max<std::int64_t>(0, settings_.max_trials - known)));
}

Experiment::Actions Experiment::proposing(double now_s, std::int64_t told) {
  Actions actions;
  record(now_s, journal::Proposing{told}, actions);
  return actions;
}

Experiment::Actions Experiment::proposed(double now_s, Planned planned) {
  Actions actions;
  const std::int64_t id = planned.proposal.id;
  journal::Proposed event{.trial = id,
                          .parent = planned.proposal.parent,
                          .hyper = to_json(planned.hyper),
                          .point = planned.point,
                          .parameters = planned.proposal.graph.parameters(),
                          .layers = static_cast<int>(planned.proposal.graph.layers().size()),
                          .per_sample = planned.per_sample,
                          .told = planned.known_results,
                          .search_s = planned.search_s};
  for (const Operation& operation : planned.proposal.operations)
    event.operations.push_back(to_json(operation));
  if (const auto& expected = planned.proposal.expected)
    event.predicted = {expected->mean, expected->deviation};
  record(now_s, event, actions);
  trials_.push_back({.planned = std::move(planned)});
  waiting_.push_back(id);
  dispatch(now_s, actions);
  return actions;
}

Experiment::Actions Experiment::exhausted(double now_s, const std::string& reason) {
  Actions actions;
  exhausted_ = reason;
  check_end(now_s, actions);
  return actions;
}

std::optional<std::int64_t> Experiment::choose(const Worker& worker) {
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const Trial& trial = trials_[static_cast<std::size_t>(*at)];
    if (trial.avoid == worker.hello.rank && workers_.size() > 1) continue;
    const std::int64_t id = *at;
    waiting_.erase(at);
    return id;
  }
  return std::nullopt;
}

void Experiment::dispatch(double now_s, Actions& actions) {
  if (ended()) return;
  for (std::size_t i = 0; i < idle_.size() && !waiting_.empty();) {
    const int worker = idle_[i];
    const auto id = choose(workers_.at(worker));
    if (!id) {
      ++i;
      continue;
    }
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    hand_out(now_s, worker, *id, actions);
  }
}

void Experiment::hand_out(double now_s, int worker, std::int64_t id, Actions& actions) {
  Trial& trial = trials_[static_cast<std::size_t>(id)];
  Worker& state = workers_.at(worker);
  const std::int64_t round = id / settings_.workers;
  trial.state = State::running;
  ++running_;
  ++trial.attempt;
  trial.worker = worker;
  trial.started_s = trial.epoch_s = now_s;
  trial.dropped_s.reset();
  trial.accuracy.reset();
  trial.epochs = 0;
  trial.trained = 0;
  trial.validated = 0;
  state.ready = false;
  state.moved_s = now_s;
  state.trials.push_back(id);
  const Planned& planned = trial.planned;
  automl::Trial message;
  message.trial = id;
  message.attempt = trial.attempt;
  message.graph = to_json(planned.proposal.graph);
  if (const std::int64_t parent = planned.proposal.parent; parent >= 0 && settings_.inherit) {
    const Graph& graph = trials_[static_cast<std::size_t>(parent)].planned.proposal.graph;
    message.parent = Parent{parent, to_json(graph), planned.proposal.operations};
  }
  message.hyper = planned.hyper;
  message.epochs = settings_.epochs_of_round(round);
  message.patience = settings_.patience_of_trial(round);
  message.seed = combine(settings_.seed, static_cast<std::uint64_t>(id)) & kSeedMask;
  message.keep_weights = settings_.inherit;
  message.data = settings_.data;
  trial.reports = {.epochs = message.epochs,
                   .batch_size = planned.hyper.batch_size * settings_.devices_per_trial};
  record(now_s,
         journal::Started{id, trial.attempt, state.hello.rank, event_text(state.hello.host), round,
                          message.epochs},
         actions);
  actions.send.push_back({worker, std::move(message)});
}

Experiment::Actions Experiment::tick(double now_s) {
  Actions actions;
  if (ended()) return actions;
  if (now_s >= seconds(settings_.max_duration)) {
    conclude(now_s, ExperimentEnd::time, "the time is over", actions);
    return actions;
  }
  excuse_pause(now_s);
  std::vector<std::pair<int, std::string>> gone;
  for (const auto& [worker, state] : workers_)
    if (std::string why = hangs(now_s, worker, actions); !why.empty())
      gone.emplace_back(worker, std::move(why));
  for (const auto& [worker, reason] : gone) {
    actions.close.push_back({worker, reason});
    remove(now_s, worker, reason, actions);
  }
  if (!gone.empty()) dispatch(now_s, actions);
  check_end(now_s, actions);
  check_workers(now_s, actions);
  if (now_s - recorded_s_ >= kClockEvery) record(now_s, journal::Clock{}, actions);
  return actions;
}

void Experiment::excuse_pause(double now_s) {
  const double pause = now_s - std::exchange(ticked_s_, now_s);
  if (pause <= kPause) return;
  for (auto& [worker, state] : workers_) {
    state.heard_s = std::min(now_s, state.heard_s + pause);
    state.moved_s = std::min(now_s, state.moved_s + pause);
    for (const std::int64_t id : state.trials) {
      Trial& trial = trials_[static_cast<std::size_t>(id)];
      trial.epoch_s = std::min(now_s, trial.epoch_s + pause);
      if (trial.dropped_s) *trial.dropped_s += pause;
    }
  }
  heard_s_ = std::min(now_s, heard_s_ + pause);
}

std::string Experiment::hangs(double now_s, int worker, Actions& actions) {
  const Worker& state = workers_.at(worker);
  const double silence = seconds(settings_.silence);
  if (now_s - state.heard_s > silence)
    return fmt::format("nothing was heard of it for {:.0f} s", now_s - state.heard_s);
  for (const std::int64_t id : state.trials) {
    Trial& trial = trials_[static_cast<std::size_t>(id)];
    if (trial.dropped_s && now_s - *trial.dropped_s > silence)
      return fmt::format("it did not end trial {} when told to", id);
    if (trial.dropped_s) continue;
    if (now_s - trial.started_s > seconds(settings_.trial_limit)) {
      trial.dropped_s = now_s;
      actions.send.push_back({worker, Drop{id}});
    } else if (const double still = now_s - state.moved_s; still > pace_.without_batch()) {
      return fmt::format("it is alive, but trial {} has not gone on for {:.0f} s", id, still);
    } else if (const double late = now_s - trial.epoch_s;
               late >
               pace_.without_epoch(static_cast<double>(trial.planned.per_sample.aiperf_train))) {
      return fmt::format("it is alive, but trial {} has had no epoch for {:.0f} s", id, late);
    }
  }
  return {};
}

void Experiment::check_workers(double now_s, Actions& actions) {
  if (ended() || !workers_.empty()) return;
  const bool all_came = static_cast<int>(came_.size()) >= settings_.workers;
  if (!all_came && now_s - began_s_ <= kFirstWorker) return;
  if (came_.empty())
    return conclude(
        now_s, ExperimentEnd::failed,
        fmt::format("no worker came within {:.0f} s: see the ranks' logs", kFirstWorker), actions);
  // Who was cut off may come back within the time that it might have been silent.
  if (now_s - heard_s_ <= seconds(settings_.silence)) return;
  std::string names;
  std::size_t named = 0;
  for (const auto& [rank, who] : lost_)
    if (named++ < kNamed) names += (names.empty() ? "" : "; ") + who;
  if (named > kNamed) names += fmt::format("; and {} more", named - kNamed);
  conclude(now_s, ExperimentEnd::failed, std::string(kNoWorkerLeft) + ": " + names, actions);
}

void Experiment::check_end(double now_s, Actions& actions) {
  if (ended() || running_ > 0 || !waiting_.empty()) return;
  if (static_cast<std::int64_t>(trials_.size()) >= settings_.max_trials)
    conclude(now_s, ExperimentEnd::trials,
             trials_.size() == 1 ? std::string("the only trial is done")
                                 : fmt::format("all {} trials are done", trials_.size()),
             actions);
  else if (!exhausted_.empty())
    conclude(now_s, trials_.empty() ? ExperimentEnd::failed : ExperimentEnd::exhausted, exhausted_,
             actions);
}

Experiment::Actions Experiment::end(double now_s, ExperimentEnd reason, const std::string& detail) {
  Actions actions;
  if (!ended()) conclude(now_s, reason, detail, actions);
  return actions;
}

void Experiment::conclude(double now_s, ExperimentEnd reason, const std::string& detail,
                          Actions& actions) {
  for (auto& [worker, state] : workers_) {
    const std::vector<std::int64_t> trials = state.trials;
    for (const std::int64_t id : trials)
      end_attempt(now_s, id, TrialStatus::stopped, "the experiment ended", false, actions);
    actions.send.push_back({worker, Stop{}});
  }
  end_reason_ = reason;
  end_detail_ = detail;
  record(now_s, journal::End{reason, detail}, actions);
  closed_ = true;
}

const Graph* Experiment::graph(std::int64_t trial) const noexcept {
  return trial >= 0 && trial < static_cast<std::int64_t>(trials_.size())
             ? &trials_[static_cast<std::size_t>(trial)].planned.proposal.graph
             : nullptr;
}

std::optional<double> Experiment::accuracy(std::int64_t trial) const noexcept {
  return graph(trial) == nullptr ? std::nullopt : trials_[static_cast<std::size_t>(trial)].accuracy;
}

Experiment::Status Experiment::status() const {
  Status status;
  status.proposed = static_cast<std::int64_t>(trials_.size());
  status.ok = ok_;
  status.failed = failed_;
  status.running = running_;
  status.waiting = static_cast<std::int64_t>(waiting_.size());
  status.workers = static_cast<int>(workers_.size());
  status.idle = static_cast<int>(idle_.size());
  for (const Trial& trial : trials_)
    status.best = std::max(status.best, trial.accuracy.value_or(0));
  return status;
}

}  // namespace assay::automl
