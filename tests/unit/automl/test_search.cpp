#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/distance.h"
#include "automl/search.h"
#include "automl/start_models.h"
#include "error_of.h"
#include "stats/descriptive.h"
#include "stats/mann_whitney.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

Graph small() {
  return basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
}

SearchOptions options(std::uint64_t seed) {
  SearchOptions o;
  o.seed = seed;
  o.candidates = 40;
  o.limits = {2'000'000, INT64_MAX, INT64_MAX, 120};
  return o;
}

// An architecture twelve morphisms away from the start; values are minus the distance to it, so
// that it is the only optimum, with value 0.
class Surrogate {
 public:
  explicit Surrogate(const Graph& start, std::uint64_t seed = 1) : target_(describe(start)) {
    Random random(seed, 500);
    Graph graph = start;
    for (int made = 0; made < 12;) {
      const auto child = random_child(graph, {}, {}, random);
      if (!child) continue;
      graph = child->graph;
      ++made;
    }
    target_ = describe(graph);
  }
  [[nodiscard]] double operator()(const Graph& graph) const {
    return -edit_distance(describe(graph), target_);
  }

 private:
  Descriptor target_;
};

double run_search(const SearchOptions& o, const Surrogate& f, int trials, int in_flight) {
  Search search(o, {small()});
  std::deque<Proposal> running;
  for (int i = 0; i < trials; ++i) {
    running.push_back(search.propose());
    if (static_cast<int>(running.size()) < in_flight) continue;
    search.tell(running.front().id, f(running.front().graph));
    running.pop_front();
  }
  for (const Proposal& p : running) search.tell(p.id, f(p.graph));
  return search.trials()[*search.best()].value;
}

// The same number of trials, each a random morphism of a random earlier one, never one twice.
double run_random(const SearchOptions& o, const Surrogate& f, int trials) {
  Random random(o.seed, 1000);
  std::vector<Graph> graphs{small()};
  std::set<std::uint64_t> seen{describe(graphs[0]).hash};
  double best = f(graphs[0]);
  while (static_cast<int>(graphs.size()) < trials) {
    auto child = random_child(graphs[random.below(graphs.size())], o.chances, o.limits, random);
    if (!child || !seen.insert(describe(child->graph).hash).second) continue;
    graphs.push_back(child->graph);
    best = std::max(best, f(child->graph));
  }
  return best;
}

// Targets and seeds that played no part in the choice of the search's defaults.
stats::MannWhitney against_random(int trials, int in_flight) {
  std::vector<double> found;
  std::vector<double> random;
  for (std::uint64_t seed = 101; seed <= 120; ++seed) {
    const Surrogate f(small(), seed);
    found.push_back(run_search(options(seed), f, trials, in_flight));
    random.push_back(run_random(options(seed), f, trials));
  }
  ::testing::Test::RecordProperty("search", std::to_string(*stats::median(found)));
  ::testing::Test::RecordProperty("random", std::to_string(*stats::median(random)));
  const auto test = *stats::mann_whitney(found, random);
  ::testing::Test::RecordProperty("superiority", std::to_string(test.superiority));
  ::testing::Test::RecordProperty("p_value", std::to_string(test.p_value));
  return test;
}

TEST(Search, FindsBetterArchitecturesThanRandomMorphismInTheSameNumberOfTrials) {
  const stats::MannWhitney test = against_random(100, 1);
  EXPECT_GT(test.superiority, 0.5);
  EXPECT_LT(test.p_value, 0.05);
}

TEST(Search, WithManyTrialsUnderWayStillBeatsRandomMorphism) {
  const stats::MannWhitney test = against_random(100, 8);
  EXPECT_GT(test.superiority, 0.5);
  EXPECT_LT(test.p_value, 0.05);
}

TEST(Search, HoldsAllDistinctPointsAfterThreeHundredTrials) {
  const Surrogate f(small());
  SearchOptions o = options(5);
  o.candidates = 16;
  Search search(o, {small()});
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 300; ++i) {
    const Proposal p = search.propose();
    seen.insert(describe(p.graph).hash);
    i % 17 == 3 ? search.tell_failed(p.id, "out of memory") : search.tell(p.id, f(p.graph));
  }
  EXPECT_EQ(seen.size(), 300U);
  EXPECT_EQ(search.process().size(), 300U);
  EXPECT_EQ(search.process().measured() + 18, 300U);
}

TEST(Search, ProposesTheStartModelsFirst) {
  Search search(options(1), {small(), resnet20()});
  EXPECT_EQ(search.propose().graph, small());
  const Proposal second = search.propose();
  EXPECT_EQ(second.graph, resnet20());
  EXPECT_EQ(second.parent, -1);
  EXPECT_GE(search.propose().parent, 0);  // nothing is measured yet: a morphism of one of them
}

TEST(Search, OperationsLeadFromTheParentToTheProposal) {
  const Surrogate f(small());
  Search search(options(2), {small()});
  for (int i = 0; i < 25; ++i) {
    const Proposal p = search.propose();
    if (p.parent >= 0) {
      Graph graph = search.trials()[p.parent].graph;
      for (const Operation& operation : p.operations) graph = apply(graph, operation);
      EXPECT_EQ(graph, p.graph);
    }
    search.tell(p.id, f(p.graph));
  }
}

TEST(Search, TheSameSeedGivesTheSameSearchAndAnotherSeedAnother) {
  EXPECT_EQ(run_search(options(3), Surrogate(small()), 20, 3),
            run_search(options(3), Surrogate(small()), 20, 3));
  const auto third = [](std::uint64_t seed) {
    Search search(options(seed), {small()});
    search.tell(search.propose().id, 0.5);
    return search.propose().graph.hash();
  };
  EXPECT_EQ(third(1), third(1));
  EXPECT_NE(third(1), third(2));
}

TEST(Search, RestoredFromItsStateProposesWhatItWouldHaveProposed) {
  const Surrogate f(small());
  for (const int trials : {0, 1, 2, 9, 30}) {
    Search search(options(4), {small()});
    for (int i = 0; i < trials; ++i) {
      const Proposal p = search.propose();
      if (i % 5 == 4) search.tell_failed(p.id, "killed");
      if (i % 5 < 3) search.tell(p.id, f(p.graph));
    }
    const Json saved = parse_json(dump_line(search.save()), "state");
    Search restored = Search::restore(options(4), saved, "state");
    EXPECT_EQ(restored.save(), search.save());
    for (int i = 0; i < 6; ++i) {
      const Proposal a = search.propose();
      const Proposal b = restored.propose();
      ASSERT_EQ(a.graph, b.graph) << trials;
      ASSERT_EQ(a.id, b.id);
      search.tell(a.id, f(a.graph));
      restored.tell(b.id, f(b.graph));
    }
  }
}

TEST(Search, ParallelProposalsAreDistinctAndSpread) {
  const Surrogate f(small());
  Search search(options(6), {small()});
  for (int i = 0; i < 10; ++i) {
    const Proposal p = search.propose();
    search.tell(p.id, f(p.graph));
  }
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 32; ++i) hashes.insert(describe(search.propose().graph).hash);
  EXPECT_EQ(hashes.size(), 32U);
}

TEST(Search, ANaNIsRefusedAndTheTrialCanStillFail) {
  Search search(options(7), {small()});
  const Proposal p = search.propose();
  EXPECT_THAT(error_of([&] {
                search.tell(p.id, NAN);
                return 0;
              }),
              HasSubstr("not a finite number"));
  search.tell_failed(p.id, "loss is NaN");
  EXPECT_EQ(search.trials()[0].state, Search::State::failed);
  EXPECT_EQ(search.best(), std::nullopt);
  EXPECT_THAT(error_of([&] {
                search.tell(p.id, 1);
                return 0;
              }),
              HasSubstr("trial 0 already has a result"));
}

TEST(Search, ASpaceThatIsUsedUpIsSaid) {
  SearchOptions o = options(8);
  o.limits.layers = static_cast<int>(small().layers().size());
  o.limits.parameters = small().parameters() + 100;
  Search search(o, {small()});
  EXPECT_THAT(error_of([&] {
                for (int i = 0; i < 50; ++i) search.tell(search.propose().id, i);
                return 0;
              }),
              HasSubstr("no new architecture was found within the limits"));
}

TEST(Search, BadOptionsAndStatesAreErrors) {
  EXPECT_THAT(error_of([] { return Search(SearchOptions{}, {}); }), HasSubstr("start model"));
  SearchOptions tight;
  tight.limits.parameters = 10;
  EXPECT_THAT(error_of([&] { return Search(tight, {small()}); }), HasSubstr("exceeds the limits"));
  SearchOptions none;
  none.chances = {0, 0, 0, 0, 0};
  EXPECT_THAT(error_of([&] { return Search(none, {small()}); }), HasSubstr("chances"));
  Search search(options(1), {small()});
  search.tell(search.propose().id, 1);
  (void)search.propose();
  const auto broken = [&](const char* key, const Json& value) {
    Json json = search.save();
    json["trials"][1][key] = value;
    return error_of([&] { return Search::restore(options(1), json, "s.json"); });
  };
  EXPECT_THAT(broken("parent", 5), HasSubstr("s.json: trials[1]: 'parent'"));
  EXPECT_THAT(broken("state", "gone"), HasSubstr("'state'"));
  EXPECT_THAT(broken("operations", Json::array({Json::array({"deeper", 999, 0})})),
              HasSubstr("no place"));
}

}  // namespace
}  // namespace assay::automl
