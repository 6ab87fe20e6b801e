// The cost of the architecture search on one core, with histories of morphed ResNet-50s.
// bench_growth continues to histories of 10,000.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "automl/distance.h"
#include "automl/gaussian_process.h"
#include "automl/morphism.h"
#include "automl/search.h"
#include "automl/start_models.h"

namespace {

using namespace assay::automl;

// ResNet-50 and random children of random earlier models, all different.
const std::vector<Graph>& family(std::size_t count) {
  static std::vector<Graph> graphs{resnet50()};
  static std::map<std::uint64_t, bool> seen;
  static Random random(1);
  while (graphs.size() < count) {
    const auto child = random_child(graphs[random.below(graphs.size())], {}, {}, random);
    if (child && seen.try_emplace(describe(child->graph).hash, true).second) {
      graphs.push_back(child->graph);
    }
  }
  return graphs;
}

double value_of(const Graph& graph) {
  return 0.6 + 0.15 * static_cast<double>(graph.hash() % 1000) / 1000;
}

std::unique_ptr<GaussianProcess> process_of(std::size_t count) {
  auto process = std::make_unique<GaussianProcess>();
  const std::vector<Graph>& graphs = family(count);
  for (std::size_t i = 0; i < count; ++i) {
    process->measure(process->add(describe(graphs[i])), value_of(graphs[i]));
  }
  const Descriptor start = describe(graphs[0]);
  const Descriptor* const one = &start;
  (void)process->predict({&one, 1});  // computes factor and hyper-parameters
  return process;
}

void Distance(benchmark::State& state) {
  const std::vector<Graph>& graphs = family(100);
  std::vector<Descriptor> all;
  for (std::size_t i = 0; i < 100; ++i) all.push_back(describe(graphs[i]));
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(edit_distance(all[at % 100], all[(at * 37 + 11) % 100]));
    ++at;
  }
}
BENCHMARK(Distance)->Unit(benchmark::kMicrosecond);

// Nothing in common: every cell of the layers counts, and no skip has a counterpart.
void DistanceOfStrangers(benchmark::State& state) {
  const Descriptor a = describe(resnet50());
  Descriptor b = a;
  std::reverse(b.layers.begin(), b.layers.end());
  for (std::size_t i = 0; i < b.skips.size(); ++i) {
    b.skips[i].from += 3;
    b.skips[i].length += 1 + static_cast<int>(i % 3);
  }
  b.hash = 1;
  for (auto _ : state) benchmark::DoNotOptimize(edit_distance(a, b));
}
BENCHMARK(DistanceOfStrangers)->Unit(benchmark::kMicrosecond);

void Morph(benchmark::State& state) {
  const Graph start = resnet50();
  Random random(2);
  for (auto _ : state) benchmark::DoNotOptimize(random_child(start, {}, {}, random));
}
BENCHMARK(Morph)->Unit(benchmark::kMicrosecond);

// One candidate: morph, describe, duplicate check and acquisition, eight at a time as in the
// search.
void OneCandidate(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto process = process_of(count);
  const std::vector<Graph>& graphs = family(count);
  Random random(3);
  std::int64_t candidates = 0;
  for (auto _ : state) {
    std::vector<Descriptor> children;
    while (children.size() < 8) {
      const auto child = random_child(graphs[random.below(count)], {}, {}, random);
      if (!child) continue;
      Descriptor d = describe(child->graph);
      if (!process->find(d)) children.push_back(std::move(d));
    }
    std::vector<const Descriptor*> batch;
    for (const Descriptor& d : children) batch.push_back(&d);
    benchmark::DoNotOptimize(process->predict(batch));
    candidates += 8;
  }
  state.counters["s_per_candidate"] = benchmark::Counter(
      static_cast<double>(candidates), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(OneCandidate)->Arg(30)->Arg(100)->Arg(300)->Arg(1000)->Unit(benchmark::kMillisecond);

void Proposal100(benchmark::State& state) {
  const auto count = static_cast<int>(state.range(0));
  SearchOptions options;
  options.candidates = 100;
  options.explore = 0;     // an exploring proposal examines fewer
  options.max_chain = 20;  // the queue does not run dry
  Search search(options, {resnet50()});
  // Random morphism makes the history: proposing it would take the time to be measured.
  assay::Json saved = search.save();
  Random random(4);
  std::vector<Graph> graphs;
  std::map<std::uint64_t, bool> seen;
  while (static_cast<int>(graphs.size()) < count) {
    assay::Json item;
    if (graphs.empty()) {
      graphs.push_back(resnet50());
      item["parent"] = -1;
      item["operations"] = assay::Json::array();
    } else {
      const std::size_t parent = random.below(graphs.size());
      const auto child = random_child(graphs[parent], {}, {}, random);
      if (!child || !seen.try_emplace(describe(child->graph).hash, true).second) continue;
      graphs.push_back(child->graph);
      item["parent"] = parent;
      item["operations"] = assay::Json::array({to_json(child->operation)});
    }
    item["state"] = "measured";
    item["value"] = value_of(graphs.back());
    saved["trials"].push_back(std::move(item));
  }
  search = Search::restore(options, saved, "bench");
  search.tell(search.propose().id, 0.7);  // fits the process
  const auto before = static_cast<double>(search.candidates_seen());
  for (auto _ : state) search.tell(search.propose().id, 0.65);
  state.counters["candidates"] = benchmark::Counter(
      static_cast<double>(search.candidates_seen()) - before, benchmark::Counter::kAvgIterations);
}
BENCHMARK(Proposal100)->Arg(30)->Arg(1000)->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
