#include "automl/journal_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "automl/experiment_events.h"
#include "automl/morphism.h"
#include "automl/report_check.h"
#include "automl/score.h"
#include "automl/trained_graph.h"
#include "core/error.h"
#include "core/text.h"

namespace assay::automl {

void JournalCheck::Problems::add(std::string what) {
  if (count++ == 0) first = std::move(what);
}

namespace {

constexpr std::size_t kKeptGraphs = 1024;
// Settings that journals of earlier versions do not have.
constexpr std::array<std::string_view, 2> kLater{"progress_ns", "devices_per_trial"};

class JournalReader {
 public:
  JournalReader(const ExperimentSettings& planned, JournalCheck& out)
      : settings_(planned), out_(out), reports_(planned) {
    if (!planned.space.is_null()) space_.emplace(Space::parse(planned.space, "automl: space"));
  }

  void read(const Json& event) {
    using journal::Event;
    const auto kind = journal::event_of(event);
    const auto [at, wall_ns] = journal::read<journal::Stamps>(event);
    if (at < now_) wrong(fmt::format("an event at {:.3f} s after one at {:.3f} s", at, now_));
    now_ = std::max(now_, at);
    if (wall_ns) compare_clocks(kind == Event::resume, *wall_ns, at);
    if (first_ && kind != Event::experiment) missing("its beginning");
    if (kind == Event::experiment) {
      begin(journal::read<journal::Experiment>(event).settings);
    } else if (kind == Event::resume) {
      ended_ = false;
      present_.clear();
      out_.reported.clear();  // the logs of an earlier attempt's workers are gone
    } else if (ended_) {
      wrong("an event after its end");
    } else if (kind == Event::worker) {
      worker(journal::read<journal::Worker>(event));
    } else if (kind == Event::proposed) {
      proposed(journal::read<journal::Proposed>(event));
    } else if (kind == Event::started) {
      started(journal::read<journal::Started>(event));
    } else if (kind == Event::epoch) {
      epoch(journal::read<journal::Epoch>(event));
    } else if (kind == Event::ended) {
      ended(journal::read<journal::Ended>(event));
    } else if (kind == Event::refused) {
      const auto refused = journal::read<journal::Refused>(event);
      wrong(fmt::format("worker {} on {}: {}", refused.rank, printable(refused.host),
                        printable(refused.reason)));
    } else if (kind == Event::end) {
      ended_ = true;
    }
    first_ = false;
  }

  void finish(bool ended) {
    if (first_) missing("everything");
    if (!ended || first_) return;
    if (!ended_) missing("its end");
    for (std::size_t id = 0; id < trials_.size(); ++id)
      if (trials_[id].running) missing(fmt::format("the end of trial {}", id));
  }

 private:
  struct Trial {
    std::int64_t parent = -1;
    Json operations = Json::array();
    Hyper hyper;
    ReportCheck::Attempt attempt{};
    int attempts = 0;
    int worker = -1;
    bool running = false;
    double started_s = 0;
  };

  void missing(std::string what) { out_.missing.add(std::move(what)); }
  void wrong(std::string what) { out_.wrong.add(std::move(what)); }

  void compare_clocks(bool resumed, std::int64_t wall_ns, double at) {
    const double offset = static_cast<double>(wall_ns) * 1e-9 - at;
    if (resumed || !offset_) offset_ = offset;
    out_.clocks_apart_s = std::max(out_.clocks_apart_s, std::abs(offset - *offset_));
  }

  void begin(const Json& settings) {
    if (!first_) wrong("a second beginning");
    if (!settings.is_object()) {
      missing("its settings");
      return;
    }
    const Json planned = to_json(settings_);
    const Json usual =
        to_json(ExperimentSettings{});  // a journal from before there was the setting
    for (const auto& [key, value] : planned.items()) {
      const auto own = settings.find(key);
      const bool older =
          own == settings.end() && std::ranges::count(kLater, key) > 0 && value == usual.at(key);
      if (!older && (own == settings.end() || *own != value))
        wrong(fmt::format("its setting '{}' is not the plan's", key));
    }
  }

  void worker(const journal::Worker& event) {
    if (event.what != journal::Worker::Change::joined) {
      present_.erase(event.rank);
      return;
    }
    if (std::string why = reports_.rank(event.rank); !why.empty()) wrong(std::move(why));
    present_.insert(event.rank);
  }

  void proposed(const journal::Proposed& event) {
    const auto next = static_cast<std::int64_t>(trials_.size());
    const std::int64_t id = event.trial;
    if (id < next) return wrong(fmt::format("trial {} is proposed twice", id));
    while (static_cast<std::int64_t>(trials_.size()) < std::min(id, next + kMaxLost)) {
      missing(fmt::format("the proposal of trial {}", trials_.size()));
      trials_.emplace_back();
      known_.push_back(false);
    }
    if (id != static_cast<std::int64_t>(trials_.size())) return;
    if (event.told > results_)
      missing(fmt::format("results that were known when trial {} was proposed", id));
    Trial trial;
    trial.parent = event.parent;
    trial.operations = event.operations;
    bool good = true;
    try {
      trial.hyper = hyper_from_json(event.hyper, "hyper");
      if (!((space_ ? settings_.at(*space_, event.point) : settings_.hyper) == trial.hyper))
        wrong(fmt::format("trial {}: its hyper-parameters are not those of its point", id));
    } catch (const std::exception&) {
      good = false;
    }
    trials_.push_back(std::move(trial));
    known_.push_back(good);
    check_operations(id, event, good);
  }

  // The operations that every sample counts for follow from the graph.
  void check_operations(std::int64_t id, const journal::Proposed& event, bool good) {
    std::optional<SampleOperations> per_sample;
    std::int64_t parameters = 0;
    try {
      const Graph* graph = good ? graph_of(id) : nullptr;
      if (graph != nullptr) {
        const Hyper& hyper = trials_[static_cast<std::size_t>(id)].hyper;
        per_sample =
            count_operations(trained_graph(*graph, hyper.kernel_size, hyper.dropout, "the graph"));
        parameters = graph->parameters();
      }
    } catch (const std::exception&) {
      per_sample.reset();  // told below
    }
    if (!per_sample) {
      known_[static_cast<std::size_t>(id)] = false;
      return missing(fmt::format("what makes the architecture of trial {}", id));
    }
    if (event.per_sample != *per_sample || event.parameters != parameters)
      wrong(
          fmt::format("trial {}: its lineage gives {} operations a sample and {} parameters, not "
                      "what the journal says",
                      id, per_sample->aiperf_train, parameters));
  }

  /// nullptr where a proposal of the lineage is missing.
  const Graph* graph_of(std::int64_t id) {
    std::vector<std::int64_t> line;
    std::int64_t at = id;
    for (; at >= 0 && !graphs_.contains(at); at = trials_[static_cast<std::size_t>(at)].parent) {
      const std::int64_t parent = trials_[static_cast<std::size_t>(at)].parent;
      if (!known_[static_cast<std::size_t>(at)] || parent >= at) return nullptr;
      line.push_back(at);
    }
    Graph graph = at >= 0 ? graphs_.at(at) : settings_.start_graph("automl");
    if (graphs_.size() >= kKeptGraphs) graphs_.clear();
    for (const std::int64_t one : line | std::views::reverse) {
      const Json& operations = trials_[static_cast<std::size_t>(one)].operations;
      if (!operations.is_array()) return nullptr;
      for (const Json& operation : operations)
        graph = apply(graph, operation_from_json(operation, "operations"));
      graphs_.insert_or_assign(one, graph);
    }
    return &graphs_.insert_or_assign(id, graph).first->second;
  }

  // Both give nullptr when something is missing.
  Trial* proposed_trial(std::int64_t id) {
    if (id >= 0 && id < static_cast<std::int64_t>(trials_.size()))
      return &trials_[static_cast<std::size_t>(id)];
    missing(fmt::format("the proposal of trial {}", id));
    return nullptr;
  }
  Trial* running_trial(std::int64_t id) {
    Trial* trial = proposed_trial(id);
    if (trial == nullptr || trial->running) return trial;
    missing(fmt::format("a start of trial {}", id));
    return nullptr;
  }

  void started(const journal::Started& event) {
    const std::int64_t id = event.trial;
    Trial* const found = proposed_trial(id);
    if (found == nullptr) return;
    Trial& trial = *found;
    if (trial.running) missing(fmt::format("an end of trial {}", id));
    if (event.attempt > trial.attempts + 1)
      missing(fmt::format("attempt {} of trial {}", trial.attempts + 1, id));
    trial.attempts = event.attempt;
    trial.worker = event.worker;
    if (!present_.contains(trial.worker))
      missing(fmt::format("how worker {} joined", trial.worker));
    trial.running = true;
    trial.started_s = now_;
    trial.attempt = {};
    trial.attempt.batch_size = trial.hyper.batch_size * settings_.devices_per_trial;
    trial.attempt.epochs = settings_.epochs_of_round(id / std::max(1, settings_.workers));
    if (event.epochs && *event.epochs != trial.attempt.epochs)
      wrong(fmt::format("trial {}: {} epochs, where its round has {}", id, *event.epochs,
                        trial.attempt.epochs));
  }

  void epoch(const journal::Epoch& event) {
    const std::int64_t id = event.trial;
    Trial* const found = running_trial(id);
    if (found == nullptr) return;
    Trial& trial = *found;
    const Epoch report{
        id, event.epoch, event.accuracy, event.loss, event.trained, event.validated, event.trial_s};
    const int before = trial.attempt.epoch;
    if (!(report.accuracy >= 0 && report.accuracy <= 1))
      return wrong(fmt::format("trial {}: an accuracy of {}", id, report.accuracy));
    if (event.worker && *event.worker != trial.worker)
      wrong(fmt::format("trial {}: an epoch of worker {}, which does not train it", id,
                        *event.worker));
    const std::string why = reports_.epoch(trial.attempt, report, now_ - trial.started_s, true);
    if (!why.empty()) return wrong(fmt::format("trial {}, worker {}: {}", id, trial.worker, why));
    if (report.epoch > before + 1) missing(fmt::format("epoch {} of trial {}", before + 1, id));
    JournalCheck::Reported& reported = out_.reported[{trial.worker, id}];
    reported.trained +=
        static_cast<double>(report.trained) / report.epoch * (report.epoch - before);
    reported.accuracy.push_back(report.accuracy);
  }

  void ended(const journal::Ended& event) {
    const std::int64_t id = event.trial;
    Trial* const found = running_trial(id);
    if (found == nullptr) return;
    Trial& trial = *found;
    trial.running = false;
    if (event.final) ++results_;
    if (!event.counts()) --trial.attempts;
    if (!event.trained) return;  // the coordinator ended before it
    Done done;
    done.trial = id;
    done.ok = event.status == TrialStatus::ok && event.reason.empty();
    done.epochs = event.epochs.value_or(0);
    done.trained = *event.trained;
    done.validated = event.validated.value_or(0);
    done.seconds = event.seconds.value_or(0);
    done.setup_s = event.setup_s.value_or(0);
    if (done.epochs > trial.attempt.epoch && done.epochs <= trial.attempt.epochs)
      return missing(fmt::format("epoch {} of trial {}", trial.attempt.epoch + 1, id));
    const std::string why = reports_.done(trial.attempt, done, now_ - trial.started_s);
    if (!why.empty()) wrong(fmt::format("trial {}, worker {}: {}", id, trial.worker, why));
    const double accuracy = event.accuracy.value_or(0);
    if (trial.attempt.epoch > 0 && std::abs(accuracy - trial.attempt.accuracy) > 1e-12)
      wrong(fmt::format("trial {}: an accuracy of {} at its end, and {} in its epochs", id,
                        accuracy, trial.attempt.accuracy));
  }

  static constexpr std::int64_t kMaxLost = 1000;  // proposals in a row that are told one by one
  const ExperimentSettings& settings_;
  JournalCheck& out_;
  ReportCheck reports_;
  std::optional<Space> space_;
  std::vector<Trial> trials_;
  std::vector<bool> known_;  // what its architecture is made of
  std::map<std::int64_t, Graph> graphs_;
  std::set<int> present_;
  std::int64_t results_ = 0;
  double now_ = 0;
  std::optional<double> offset_;  // wall clock - at_s
  bool first_ = true;
  bool ended_ = false;
};

}  // namespace

JournalCheck check_journal(const std::vector<Json>& events, std::size_t skipped,
                           const ExperimentSettings& planned, bool ended) {
  JournalCheck out;
  JournalReader reader(planned, out);
  std::size_t resumed = 0;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    resumed += journal::event_of(event) == journal::Event::resume ? 1 : 0;
    reader.read(event);
  }
  reader.finish(ended);
  if (skipped > resumed) out.missing.add(fmt::format("{} lines that cannot be read", skipped));
  return out;
}

}  // namespace assay::automl
