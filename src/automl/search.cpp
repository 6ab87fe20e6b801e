#include "automl/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "stats/descriptive.h"
#include "stats/normal.h"

namespace assay::automl {

namespace {

Error wrong(const std::string& message, const std::string& advice) {
  return {ErrorKind::config, message, "", advice};
}

void check_search(const SearchOptions& o, const std::vector<Graph>& start) {
  if (start.empty()) throw wrong("a search needs a start model", "give at least one");
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (!within(start[i], o.limits)) {
      throw wrong(fmt::format("start model {} exceeds the limits of the search", i),
                  "raise the limits, or start with a smaller model");
    }
  }
  if (o.candidates < 1 || o.children < 1 || o.parents < 1 || o.max_chain < 1) {
    throw wrong("candidates, children, parents and max_chain must be at least 1",
                "correct the option");
  }
  if (!(o.temperature > 0) || !(o.cooling > 0 && o.cooling <= 1) || !(o.beta >= 0) ||
      !(o.explore >= 0 && o.explore <= 1)) {
    throw wrong(
        "temperature must be above 0, cooling in (0, 1], beta not negative, explore in [0, 1]",
        "correct the option");
  }
  const MorphismChances& c = o.chances;
  const double sum = c.deeper + c.wider + c.add_skip + c.concat_skip;
  if (!(c.deeper >= 0 && c.wider >= 0 && c.add_skip >= 0 && c.concat_skip >= 0 && sum > 0) ||
      !std::isfinite(sum)) {
    throw wrong("the morphisms' chances must not be negative, and not all be 0",
                "correct the chances");
  }
}

}  // namespace

struct Search::Candidate {
  std::int64_t parent = -1;
  std::vector<Operation> operations;
  Graph graph;
  Descriptor descriptor;
  Prediction expected;
};

Search::Search(SearchOptions options, std::vector<Graph> start)
    : options_(options), start_(std::move(start)) {
  check_search(options_, start_);
}

Proposal Search::record(std::int64_t parent, std::vector<Operation> operations, Graph graph,
                        std::optional<Prediction> expected) {
  Trial trial{parent, std::move(operations), std::move(graph), 0, State::pending, 0, {}};
  trial.point = process_.add(describe(trial.graph));
  trials_.push_back(std::move(trial));
  const Trial& made = trials_.back();
  return {static_cast<std::int64_t>(trials_.size()) - 1, made.parent, made.operations, made.graph,
          expected};
}

Proposal Search::propose() {
  const std::size_t number = trials_.size();
  if (number < start_.size()) return record(-1, {}, start_[number], std::nullopt);
  Random random(options_.seed, number);
  if (process_.measured() > 0) {
    if (auto found = anneal(random)) return std::move(*found);
  }
  return wander(random);
}

Proposal Search::adopt(std::int64_t parent, std::vector<Operation> operations) {
  const std::size_t number = trials_.size();
  if (number < start_.size()) return record(-1, {}, start_[number], std::nullopt);
  if (parent < 0 || parent >= static_cast<std::int64_t>(number))
    throw wrong(fmt::format("trial {} has no earlier trial {} as its parent", number, parent),
                "the journal of the experiment is damaged");
  // Predictions refit the process when that is due, and the proposal that is replayed had made
  // some.
  if (process_.measured() > 0) (void)process_.predict({});
  Graph graph = trials_[parent].graph;
  for (const Operation& operation : operations) graph = apply(graph, operation);
  return record(parent, std::move(operations), std::move(graph), std::nullopt);
}

std::vector<std::int64_t> Search::parents(Random& random) const {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].state == State::measured) ids.push_back(static_cast<std::int64_t>(i));
  }
  if (random.uniform() < options_.explore) return {ids[random.below(ids.size())]};
  const std::size_t keep = std::min<std::size_t>(ids.size(), options_.parents);
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(keep), ids.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const double x = trials_[a].value;
                      const double y = trials_[b].value;
                      return x != y ? x > y : a < b;
                    });
  ids.resize(keep);
  return ids;
}

double Search::spread() const {
  std::vector<double> values;
  for (const Trial& trial : trials_) {
    if (trial.state == State::measured) values.push_back(trial.value);
  }
  return std::max(stats::stddev(values).value_or(1), 1e-12);
}

double Search::score(const Prediction& p, double best) const {
  if (options_.acquisition == Acquisition::upper_bound) return p.mean + options_.beta * p.deviation;
  if (p.deviation <= 0) return std::max(p.mean - best, 0.0);
  const double z = (p.mean - best) / p.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return p.deviation * (z * stats::normal_cdf(z) + density);
}

// Simulated annealing over chains of morphisms. The queue holds measured models by their value and
// candidates by their upper bound, which are in the same unit; what comes out is the candidate of
// the best acquisition that was met.
std::optional<Proposal> Search::anneal(Random& random) {
  using Entry = std::pair<double, int>;  // measured trials are -1, -2, …, candidates 0, 1, …
  const auto later = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
  for (const std::int64_t id : parents(random))
    queue.emplace(trials_[id].value, -1 - static_cast<int>(id));

  std::vector<Candidate> candidates;
  candidates.reserve(options_.candidates + options_.children);
  std::unordered_set<std::uint64_t> seen;
  const double best_value = process_.best();
  const double scale = spread();
  double best_bound = -std::numeric_limits<double>::infinity();
  double best_score = -std::numeric_limits<double>::infinity();
  int winner = -1;
  double temperature = options_.temperature;
  while (!queue.empty() && static_cast<int>(candidates.size()) < options_.candidates) {
    const auto [bound, index] = queue.top();
    queue.pop();
    const bool accepted = random.uniform() < std::exp((bound - best_bound) / (temperature * scale));
    temperature = std::max(temperature * options_.cooling, 1e-3);
    if (!accepted) continue;
    const std::size_t first = candidates.size();
    // A copy, because candidates grow.
    const std::int64_t parent = index < 0 ? -1 - index : candidates[index].parent;
    const std::vector<Operation> operations =
        index < 0 ? std::vector<Operation>{} : candidates[index].operations;
    const Graph graph = index < 0 ? trials_[parent].graph : candidates[index].graph;
    for (int child = 0; child < options_.children; ++child) {
      auto made = random_child(graph, options_.chances, options_.limits, random);
      if (!made) continue;
      Descriptor descriptor = describe(made->graph);
      if (process_.find(descriptor) || !seen.insert(descriptor.hash).second) continue;
      std::vector<Operation> chain = operations;
      chain.push_back(made->operation);
      candidates.push_back(
          {parent, std::move(chain), std::move(made->graph), std::move(descriptor), {}});
    }
    std::vector<const Descriptor*> batch;
    for (std::size_t i = first; i < candidates.size(); ++i) {
      batch.push_back(&candidates[i].descriptor);
    }
    const std::vector<Prediction> predictions = process_.predict(batch);
    for (std::size_t i = first; i < candidates.size(); ++i) {
      const Prediction& p = candidates[i].expected = predictions[i - first];
      const double upper = p.mean + options_.beta * p.deviation;
      if (static_cast<int>(candidates[i].operations.size()) < options_.max_chain) {
        queue.emplace(upper, static_cast<int>(i));
      }
      best_bound = std::max(best_bound, upper);
      if (const double value = score(p, best_value); value > best_score) {
        best_score = value;
        winner = static_cast<int>(i);
      }
    }
  }
  candidates_seen_ += static_cast<std::int64_t>(candidates.size());
  if (winner < 0) return std::nullopt;
  Candidate& chosen = candidates[winner];
  return record(chosen.parent, std::move(chosen.operations), std::move(chosen.graph),
                chosen.expected);
}

// Random morphisms from any trial until something new is met.
Proposal Search::wander(Random& random) {
  constexpr int attempts = 2000;
  constexpr int steps = 8;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto parent = static_cast<std::int64_t>(random.below(trials_.size()));
    Graph graph = trials_[parent].graph;
    std::vector<Operation> operations;
    for (int step = 0; step < steps; ++step) {
      auto child = random_child(graph, options_.chances, options_.limits, random);
      if (!child) continue;
      graph = std::move(child->graph);
      operations.push_back(child->operation);
      if (!process_.find(describe(graph))) {
        return record(parent, std::move(operations), std::move(graph), std::nullopt);
      }
    }
  }
  throw wrong(
      "no new architecture was found within the limits after " + counted(trials_.size(), "trial"),
      "raise the limits of parameters, operations, activations or layers");
}

Search::Trial& Search::pending(std::int64_t id) {
  if (id < 0 || id >= static_cast<std::int64_t>(trials_.size())) {
    throw Error(ErrorKind::internal, fmt::format("trial {} was never proposed", id));
  }
  if (trials_[id].state != State::pending) {
    throw Error(ErrorKind::internal, fmt::format("trial {} already has a result", id));
  }
  return trials_[id];
}

void Search::tell(std::int64_t id, double value) {
  Trial& trial = pending(id);
  process_.measure(trial.point, value);
  trial.value = value;
  trial.state = State::measured;
}

void Search::tell_failed(std::int64_t id, std::string reason) {
  Trial& trial = pending(id);
  process_.fail(trial.point);
  trial.state = State::failed;
  trial.reason = std::move(reason);
}

std::optional<std::int64_t> Search::best() const {
  std::optional<std::int64_t> best;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].state != State::measured) continue;
    if (!best || trials_[i].value > trials_[*best].value) best = static_cast<std::int64_t>(i);
  }
  return best;
}

}  // namespace assay::automl
