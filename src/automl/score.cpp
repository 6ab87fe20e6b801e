#include "automl/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "automl/operations.h"
#include "core/json_access.h"

namespace assay::automl {

namespace {

constexpr double kStep = 360;
constexpr double kPoints = 20;
constexpr std::array kFiner{180.0, 120.0, 60.0, 30.0, 15.0, 10.0, 5.0, 2.0, 1.0};

std::optional<double> fraction(const Json& event, const char* key) {
  const double value = number_at(event, key, -1);
  return value >= 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

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
    const std::string kind = text_at(event, "event");
    now_ = std::max(now_, number_at(event, "at_s", 0));
    if (kind == "experiment") {
      if (event.contains("settings")) out_.settings = event["settings"];
    } else if (kind == "resume") {
      // Nobody saw the end of who was there before.
      for (const auto& [rank, index] : present_) leave(out_.workers[index], kCoordinatorEnded);
      present_.clear();
      ++out_.resumed;
      out_.resumed_s = now_;
      out_.ended.reset();
      out_.detail.clear();
    } else if (kind == "proposed") {
      proposed(event);
    } else if (kind == "started") {
      started(event);
    } else if (kind == "epoch") {
      epoch(event);
    } else if (kind == "ended") {
      ended(event);
    } else if (kind == "inherited") {
      inherited(event);
    } else if (kind == "weights") {
      weights(event);
    } else if (kind == "worker") {
      worker(event);
    } else if (kind == "end") {
      out_.ended = parse_enum<ExperimentEnd>(text_at(event, "reason"));
      out_.detail = text_at(event, "detail");
    }
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

  TrialRecord* trial_of(const Json& event) {
    const std::int64_t id = integer_at(event, "trial", -1);
    return id >= 0 && id < static_cast<std::int64_t>(out_.trials.size()) ? &out_.trials[id]
                                                                         : nullptr;
  }

  void proposed(const Json& event) {
    // Ids are given in order; another one belongs to a line that was lost, and so does what
    // follows.
    if (integer_at(event, "trial", -1) != static_cast<std::int64_t>(out_.trials.size())) return;
    TrialRecord trial;
    trial.id = static_cast<std::int64_t>(out_.trials.size());
    trial.parent = integer_at(event, "parent", -1);
    if (event.contains("operations")) trial.operations = event["operations"];
    if (event.contains("hyper")) trial.hyper = event["hyper"];
    if (const auto p = event.find("predicted"); p != event.end() && p->is_object()) {
      trial.predicted = number_at(*p, "mean", 0);
      trial.predicted_deviation = number_at(*p, "deviation", 0);
    }
    trial.search_s = number_at(event, "search_s", 0);
    trial.parameters = integer_at(event, "parameters", 0);
    trial.layers = static_cast<int>(integer_at(event, "layers", 0));
    if (const auto c = event.find("per_sample"); c != event.end() && c->is_object())
      trial.per_sample = {integer_at(*c, "aiperf_train", 0), integer_at(*c, "aiperf_validate", 0),
                          integer_at(*c, "exact_train", 0), integer_at(*c, "exact_validate", 0)};
    trial.proposed_s = now_;
    out_.trials.push_back(std::move(trial));
  }

  void started(const Json& event) {
    TrialRecord* trial = trial_of(event);
    if (trial == nullptr) return;
    trial->attempts = static_cast<int>(integer_at(event, "attempt", 1));
    trial->worker = static_cast<int>(integer_at(event, "worker", -1));
    trial->host = text_at(event, "host");
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
  void count(TrialRecord& trial, const Json& event) {
    Attempt& attempt = attempts_[trial.id];
    const double trained = std::max(attempt.trained, number_at(event, "trained", 0));
    const double validated = std::max(attempt.validated, number_at(event, "validated", 0));
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

  void epoch(const Json& event) {
    TrialRecord* trial = trial_of(event);
    if (trial == nullptr) return;
    count(*trial, event);
    trial->epochs = static_cast<int>(integer_at(event, "epoch", 0));
    measured(*trial, fraction(event, "accuracy"));
    if (const double loss = number_at(event, "loss", -1); loss >= 0)
      trial->losses.emplace_back(now_, loss);
  }

  // No error in n samples means that the error is small, not that there is none.
  void measured(TrialRecord& trial, std::optional<double> accuracy) {
    if (!accuracy) return;
    trial.accuracy = std::max(trial.accuracy.value_or(0), *accuracy);
    const double least = last_validated_ > 0 ? 0.5 / last_validated_ : 1e-6;
    moment_.error = std::min(moment_.error, std::max(1 - *accuracy, least));
    const double sample = last_validated_ > 0 ? 1 / last_validated_ : 0;
    if (!out_.ceiling_s && *accuracy >= data_ceiling(out_.settings) - sample - 1e-9)
      out_.ceiling_s = now_;
  }

  void ended(const Json& event) {
    TrialRecord* trial = trial_of(event);
    if (trial == nullptr) return;
    count(*trial, event);
    trial->status = parse_enum<TrialStatus>(text_at(event, "status")).value_or(TrialStatus::failed);
    trial->reason = text_at(event, "reason");
    trial->ended_s = now_;
    trial->wait_s += number_at(event, "wait_s", 0);
    trial->setup_s = number_at(event, "setup_s", 0);
    if (const auto at = present_.find(static_cast<int>(integer_at(event, "worker", -1)));
        at != present_.end() && open_[at->second] > 0 && --open_[at->second] == 0)
      out_.workers[at->second].busy_s += now_ - since_[at->second];
  }

  void inherited(const Json& event) {
    TrialRecord* trial = trial_of(event);
    if (trial == nullptr) return;
    trial->inherited = {integer_at(event, "tensors", 0), integer_at(event, "of", 0),
                        text_at(event, "sha256")};
  }

  void weights(const Json& event) {
    if (member_at(event, "kept") != false) return;
    out_.weights_lost.push_back({integer_at(event, "trial", -1), text_at(event, "reason"), now_,
                                 member_at(event, "displaced") == true});
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

  void worker(const Json& event) {
    const int rank = static_cast<int>(integer_at(event, "rank", -1));
    if (text_at(event, "what") == "joined") {
      present_[rank] = out_.workers.size();
      out_.workers.push_back(
          {rank, text_at(event, "host"), text_at(event, "device"), now_, std::nullopt, {}, 0, 0});
      open_.push_back(0);
      since_.push_back(now_);
    } else if (const auto at = present_.find(rank); at != present_.end()) {
      leave(out_.workers[at->second], text_at(event, "reason"));
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

Json to_json(const SampleOperations& operations) {
  return {{"aiperf_train", operations.aiperf_train},
          {"aiperf_validate", operations.aiperf_validate},
          {"exact_train", operations.exact_train},
          {"exact_validate", operations.exact_validate}};
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
