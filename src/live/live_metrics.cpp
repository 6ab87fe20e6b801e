#include "live/live_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/json_access.h"
#include "core/text.h"
#include "core/time.h"
#include "live/metric_readers.h"

namespace assay::live {

namespace {

constexpr std::size_t kMaxSeries = 8192;
constexpr std::size_t kAllBuckets = 400'000;  // about 60 bytes each
constexpr std::size_t kAllPoints = 400'000;   // of an answer
constexpr double kSilent = 60;                // seconds after which a rank holds up no bin

struct Name {
  const char* name;
  const char* title;
  const char* unit;
};
// In the order of MetricName.
constexpr std::array<Name, 14> kMetricNames{{{"throughput", "Throughput", "samples/s"},
                                             {"tokens", "Token throughput", "tokens/s"},
                                             {"loss", "Loss", ""},
                                             {"lr", "Learning rate", ""},
                                             {"step_time", "Step time", "s"},
                                             {"data_s", "Waiting for data", "s"},
                                             {"compute_s", "Compute", "s"},
                                             {"comm_s", "Communication", "s"},
                                             {"optimizer_s", "Optimizer", "s"},
                                             {"accuracy", "Accuracy", ""},
                                             {"util", "Utilisation", "%"},
                                             {"memory", "Memory in use", "B"},
                                             {"power", "Power", "W"},
                                             {"temperature", "Temperature", "°C"}}};
static_assert(kMetricNames.size() == static_cast<std::size_t>(MetricName::temperature) + 1);

Json to_json(const RunMark& mark) {
  Json json{{"at", iso_utc(mark.at_ms * 1'000'000, true)},
            {"t", static_cast<double>(mark.at_ms) / 1e3},
            {"kind", mark.kind},
            {"text", mark.text}};
  if (mark.to_ms > 0) json["to"] = static_cast<double>(mark.to_ms) / 1e3;
  return json;
}

// Milliseconds and six digits are all that a chart shows; they halve the answer.
double rounded(double value, double factor) {
  return std::round(value * factor) / factor;
}

Json to_json(const std::vector<Point>& points) {
  Json list = Json::array();
  for (const auto& [t, value] : points) {
    double shown = value;
    if (std::isfinite(value) && value != 0) {
      const double magnitude = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
      if (std::isfinite(magnitude) && magnitude > 0) shown = rounded(value, magnitude);
    }
    list.push_back(Json::array({rounded(t, 1e3), std::isfinite(shown) ? Json(shown) : Json()}));
  }
  return list;
}

}  // namespace

Metrics::Metrics(std::uint64_t generation) : generation_(generation) {}
Metrics::~Metrics() = default;

void Metrics::reset() {
  const std::uint64_t next = generation_ + 1;
  values_.clear();
  rates_.clear();
  ranks_.clear();
  nodes_.clear();
  newest_of_rank_.clear();
  trainers_.clear();
  phases_.clear();
  newest_ = 0;
  generation_ = next;
}

void Metrics::limit() {
  const std::size_t all = values_.size() + rates_.size();
  const std::size_t each =
      std::clamp<std::size_t>(kAllBuckets / std::max<std::size_t>(all, 1), 48, 4096);
  for (auto& [key, series] : values_) series.limit(each);
  for (auto& [key, series] : rates_) series.limit(std::min<std::size_t>(each, 2048));
}

void Metrics::add(const Key& key, double t, double value) {
  auto found = values_.find(key);
  if (found == values_.end()) {
    if (values_.size() + rates_.size() >= kMaxSeries) return;
    found = values_.emplace(key, ThinnedSeries()).first;
    limit();
  }
  found->second.add(t, value);
  newest_ = std::max(newest_, t);
}

// Ranks that train a trial together log the same epochs at about the same time: one of them is
// shown. Another worker that gets the trial later goes on with it.
void Metrics::add_trial(const Key& key, int rank, double t, double value) {
  constexpr double kLater = 1;
  Trainer& trainer = trainers_[key];
  if (trainer.rank >= 0 && trainer.rank != rank && t <= trainer.last + kLater) return;
  trainer = {rank, std::max(trainer.last, t)};
  add(key, t, value);
}

void Metrics::add_rate(const Key& key, double from, double to, double amount) {
  auto found = rates_.find(key);
  if (found == rates_.end()) {
    if (values_.size() + rates_.size() >= kMaxSeries) return;
    found = rates_.emplace(key, RateSeries()).first;
    limit();
  }
  found->second.add(from, to, amount);
  newest_ = std::max(newest_, to);
}

void Metrics::add_mark(RunMark mark) {
  if (phases_.size() < RunWatch::kMaxMarks) phases_.push_back(std::move(mark));
}

void Metrics::look(const RunWatch& watch, std::uint64_t bytes) {
  if (watch.logs().size() < ranks_.size() || watch.telemetry().size() < nodes_.size()) reset();
  MetricSink sink;
  sink.value = [this](MetricName name, Scope scope, int node, int item, double t, double value) {
    if (scope == Scope::trial)
      add_trial({scope, static_cast<int>(name), -1, item}, node, t, value);
    else
      add({scope, static_cast<int>(name), node, item}, t, value);
  };
  sink.amount = [this](MetricName name, int rank, double from, double to, double amount,
                       bool of_all) {
    const int index = static_cast<int>(name);
    if (!of_all && rank < kMaxRanks) add_rate({Scope::rank, index, -1, rank}, from, to, amount);
    add_rate({Scope::job, index, -1, -1}, from, to, amount);
    newest_of_rank_[rank] = std::max(newest_of_rank_[rank], to);
  };
  sink.mark = [this](RunMark mark) { add_mark(std::move(mark)); };
  for (std::size_t i = ranks_.size(); i < watch.logs().size(); ++i) {
    const LogFile& log = watch.logs()[i];
    // Logs without a rank have no PerfLog; their places keep the two lists in step.
    ranks_.push_back(log.rank < 0 ? nullptr : std::make_unique<RankReader>(log));
  }
  for (std::size_t i = nodes_.size(); i < watch.telemetry().size(); ++i) {
    nodes_.push_back(std::make_unique<NodeReader>(watch.telemetry()[i]));
    hosts_[watch.telemetry()[i].node] = watch.telemetry()[i].host;
  }
  std::uint64_t left = bytes;
  bool same = true;
  const auto is_over = [&](std::size_t round) {
    return watch.ended() || (watch.rounds()[round].ended && watch.rounds()[round].listed);
  };
  // In turns, so that all come up to about the same time.
  for (std::uint64_t piece = 1U << 20; left > 0;) {
    const std::uint64_t before = left;
    for (const auto& reader : ranks_)
      if (reader != nullptr && left > 0)
        same = reader->look(std::min(left, piece), watch.clock_offset(reader->log().node),
                            is_over(reader->log().round_index), sink, left) &&
               same;
    for (const auto& reader : nodes_)
      if (left > 0)
        same = reader->look(std::min(left, piece), watch.clock_offset(reader->file().node),
                            is_over(reader->file().round_index), sink, left) &&
               same;
    if (!same) {
      reset();
      return look(watch, bytes);
    }
    if (left == before) break;
  }
  indexing_ = left == 0;
  ended_ = watch.ended();
  marks_ = watch.marks();
}

Json Metrics::read(const MetricsQuery& query) const {
  const std::size_t all = std::max<std::size_t>(values_.size() + rates_.size(), 1);
  const std::size_t points = std::max<std::size_t>(
      std::min(std::clamp<std::size_t>(query.points, 2, 5000), kAllPoints / all), 2);
  Json list = Json::array();
  const auto put = [&](const Key& key, const Stretch& stretch) {
    if (stretch.points.empty()) return;
    const Name& name = kMetricNames[static_cast<std::size_t>(key.name)];
    std::string of;
    if (key.scope == Scope::rank || key.scope == Scope::trial) of = std::to_string(key.item);
    if (key.node >= 0) of = "node" + std::to_string(key.node);
    if (key.scope == Scope::device) of += "/dev" + std::to_string(key.item);
    Json series{{"name", name.name},
                {"title", name.title},
                {"unit", name.unit},
                {"scope", to_text(key.scope)},
                {"of", of},
                {"replaces_from", rounded(stretch.replaces_from, 1e3)},
                {"points", to_json(stretch.points)}};
    if (const auto host = hosts_.find(key.node); host != hosts_.end())
      series["host"] = printable(host->second);
    list.push_back(std::move(series));
  };
  double slowest = newest_;
  for (const auto& [rank, newest] : newest_of_rank_)
    if (newest > newest_ - kSilent) slowest = std::min(slowest, newest);
  for (const auto& [key, series] : rates_) {
    double until = slowest;
    if (const auto own = newest_of_rank_.find(key.item); key.scope == Scope::rank)
      until = own == newest_of_rank_.end() ? 0 : own->second;
    put(key, series.points(query.span, points, until));
  }
  // An experiment has thousands of trials, and a chart has room for a few: the newest.
  std::set<int> trials;
  for (const auto& [key, series] : values_)
    if (key.scope == Scope::trial && series.newest() >= query.span.from) trials.insert(key.item);
  while (trials.size() > kShownTrials) trials.erase(trials.begin());
  for (const auto& [key, series] : values_)
    if (series.newest() >= query.span.from &&
        (key.scope != Scope::trial || trials.contains(key.item)))
      put(key, series.points(query.span, points));
  std::vector<const RunMark*> marks;
  for (const auto* source : {&marks_, &phases_})
    for (const RunMark& mark : *source) {
      const double end = static_cast<double>(std::max(mark.at_ms, mark.to_ms)) / 1e3;
      if (end >= query.span.from && static_cast<double>(mark.at_ms) / 1e3 <= query.span.to)
        marks.push_back(&mark);
    }
  std::ranges::stable_sort(marks, {}, [](const RunMark* mark) { return mark->at_ms; });
  Json marked = Json::array();
  for (const RunMark* mark : marks) marked.push_back(to_json(*mark));
  return {{"series", std::move(list)},
          {"marks", std::move(marked)},
          {"newest", rounded(newest_, 1e3)},
          {"generation", generation_},
          {"indexing", indexing_}};
}

}  // namespace assay::live
