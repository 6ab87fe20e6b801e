#include "automl/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "automl/experiment_events.h"
#include "automl/operations.h"
#include "core/json_access.h"

namespace assay::automl {

namespace {

constexpr double kStep = 360;
constexpr double kPoints = 20;
constexpr std::array kFiner{180.0, 120.0, 60.0, 30.0, 15.0, 10.0, 5.0, 2.0, 1.0};

// What is known after an event.
struct Moment {
  double t_s = 0;
  double operations = 0;
  double operations_exact = 0;
  double error = 2;  // above 1: nothing was measured
};

ScorePoint point_at(double t_s, const Moment& moment) {
  ScorePoint point;
  point.t_s = t_s;
  point.operations = moment.operations;
  point.operations_exact = moment.operations_exact;
  point.error = std::min(moment.error, 1.0);
  if (t_s > 0) {
    point.ops = moment.operations / t_s;
    point.ops_exact = moment.operations_exact / t_s;
  }
  const double worth = point.error < 1 ? -std::log(point.error) : 0;
  point.score = worth * point.ops;
  point.score_exact = worth * point.ops_exact;
  return point;
}

class RecordReader {
 public:
  explicit RecordReader(ExperimentRecord& out) : out_(out) {}

  void read(const Json& event) {
    now_ = std::max(now_, journal::read<journal::Stamps>(event).at_s);
    if (const auto kind = journal::event_of(event)) take(*kind, event);
    moment_.t_s = now_;
    if (!moments_.empty() && moments_.back().t_s == now_)
      moments_.back() = moment_;
    else
      moments_.push_back(moment_);
  }

  void finish() {
    out_.elapsed_s = now_;
    for (const auto& [rank, index] : present_) busy_until_now(out_.workers[index], index);
    out_.final = point_at(now_, moment_);
    const double step = score_step(now_);
    std::size_t next = 0;
    // Steps are counted, not added up: 0.1 h is then 0.1 h also after a week.
    for (std::int64_t k = 1; static_cast<double>(k) * step <= now_; ++k) {
      const double t_s = static_cast<double>(k) * step;
      while (next + 1 < moments_.size() && moments_[next + 1].t_s <= t_s) ++next;
      if (moments_[next].t_s <= t_s && moments_[next].operations > 0)
        out_.points.push_back(point_at(t_s, moments_[next]));
    }
    double busy = 0;
    std::set<int> ranks;
    for (const WorkerRecord& w : out_.workers) {
      ranks.insert(w.rank);
      busy += w.busy_s;
    }
    // Whoever is late, lost or gone does nothing either.
    const double planned = number_at(out_.settings, "workers", 0);
    const double all = std::max(planned, static_cast<double>(ranks.size())) * now_;
    if (all > 0 && !ranks.empty()) out_.idle_share = std::max(0.0, 1 - busy / all);
    double wait = 0;
    double work = 0;
    for (const TrialRecord& trial : out_.trials) {
      wait += trial.wait_s;
      if (trial.started_s && trial.ended_s) work += *trial.ended_s - *trial.started_s;
      if (trial.accuracy && (!out_.best || *trial.accuracy > *out_.trials[*out_.best].accuracy))
        out_.best = trial.id;
    }
    if (work > 0) out_.wait_share = wait / work;
  }

 private:
  struct Attempt {
    double trained = 0;
    double validated = 0;
  };

  void take(journal::Event kind, const Json& event) {
    switch (kind) {
      case journal::Event::experiment:
        if (Json settings = journal::read<journal::Experiment>(event).settings; !settings.is_null())
          out_.settings = std::move(settings);
        break;
      case journal::Event::resume:
        resume();
        break;
      case journal::Event::worker:
        worker(journal::read<journal::Worker>(event));
        break;
      case journal::Event::proposed:
        proposed(journal::read<journal::Proposed>(event));
        break;
      case journal::Event::started:
        started(journal::read<journal::Started>(event));
        break;
      case journal::Event::inherited:
        inherited(journal::read<journal::Inherited>(event));
        break;
      case journal::Event::weights:
        weights(journal::read<journal::Weights>(event));
        break;
      case journal::Event::epoch:
        epoch(journal::read<journal::Epoch>(event));
        break;
      case journal::Event::ended:
        ended(journal::read<journal::Ended>(event));
        break;
      case journal::Event::end: {
        journal::End end = journal::read<journal::End>(event);
        out_.ended = end.reason;
        out_.detail = std::move(end.detail);
        break;
      }
      case journal::Event::proposing:
      case journal::Event::refused:
      case journal::Event::clock:
        break;
    }
  }

  void resume() {
    // Nobody saw the end of who was there before.
    for (const auto& [rank, index] : present_) leave(out_.workers[index], kCoordinatorEnded);
    present_.clear();
    ++out_.resumed;
    out_.resumed_s = now_;
    out_.ended.reset();
    out_.detail.clear();
  }

  TrialRecord* trial_of(std::int64_t id) {
    return id >= 0 && id < static_cast<std::int64_t>(out_.trials.size()) ? &out_.trials[id]
                                                                         : nullptr;
  }

  void proposed(journal::Proposed event) {
    // Ids are given in order; another one belongs to a line that was lost, and so does what
    // follows.
    if (event.trial != static_cast<std::int64_t>(out_.trials.size())) return;
    TrialRecord trial;
    trial.id = event.trial;
    trial.parent = event.parent;
    trial.operations = std::move(event.operations);
    if (!event.hyper.is_null()) trial.hyper = std::move(event.hyper);
    if (event.predicted) {
      trial.predicted = event.predicted->mean;
      trial.predicted_deviation = event.predicted->deviation;
    }
    trial.search_s = event.search_s;
    trial.parameters = event.parameters;
    trial.layers = event.layers;
    trial.per_sample = event.per_sample;
    out_.trials.push_back(std::move(trial));
  }

  void started(const journal::Started& event) {
    TrialRecord* trial = trial_of(event.trial);
    if (trial == nullptr) return;
    trial->attempts = event.attempt;
    trial->worker = event.worker;
    trial->host = event.host;
    trial->status = TrialStatus::running;
    trial->reason.clear();
    trial->started_s = now_;
    trial->ended_s.reset();
    trial->epochs = 0;
    trial->inherited.reset();
    trial->losses.clear();
    attempts_[trial->id] = {};
    if (const auto at = present_.find(trial->worker); at != present_.end()) {
      WorkerRecord& worker = out_.workers[at->second];
      ++worker.trials;
      if (open_[at->second]++ == 0) since_[at->second] = now_;
    }
  }

  // Counts are of one attempt from its beginning, so what is new is the difference.
  void count(TrialRecord& trial, std::int64_t said_trained, std::int64_t said_validated) {
    Attempt& attempt = attempts_[trial.id];
    const double trained = std::max(attempt.trained, static_cast<double>(said_trained));
    const double validated = std::max(attempt.validated, static_cast<double>(said_validated));
    const double new_trained = trained - attempt.trained;
    const double new_validated = validated - attempt.validated;
    attempt = {trained, validated};
    trial.trained += new_trained;
    trial.validated += new_validated;
    const SampleOperations& per = trial.per_sample;
    moment_.operations += new_trained * static_cast<double>(per.aiperf_train) +
                          new_validated * static_cast<double>(per.aiperf_validate);
    moment_.operations_exact += new_trained * static_cast<double>(per.exact_train) +
                                new_validated * static_cast<double>(per.exact_validate);
    last_validated_ = new_validated;
  }

  void epoch(const journal::Epoch& event) {
    TrialRecord* trial = trial_of(event.trial);
    if (trial == nullptr) return;
    count(*trial, event.trained, event.validated);
    trial->epochs = event.epoch;
    if (event.accuracy >= 0 && event.accuracy <= 1) measured(*trial, event.accuracy);
    if (event.loss >= 0) trial->losses.emplace_back(now_, event.loss);
  }

  // No error in n samples means that the error is small, not that there is none.
  void measured(TrialRecord& trial, double accuracy) {
    trial.accuracy = std::max(trial.accuracy.value_or(0), accuracy);
    const double least = last_validated_ > 0 ? 0.5 / last_validated_ : 1e-6;
    moment_.error = std::min(moment_.error, std::max(1 - accuracy, least));
    const double sample = last_validated_ > 0 ? 1 / last_validated_ : 0;
    if (!out_.ceiling_s && accuracy >= data_ceiling(out_.settings) - sample - 1e-9)
      out_.ceiling_s = now_;
  }

  void ended(const journal::Ended& event) {
    TrialRecord* trial = trial_of(event.trial);
    if (trial == nullptr) return;
    count(*trial, event.trained.value_or(0), event.validated.value_or(0));
    trial->status = event.status.value_or(TrialStatus::failed);
    trial->reason = event.reason;
    trial->ended_s = now_;
    trial->wait_s += event.wait_s.value_or(0);
    trial->setup_s = event.setup_s.value_or(0);
    if (const auto at = present_.find(event.worker.value_or(-1));
        at != present_.end() && open_[at->second] > 0 && --open_[at->second] == 0)
      out_.workers[at->second].busy_s += now_ - since_[at->second];
  }

  void inherited(const journal::Inherited& event) {
    if (TrialRecord* trial = trial_of(event.trial))
      trial->inherited = {event.tensors, event.of, event.sha256};
  }

  void weights(const journal::Weights& event) {
    if (!event.kept)
      out_.weights_lost.push_back({event.trial, event.reason, now_, event.displaced == true});
  }

  void busy_until_now(WorkerRecord& worker, std::size_t index) {
    if (open_[index] > 0) worker.busy_s += now_ - since_[index];
    open_[index] = 0;
  }

  void leave(WorkerRecord& worker, const std::string& reason) {
    busy_until_now(worker, static_cast<std::size_t>(&worker - out_.workers.data()));
    worker.left_s = now_;
    worker.reason = reason;
  }

  void worker(const journal::Worker& event) {
    if (event.what == journal::Worker::Change::joined) {
      present_[event.rank] = out_.workers.size();
      out_.workers.push_back(
          {event.rank, event.host, event.device.value_or(""), now_, std::nullopt, {}, 0, 0});
      open_.push_back(0);
      since_.push_back(now_);
    } else if (const auto at = present_.find(event.rank); at != present_.end()) {
      leave(out_.workers[at->second], event.reason.value_or(""));
      present_.erase(at);
    }
  }

  ExperimentRecord& out_;
  double now_ = 0;
  double last_validated_ = 0;
  Moment moment_;
  std::vector<Moment> moments_;
  std::map<std::int64_t, Attempt> attempts_;  // the present one of each trial
  std::map<int, std::size_t> present_;        // rank → worker
  std::vector<int> open_;                     // trials in a worker's hands
  std::vector<double> since_;                 // it has at least one
};

}  // namespace

SampleOperations count_operations(const Graph& trained) {
  const Operations aiperf = aiperf_operations(trained);
  const Operations exact = exact_operations(trained);
  return {aiperf.forward + aiperf.backward, aiperf.forward, exact.forward + exact.backward,
          exact_inference(trained)};
}

double data_ceiling(const Json& settings) {
  const Json& data = member_at(settings, "data");
  if (text_at(data, "data") != "glyphs") return 1;
  const double size = std::max(1.0, number_at(data, "eval_size", 2000));  // docs/data.md
  const double noise = std::clamp(number_at(data, "label_noise", 0.05), 0.0, 0.5);
  return 1 - std::round(size * noise) / size;
}

double score_step(double elapsed_s) {
  if (elapsed_s >= kPoints * kStep) return kStep;
  const auto* fits =
      std::ranges::find_if(kFiner, [&](double step) { return elapsed_s >= kPoints * step; });
  return fits == kFiner.end() ? kFiner.back() : *fits;
}

ExperimentRecord record_of(const std::vector<Json>& events) {
  ExperimentRecord record;
  RecordReader reader(record);
  for (const Json& event : events)
    if (event.is_object()) reader.read(event);
  if (!events.empty()) reader.finish();
  return record;
}

}  // namespace assay::automl
