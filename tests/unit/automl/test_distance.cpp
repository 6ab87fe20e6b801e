#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/distance.h"
#include "automl/morphism.h"
#include "automl/start_models.h"

namespace assay::automl {
namespace {

// Levenshtein as it is defined: a recursion over prefixes, in doubles.
double plain_layers(const Descriptor& a, const Descriptor& b) {
  std::map<std::pair<int, int>, double> known;
  const std::function<double(int, int)> d = [&](int i, int j) -> double {
    if (i == 0 || j == 0) return i + j;
    const auto [at, is_new] = known.try_emplace({i, j}, 0);
    if (!is_new) return at->second;
    const double change = layer_distance(a.symbols[a.layers[i - 1]], b.symbols[b.layers[j - 1]]);
    const double best = std::min({d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + change});
    return known[{i, j}] = best;
  };
  return d(static_cast<int>(a.layers.size()), static_cast<int>(b.layers.size()));
}

// Every pairing is tried.
double plain_skips(std::vector<Skip> a, std::vector<Skip> b) {
  if (a.size() > b.size()) std::swap(a, b);
  std::vector<int> order(b.size());
  std::iota(order.begin(), order.end(), 0);
  double best = 1e9;
  do {
    double sum = static_cast<double>(b.size() - a.size());
    for (std::size_t i = 0; i < a.size(); ++i) sum += skip_distance(a[i], b[order[i]]);
    best = std::min(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

Descriptor random_descriptor(Random& random, int layers, int skips) {
  Descriptor d;
  d.kind_count.assign(11, 0);
  d.symbols = {{LayerKind::relu, 0, 0, 0},     {LayerKind::batch_norm, 0, 0, 0},
               {LayerKind::conv, 16, 3, 1},    {LayerKind::conv, 32, 3, 1},
               {LayerKind::conv, 48, 1, 2},    {LayerKind::add, 0, 0, 0},
               {LayerKind::max_pool, 0, 3, 2}, {LayerKind::max_pool, 1, 2, 2}};
  for (int i = 0; i < layers; ++i) {
    d.layers.push_back(static_cast<std::uint16_t>(random.below(d.symbols.size())));
    ++d.kind_count[static_cast<int>(d.symbols[d.layers.back()].kind)];
  }
  for (int i = 0; i < skips; ++i) {
    d.skips.push_back({static_cast<int>(random.below(9)), 2 + static_cast<int>(random.below(7)),
                       random.below(3) == 0 ? Skip::Type::concat : Skip::Type::add});
  }
  std::sort(d.skips.begin(), d.skips.end());
  d.hash = random.next();
  return d;
}

std::vector<Graph> family(const Graph& start, int count, std::uint64_t seed) {
  std::vector<Graph> graphs{start};
  Random random(seed);
  while (static_cast<int>(graphs.size()) < count) {
    const auto child = random_child(graphs[random.below(graphs.size())], {}, {}, random);
    if (child) graphs.push_back(child->graph);
  }
  return graphs;
}

TEST(Descriptor, OfResNet50IsThatOfAIPerf) {
  const Descriptor d = describe(resnet50());
  EXPECT_EQ(d.layers.size(), 178U);
  std::map<LayerKind, int> kinds;
  for (const auto s : d.layers) ++kinds[d.symbols[s].kind];
  EXPECT_EQ(kinds[LayerKind::conv], 49);
  EXPECT_EQ(kinds[LayerKind::batch_norm], 49);
  EXPECT_EQ(kinds[LayerKind::relu], 49);
  EXPECT_EQ(kinds[LayerKind::add], 28);
  ASSERT_EQ(d.skips.size(), 16U);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(d.skips[i], (Skip{i == 0 ? 4 : 4 + 10 * i, 9, Skip::Type::add})) << i;
  }
}

TEST(Distance, OfLayersIsThatOfThePlainRecursion) {
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const Descriptor a = random_descriptor(random, static_cast<int>(random.below(30)), 0);
    Descriptor b = random_descriptor(random, static_cast<int>(random.below(30)), 0);
    if (i % 2 == 0) {  // a relative: some layers exchanged, removed and put in
      b.layers = a.layers;
      for (int k = 0; k < 3 && !b.layers.empty(); ++k) {
        const auto at =
            b.layers.begin() + static_cast<std::ptrdiff_t>(random.below(b.layers.size()));
        if (random.below(2) == 0) {
          b.layers.erase(at);
        } else {
          b.layers.insert(at, static_cast<std::uint16_t>(random.below(8)));
        }
      }
    }
    ASSERT_NEAR(layers_distance(a, b), plain_layers(a, b), 1e-9);
  }
}

TEST(Distance, OfLongChainsWithNothingInCommonIsThatOfThePlainRecursion) {
  Random random(8);
  for (const int layers : {63, 64, 65, 178}) {
    const Descriptor a = random_descriptor(random, layers, 0);
    const Descriptor b = random_descriptor(random, layers + static_cast<int>(random.below(40)), 0);
    EXPECT_NEAR(layers_distance(a, b), plain_layers(a, b), 1e-9);
    EXPECT_EQ(layers_distance(a, b), layers_distance(b, a));
  }
  const Descriptor start = describe(resnet50());
  Descriptor reversed = start;
  std::reverse(reversed.layers.begin(), reversed.layers.end());
  EXPECT_NEAR(layers_distance(start, reversed), plain_layers(start, reversed), 1e-9);
}

TEST(Distance, OfSkipsIsTheBestOfAllPairings) {
  Random random(6);
  for (int i = 0; i < 400; ++i) {
    const Descriptor a = random_descriptor(random, 0, static_cast<int>(random.below(6)));
    const Descriptor b = random_descriptor(random, 0, static_cast<int>(random.below(7)));
    ASSERT_NEAR(skips_distance(a.skips, b.skips), plain_skips(a.skips, b.skips), 1e-9);
  }
}

TEST(Distance, OfMorphedResNetsIsThatOfThePlainRecursion) {
  const auto graphs = family(resnet50(), 12, 3);
  for (std::size_t i = 0; i + 1 < graphs.size(); ++i) {
    const Descriptor a = describe(graphs[i]);
    const Descriptor b = describe(graphs[i + 1]);
    EXPECT_NEAR(layers_distance(a, b), plain_layers(a, b), 1e-9);
  }
}

TEST(Distance, IsAMetricOnAFamily) {
  std::vector<Descriptor> all;
  for (const Graph& g : family(resnet20(), 25, 9)) all.push_back(describe(g));
  for (const auto& a : all) {
    for (const auto& b : all) {
      const double ab = edit_distance(a, b);
      ASSERT_DOUBLE_EQ(ab, edit_distance(b, a));
      ASSERT_EQ(ab == 0, a.hash == b.hash);
      for (const auto& c : all) ASSERT_LE(edit_distance(a, c), ab + edit_distance(b, c) + 1e-9);
    }
  }
}

TEST(Distance, BoundIsNeverAboveAndOftenClose) {
  std::vector<Descriptor> all;
  for (const Graph& g : family(resnet50(), 40, 4)) all.push_back(describe(g));
  double bounds = 0;
  double distances = 0;
  for (const auto& a : all) {
    for (const auto& b : all) {
      ASSERT_LE(distance_bound(a, b), edit_distance(a, b) + 1e-9);
      bounds += distance_bound(a, b);
      distances += edit_distance(a, b);
    }
  }
  EXPECT_GT(bounds, 0.4 * distances);
}

TEST(Distance, HandMadeExamples) {
  const Graph g = resnet50();
  const Descriptor d = describe(g);
  const Descriptor deeper = describe(apply(g, {Operation::Kind::deeper, 2, 0}));
  // Three layers more, and all sixteen skips begin three later: |Δ| / (from + length).
  double skips = 0;
  for (int i = 0; i < 16; ++i) skips += 3.0 / (4 + 10 * i + 3 + 9);
  EXPECT_NEAR(edit_distance(d, deeper), 3 + skips, 1e-9);
  // Twice the filters in the first convolution of a block: 1/2 of one of three attributes.
  const Descriptor wider = describe(apply(g, {Operation::Kind::wider, 4, 64}));
  EXPECT_NEAR(edit_distance(d, wider), 0.5 / 3, 1e-9);
}

}  // namespace
}  // namespace assay::automl
