#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/graph.h"
#include "automl/start_models.h"
#include "core/json.h"
#include "error_of.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

std::map<LayerKind, int> kinds_of(const Graph& graph) {
  std::map<LayerKind, int> count;
  for (const Layer& layer : graph.layers()) ++count[layer.kind];
  return count;
}

std::string error_after(const std::function<void(Json&)>& change) {
  Json json = to_json(basic_resnet({8, 8, 3, false}, 2, 1, 4, 5));
  change(json);
  return error_of([&] { return graph_from_json(json, "model.json"); });
}

TEST(Graph, ResNet50IsAIPerfsStartModel) {
  const Graph g = resnet50();
  EXPECT_EQ(g.layers().size(), 174U);
  EXPECT_EQ(g.shapes().size(), 175U);
  EXPECT_EQ(g.parameters(), 25'636'712);
  auto kinds = kinds_of(g);
  EXPECT_EQ(kinds[LayerKind::conv], 53);
  EXPECT_EQ(kinds[LayerKind::batch_norm], 53);
  EXPECT_EQ(kinds[LayerKind::relu], 49);
  EXPECT_EQ(kinds[LayerKind::add], 16);
  EXPECT_EQ(g.main_chain().size(), 167U);
  EXPECT_EQ(g.shapes()[g.output()], (Shape{1, 1, 1000, true}));
  EXPECT_EQ(g.shapes()[172], (Shape{7, 7, 2048, false}));
}

TEST(Graph, ResNet20HasTheParametersOfItsLayers) {
  const Graph g = resnet20();
  // Convolutions with bias and four values per batch norm feature, added up by hand.
  const auto c = [](std::int64_t in, std::int64_t out, std::int64_t k) {
    return (in * k * k + 1) * out + 4 * out;
  };
  const std::int64_t expected = c(3, 16, 3) + 6 * c(16, 16, 3) + c(16, 32, 3) + 5 * c(32, 32, 3) +
                                c(16, 32, 1) + c(32, 64, 3) + 5 * c(64, 64, 3) + c(32, 64, 1) +
                                65 * 10;
  EXPECT_EQ(g.parameters(), expected);
  EXPECT_EQ(kinds_of(g)[LayerKind::conv], 21);
  EXPECT_EQ(g.shapes()[g.layers()[g.writer(g.output())].inputs[0]], (Shape{1, 1, 64, true}));
}

TEST(Graph, CopiesShareTheirStructure) {
  const Graph a = resnet50();
  const Graph b = a;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  EXPECT_EQ(a.layers().data(), b.layers().data());
}

TEST(Graph, JsonRoundTripGivesTheSameGraph) {
  for (const Graph& g : {resnet50(), resnet20()}) {
    const Graph back = graph_from_json(parse_json(dump_line(to_json(g)), "x"), "x");
    EXPECT_EQ(back, g);
    EXPECT_EQ(back.hash(), g.hash());
  }
}

TEST(Graph, JsonHasTheFieldsAndOrderOfAIPerf) {
  const Json json = to_json(resnet50());
  EXPECT_EQ(dump_line(json["layer_list"][3]), R"([3,["StubPooling2d",3,4,3,2,0]])");
  EXPECT_EQ(dump_line(json["layer_list"][11]), R"([11,["StubConv2d",4,12,64,256,1,1,0]])");
  EXPECT_EQ(dump_line(json["layer_list"][14]), R"([14,["StubAdd",[13,14],15]])");
  EXPECT_EQ(dump_line(json["layer_list"][24]), R"([24,["StubAdd",[24,16],25]])");
  EXPECT_EQ(dump_line(json["layer_list"][173]), R"([173,["StubDense",173,174,2048,1000]])");
  EXPECT_EQ(dump_line(json["node_list"][173]), "[173,[2048]]");
  EXPECT_EQ(dump_line(json["adj_list"]["16"]), "[[17,16],[25,24]]");
  EXPECT_EQ(dump_line(json["reverse_adj_list"]["25"]), "[[24,24],[16,24]]");
  EXPECT_EQ(dump_line(json["layer_id_to_input_node_ids"]["24"]), "[24,16]");
}

TEST(Graph, HashIgnoresNumberingAndTheOrderOfAnAddsInputs) {
  using enum LayerKind;
  const Shape input{8, 8, 4, false};
  const Graph a(input, {conv_layer(0, 1, 4, 4, 3), merge_layer(add, 1, 0, 2),
                        plain_layer(global_avg_pool, 2, 3)});
  const Graph b(input, {plain_layer(global_avg_pool, 1, 3), merge_layer(add, 0, 2, 1),
                        conv_layer(0, 2, 4, 4, 3)});
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(Graph, HashTellsConcatOrderAndSharedLayersApart) {
  using enum LayerKind;
  const Shape input{8, 8, 4, false};
  const auto two = [&](LayerKind kind, int first, int second) {
    return Graph(input, {conv_layer(0, 1, 4, 4, 3), conv_layer(0, 2, 4, 4, 5),
                         merge_layer(kind, first, second, 3)});
  };
  EXPECT_NE(two(concat, 1, 2).hash(), two(concat, 2, 1).hash());
  EXPECT_EQ(two(add, 1, 2).hash(), two(add, 2, 1).hash());
  const Graph shared(input, {conv_layer(0, 1, 4, 4, 3), merge_layer(add, 1, 1, 2)});
  const Graph separate(
      input, {conv_layer(0, 1, 4, 4, 3), conv_layer(0, 2, 4, 4, 3), merge_layer(add, 1, 2, 3)});
  EXPECT_NE(shared.hash(), separate.hash());
}

TEST(Graph, MainChainIsTheLongestPath) {
  using enum LayerKind;
  const Graph g({4, 4, 2, false}, {conv_layer(0, 1, 2, 2, 1), conv_layer(0, 2, 2, 2, 3),
                                   plain_layer(relu, 2, 3), merge_layer(add, 1, 3, 4)});
  EXPECT_THAT(g.main_chain(), ::testing::ElementsAre(0, 2, 3, 4));
}

TEST(GraphErrors, ACycleIsNamed) {
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][8][1][1][1] = 10; }),
              HasSubstr("model.json: layer 8 (StubAdd) cannot be reached from the input: the graph "
                        "is cyclic"));
}

TEST(GraphErrors, ACutGraphIsNamed) {
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][2][1][1] = 1; }), HasSubstr("cut"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][2][1][2] = 900; }),
              HasSubstr("names node 900"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][2][1][2] = 2; }),
              HasSubstr("node 2 is written by layers 1 and 2"));
}

TEST(GraphErrors, ImpossibleShapesAreNamed) {
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][1][1][3] = 5; }),
              HasSubstr("expects 5 channels, but node 1 has 4"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][0][1][4] = 0; }), HasSubstr("channels 0"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][0][1][6] = 0; }), HasSubstr("stride 0"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][0][1][5] = 99; }),
              HasSubstr("larger than"));
  EXPECT_THAT(error_after([](Json& j) {
                j["input_shape"] = Json::array({0, 8, 3});
              }),
              HasSubstr("the input is 0×8×3"));
  EXPECT_THAT(error_after([](Json& j) {
                j["node_list"][2][1] = Json::array({8, 8, 7});
              }),
              HasSubstr("node_list[2]: the shape is [8,8,7], but the layers make it [8,8,4]"));
}

TEST(GraphErrors, WhatContradictsTheLayersIsNamed) {
  EXPECT_THAT(error_after([](Json& j) { j["adj_list"]["1"] = Json::array(); }),
              HasSubstr("adj_list[1]"));
  EXPECT_THAT(error_after([](Json& j) { j.erase("node_list"); }),
              HasSubstr("'node_list' is missing"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][0][1][0] = "StubMystery"; }),
              HasSubstr("unknown layer type 'StubMystery'"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_list"][0][1][4] = "64"; }),
              HasSubstr("an integer is expected"));
  EXPECT_THAT(error_after([](Json& j) { j["layer_id_to_input_node_ids"]["0"] = Json::array({1}); }),
              HasSubstr("layer_id_to_input_node_ids[0]"));
  EXPECT_THAT(error_of([] { return graph_from_json(Json::array(), "m"); }),
              HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace assay::automl
