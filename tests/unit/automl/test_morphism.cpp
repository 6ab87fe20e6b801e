#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/morphism.h"
#include "automl/operations.h"
#include "automl/start_models.h"
#include "automl/widening.h"
#include "error_of.h"
#include "unit/automl/reference.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using Kind = Operation::Kind;
using testing::LayerWeights;
using testing::NetworkWeights;

constexpr std::array all_kinds{Kind::deeper, Kind::wider, Kind::add_skip, Kind::concat_skip};

// What a trainer does with a transfer.
NetworkWeights inherit(const NetworkWeights& parent, const Graph& before, const Graph& after,
                       const WeightTransfer& sources, std::mt19937_64& random) {
  NetworkWeights child;
  for (std::size_t id = 0; id < sources.size(); ++id) {
    const WeightSource& source = sources[id];
    const Layer& l = after.layers()[id];
    LayerWeights w = testing::random_layer(l, random);
    const int window = l.kind == LayerKind::conv ? l.kernel * l.kernel : 1;
    if (source.kind == WeightSource::Kind::copy && l.kind == LayerKind::batch_norm) {
      for (int c = 0; c < l.in; ++c) {
        const int from = source.outputs.empty() ? c : source.outputs[c];
        w.scale[c] = parent[id].scale[from];
        w.shift[c] = parent[id].shift[from];
        w.mean[c] = parent[id].mean[from];
        w.variance[c] = parent[id].variance[from];
      }
    } else if (source.kind == WeightSource::Kind::copy && l.out > 0) {
      const int old_in = before.layers()[id].in;
      for (int o = 0; o < l.out; ++o) {
        const int from_o = source.outputs.empty() ? o : source.outputs[o];
        w.b[o] = parent[id].b[from_o];
        for (int i = 0; i < l.in; ++i) {
          const int from_i = source.inputs.empty() ? i : source.inputs[i];
          const double scale = source.inputs.empty() ? 1 : source.input_scale[i];
          for (int k = 0; k < window; ++k) {
            w.w[(o * l.in + i) * window + k] =
                scale * parent[id].w[(from_o * old_in + from_i) * window + k];
          }
        }
      }
    } else if (source.kind == WeightSource::Kind::identity) {
      std::fill(w.w.begin(), w.w.end(), 0.0);
      std::fill(w.b.begin(), w.b.end(), 0.0);
      for (int o = 0; o < l.out; ++o) w.w[(o * l.in + o) * window + window / 2] = 1;
    } else if (source.kind == WeightSource::Kind::norm_identity ||
               source.kind == WeightSource::Kind::norm_zero) {
      const bool zero = source.kind == WeightSource::Kind::norm_zero;
      w.scale.assign(l.in, zero ? 0 : std::sqrt(1 + testing::norm_epsilon));
      w.shift.assign(l.in, 0);
      w.mean.assign(l.in, 0);
      w.variance.assign(l.in, 1);
    }
    child.push_back(std::move(w));
  }
  return child;
}

// A small net with everything that widening has to follow: shortcut, concat, pool, flatten, two
// dense.
Graph everything() {
  using enum LayerKind;
  return {{7, 6, 2, false},
          {conv_layer(0, 1, 2, 3, 3), norm_layer(1, 2, 3), plain_layer(relu, 2, 3),
           conv_layer(3, 4, 3, 3, 3), norm_layer(4, 5, 3), plain_layer(relu, 5, 6),
           conv_layer(6, 7, 3, 2, 1), norm_layer(7, 8, 2), plain_layer(relu, 8, 9),
           merge_layer(concat, 9, 6, 10), conv_layer(3, 11, 3, 5, 1), merge_layer(add, 10, 11, 12),
           plain_layer(relu, 12, 13), pool_layer(13, 14, 3, 2, 1), plain_layer(flatten, 14, 15),
           dense_layer(15, 16, 45, 4), plain_layer(relu, 16, 17), dense_layer(17, 18, 4, 3)}};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// Chains of `length` random morphisms, each compared with its start; how often each kind was used.
std::map<Kind, int> check_chains(const Graph& start, int chains, int length, Limits limits) {
  std::map<Kind, int> used;
  for (int chain = 0; chain < chains; ++chain) {
    Random random(7, chain);
    std::mt19937_64 values(chain);
    Graph graph = start;
    NetworkWeights weights = testing::random_weights(graph, values);
    const auto input = testing::random_input(graph, values);
    const auto expected = testing::run(graph, weights, input);
    for (int step = 0; step < length; ++step) {
      const auto child = random_child(graph, {}, limits, random);
      if (!child) continue;
      ++used[child->operation.kind];
      weights = inherit(weights, graph, child->graph, transfer(graph, child->operation), values);
      graph = child->graph;
    }
    const double difference = largest_difference(testing::run(graph, weights, input), expected);
    EXPECT_LT(difference, 1e-9) << "chain " << chain << " " << dump_line(to_json(graph));
    if (!(difference < 1e-9)) return used;
  }
  return used;
}

TEST(Morphism, ThousandsOfRandomChainsComputeTheirParentsFunction) {
  const Limits limits{6000, INT64_MAX, INT64_MAX, 100};
  auto used = check_chains(basic_resnet({6, 5, 2, false}, 2, 2, 2, 3), 2000, 6, limits);
  for (const Kind kind : all_kinds) EXPECT_GT(used[kind], 500) << static_cast<int>(kind);
}

TEST(Morphism, ChainsThroughConcatPoolFlattenAndDenseComputeTheirParentsFunction) {
  auto used = check_chains(everything(), 1000, 6, {20000, INT64_MAX, INT64_MAX, 100});
  EXPECT_GT(used[Kind::wider], 500);
}

TEST(Morphism, ACopyWithoutTheDivisionWouldBeNoticed) {
  const Graph graph = basic_resnet({6, 6, 2, false}, 1, 1, 2, 3);
  std::mt19937_64 random(1);
  const NetworkWeights weights = testing::random_weights(graph, random);
  const auto input = testing::random_input(graph, random);
  const Operation wide = places(graph, Kind::wider).front();
  WeightTransfer sources = transfer(graph, wide);
  for (WeightSource& s : sources) std::fill(s.input_scale.begin(), s.input_scale.end(), 1.0);
  const Graph child = apply(graph, wide);
  EXPECT_GT(largest_difference(
                testing::run(child, inherit(weights, graph, child, sources, random), input),
                testing::run(graph, weights, input)),
            1e-3);
}

TEST(Morphism, ResNet50HasThePlacesOfAIPerf) {
  const Graph g = resnet50();
  EXPECT_EQ(places(g, Kind::deeper).size(), 49U);
  EXPECT_EQ(places(g, Kind::wider).size(), 48U);
  EXPECT_EQ(places(g, Kind::add_skip).size(), 1128U);
}

TEST(Morphism, EveryPlaceOfResNet20GivesAChildThatIsDeeperWiderOrLonger) {
  const Graph g = resnet20();
  for (const Kind kind : all_kinds) {
    std::set<std::uint64_t> hashes;
    const auto all = places(g, kind);
    for (const Operation& op : all) {
      const Graph child = apply(g, op);
      EXPECT_GT(child.parameters(), g.parameters());
      EXPECT_EQ(transfer(g, op).size(), child.layers().size());
      hashes.insert(child.hash());
    }
    EXPECT_FALSE(all.empty());
    if (kind != Kind::wider) {
      EXPECT_EQ(hashes.size(), all.size());
    }
  }
}

TEST(Morphism, DeeperPutsConvolutionNormAndReluAfterTheRelu) {
  const Graph g = resnet50();
  const Graph child = apply(g, {Kind::deeper, 2, 0});
  EXPECT_EQ(child.layers().size(), 177U);
  EXPECT_EQ(child.layers()[174], conv_layer(175, 176, 64, 64, 3));
  EXPECT_EQ(child.layers()[176].output, 3);
  EXPECT_EQ(child.history().size(), 3U);
  EXPECT_EQ(graph_from_json(to_json(child), "x"), child);
}

TEST(Morphism, WideningAStageWidensEveryLayerThatIsAddedToIt) {
  const Graph g = resnet50();
  const Graph child = apply(g, {Kind::wider, 10, 256});
  for (const int id : {10, 11, 22, 32}) EXPECT_EQ(child.layers()[id].out, 512) << id;
  for (const int id : {16, 26, 36, 43}) EXPECT_EQ(child.layers()[id].in, 512) << id;
  EXPECT_EQ(child.layers()[42].out, 512);  // the next stage is as it was
  EXPECT_EQ(child.layers()[4], g.layers()[4]);
}

TEST(Morphism, TheInputAndOutputAreNeverWidened) {
  using enum LayerKind;
  const Graph g({4, 4, 3, false},
                {conv_layer(0, 1, 3, 3, 3), merge_layer(add, 0, 1, 2), conv_layer(2, 3, 3, 4, 1),
                 conv_layer(3, 4, 4, 4, 1), merge_layer(add, 3, 4, 5)});
  EXPECT_TRUE(places(g, Kind::wider).empty());
}

TEST(Morphism, LimitsHold) {
  const Graph start = resnet20();
  const auto ops = exact_operations(start).forward;
  const Limits limits{start.parameters() * 2, ops * 2, start.activations() * 3 / 2, 100};
  Graph graph = start;
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const auto child = random_child(graph, {}, limits, random);
    refused += child ? 0 : 1;
    if (child) graph = child->graph;
    ASSERT_LE(graph.parameters(), limits.parameters);
    ASSERT_LE(graph.activations(), limits.activations);
    ASSERT_LE(exact_operations(graph).forward, limits.forward_operations);
    ASSERT_LE(graph.layers().size(), 100U);
  }
  EXPECT_GT(refused, 0);
}

TEST(Morphism, KindsComeWithTheirChances) {
  const Graph g = resnet20();
  std::map<Kind, int> count;
  Random random(11);
  for (int i = 0; i < 3000; ++i) ++count[random_child(g, {}, {}, random)->operation.kind];
  EXPECT_NEAR(count[Kind::deeper], 1000, 100);
  EXPECT_NEAR(count[Kind::wider], 1000, 100);
  EXPECT_NEAR(count[Kind::add_skip], 500, 80);
  EXPECT_NEAR(count[Kind::concat_skip], 500, 80);
}

TEST(Morphism, OperationsOfAnotherGraphAreRefused) {
  const Graph g = resnet20();
  EXPECT_THAT(error_of([&] {
                return apply(g, {Kind::deeper, 0, 0});
              }),
              ::testing::HasSubstr(R"(no place for ["deeper",0,0])"));
  EXPECT_THAT(error_of([&] {
                return apply(g, {Kind::wider, 0, 17});
              }),
              ::testing::HasSubstr("no place"));
  EXPECT_THAT(error_of([&] {
                return transfer(g, {Kind::add_skip, 900, 901});
              }),
              ::testing::HasSubstr("no place"));
  EXPECT_THAT(error_of([&] {
                return operation_from_json(Json::array({"narrower", 1, 2}), "s");
              }),
              ::testing::HasSubstr("s: not an operation"));
}

}  // namespace
}  // namespace assay::automl
