#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/morphism.h"
#include "automl/start_models.h"
#include "automl/trained_graph.h"
#include "error_of.h"
#include "train/models/graph_model.h"
#include "train/models/graph_weights.h"
#include "unit/automl/reference.h"

namespace assay::train {
namespace {

using assay::testing::error_of;
using automl::Graph;
using automl::Layer;
using automl::LayerKind;
using automl::Operation;
using ::testing::HasSubstr;
namespace reference = automl::testing;

// Everything that a graph may hold: shortcut, concat, pool of an odd size, flatten, two dense.
Graph everything() {
  using automl::conv_layer;
  using automl::dense_layer;
  using automl::merge_layer;
  using automl::norm_layer;
  using automl::plain_layer;
  using automl::pool_layer;
  using enum LayerKind;
  return {{7, 6, 2, false},
          {conv_layer(0, 1, 2, 3, 3), norm_layer(1, 2, 3), plain_layer(relu, 2, 3),
           conv_layer(3, 4, 3, 3, 3), norm_layer(4, 5, 3), plain_layer(relu, 5, 6),
           conv_layer(6, 7, 3, 2, 1), norm_layer(7, 8, 2), plain_layer(relu, 8, 9),
           merge_layer(concat, 9, 6, 10), conv_layer(3, 11, 3, 5, 1), merge_layer(add, 10, 11, 12),
           plain_layer(relu, 12, 13), pool_layer(13, 14, 3, 2, 1), plain_layer(flatten, 14, 15),
           dense_layer(15, 16, 45, 4), plain_layer(relu, 16, 17), dense_layer(17, 18, 4, 3)}};
}

// Norms get values that matter; a fresh one would be the identity.
void randomise(GraphModelImpl& model) {
  torch::NoGradGuard no_grad;
  for (std::size_t id = 0; id < model.graph().layers().size(); ++id) {
    if (model.graph().layers()[id].kind == LayerKind::batch_norm) {
      auto& norm = model.norm(static_cast<int>(id));
      norm->weight.uniform_(0.5, 1.5);
      norm->bias.uniform_(-0.3, 0.3);
      norm->running_mean.uniform_(-0.3, 0.3);
      norm->running_var.uniform_(0.5, 2);
    } else if (model.graph().layers()[id].kind == LayerKind::conv) {
      model.conv(static_cast<int>(id))->bias.uniform_(-0.1, 0.1);
    }
  }
}

torch::Tensor input_for(const Graph& graph, std::int64_t rows) {
  const automl::Shape& shape = graph.shapes()[0];
  return torch::randn({rows, shape.channels, shape.height, shape.width})
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

torch::Tensor evaluated(GraphModel& model, const torch::Tensor& x) {
  torch::NoGradGuard no_grad;
  model->eval();
  return model->forward(x);
}

std::vector<double> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kDouble).contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// The model's output against plain loops in double precision.
double difference_from_loops(const Graph& graph, std::uint64_t seed) {
  torch::manual_seed(seed);
  GraphModel model(graph);
  randomise(*model);
  const GraphWeights weights = weights_of(*model);
  reference::NetworkWeights plain(weights.size());
  for (std::size_t id = 0; id < weights.size(); ++id) {
    if (!weights[id].weight.defined()) continue;
    if (graph.layers()[id].kind == LayerKind::batch_norm) {
      plain[id].scale = numbers(weights[id].weight);
      plain[id].shift = numbers(weights[id].bias);
      plain[id].mean = numbers(weights[id].mean);
      // The loops have another ε.
      plain[id].variance = numbers(weights[id].variance + (1e-5 - reference::norm_epsilon));
    } else {
      plain[id].w = numbers(weights[id].weight);
      plain[id].b = numbers(weights[id].bias);
    }
  }
  const torch::Tensor x = input_for(graph, 2);
  const torch::Tensor y = evaluated(model, x);
  double worst = 0;
  for (std::int64_t row = 0; row < 2; ++row) {
    const auto expected = reference::run(graph, plain, numbers(x[row].permute({1, 2, 0})));
    const auto got = numbers(y[row].dim() == 3 ? y[row].permute({1, 2, 0}) : y[row]);
    EXPECT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(expected[i] - got[i]) / (1 + std::abs(expected[i])));
  }
  return worst;
}

TEST(GraphModel, ComputesWhatPlainLoopsCompute) {
  EXPECT_LT(difference_from_loops(everything(), 1), 1e-4);
  EXPECT_LT(difference_from_loops(automl::basic_resnet({9, 8, 3, false}, 2, 2, 4, 5), 2), 1e-4);
  EXPECT_LT(difference_from_loops(automl::resnet20(), 3), 1e-4);
}

TEST(GraphModel, ComputesWhatPlainLoopsComputeForRandomMorphs) {
  const automl::Limits limits{20000, INT64_MAX, INT64_MAX, 100};
  for (std::uint64_t chain = 0; chain < 20; ++chain) {
    automl::Random random(3, chain);
    Graph graph =
        chain % 2 == 0 ? everything() : automl::basic_resnet({6, 5, 2, false}, 2, 2, 2, 3);
    for (int step = 0; step < 6; ++step)
      if (const auto child = automl::random_child(graph, {}, limits, random)) graph = child->graph;
    EXPECT_LT(difference_from_loops(graph, chain), 1e-4) << "chain " << chain;
  }
}

TEST(GraphModel, PoolsAsTheGraphSaysWhateverTheSize) {
  using automl::pool_layer;
  for (const int size : {5, 6, 7})
    for (const int kernel : {1, 2, 3})
      for (const int stride : {1, 2, 3})
        for (int padding = 0; padding <= kernel / 2; ++padding)
          EXPECT_LT(difference_from_loops(Graph({size, size + 1, 2, false},
                                                {pool_layer(0, 1, kernel, stride, padding)}),
                                          1),
                    1e-6)
              << size << " " << kernel << " " << stride << " " << padding;
}

TEST(GraphModel, HasAsManyParametersAsTheGraphCounts) {
  for (const Graph& graph : {everything(), automl::resnet20(), automl::resnet50()}) {
    GraphModel model(graph);
    std::int64_t count = 0;
    for (const torch::Tensor& tensor : model->parameters()) count += tensor.numel();
    for (const auto& item : model->named_buffers())
      if (!item.key().ends_with("num_batches_tracked")) count += item.value().numel();
    EXPECT_EQ(count, graph.parameters());
  }
}

// Layer by layer with libtorch's own operators, nothing fused.
torch::Tensor plainly(GraphModelImpl& model, const torch::Tensor& x) {
  std::vector<torch::Tensor> nodes(model.graph().shapes().size());
  nodes[0] = x;
  for (const int id : model.graph().order()) {
    const Layer& layer = model.graph().layers()[id];
    const torch::Tensor& in = nodes[layer.inputs[0]];
    torch::Tensor& out = nodes[layer.output];
    if (layer.kind == LayerKind::conv) out = model.conv(id)->forward(in);
    if (layer.kind == LayerKind::batch_norm) out = model.norm(id)->forward(in);
    if (layer.kind == LayerKind::dense) out = model.dense(id)->forward(in);
    if (layer.kind == LayerKind::relu) out = torch::relu(in);
    if (layer.kind == LayerKind::add) out = in + nodes[layer.inputs[1]];
    if (layer.kind == LayerKind::concat) out = torch::cat({in, nodes[layer.inputs[1]]}, 1);
    if (layer.kind == LayerKind::global_avg_pool) out = in.mean({2, 3});
    if (layer.kind == LayerKind::flatten) out = in.permute({0, 2, 3, 1}).flatten(1);
    if (layer.kind == LayerKind::max_pool)
      out = torch::max_pool2d(in, layer.kernel, layer.stride, layer.padding)
                .narrow(2, 0, model.graph().shapes()[layer.output].height);
  }
  return nodes[model.graph().output()];
}

TEST(GraphModel, TrainsAsWithoutFusedLayers) {
  for (const Graph& start : {everything(), automl::basic_resnet({8, 8, 3, false}, 2, 2, 4, 5)}) {
    automl::Random random(5);
    Graph graph = start;
    for (int step = 0; step < 5; ++step)
      if (const auto child = automl::random_child(graph, {}, {}, random)) graph = child->graph;
    torch::manual_seed(1);
    GraphModel fused(graph);
    randomise(*fused);
    GraphModel plain(graph);
    load_weights(*plain, weights_of(*fused), "");
    const torch::Tensor x = input_for(graph, 4);
    const torch::Tensor a = fused->forward(x);
    const torch::Tensor b = plainly(*plain, x);
    EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-4));
    (a * a).sum().backward();
    (b * b).sum().backward();
    const auto left = fused->named_parameters();
    const auto right = plain->named_parameters();
    for (const auto& item : left) {
      const torch::Tensor& other = right[item.key()].grad();
      EXPECT_TRUE(torch::allclose(item.value().grad(), other, 1e-3,
                                  1e-3 * (1 + other.abs().max().item<double>())))
          << item.key();
    }
    const auto running = plain->named_buffers();
    for (const auto& item : fused->named_buffers())
      if (!item.key().ends_with("num_batches_tracked")) {
        EXPECT_TRUE(torch::allclose(item.value(), running[item.key()], 1e-4, 1e-5)) << item.key();
      }
  }
}

TEST(GraphModel, ASoftmaxAtTheEndIsLeftToTheLoss) {
  using automl::dense_layer;
  const Graph with({1, 1, 4, true},
                   {dense_layer(0, 1, 4, 3), automl::plain_layer(LayerKind::softmax, 1, 2)});
  GraphModel model(with);
  const torch::Tensor x = torch::randn({2, 4});
  EXPECT_TRUE(torch::allclose(model->forward(x), model->dense(0)->forward(x), 1e-5, 1e-6));
}

TEST(GraphModel, DropoutWorksInTrainingOnly) {
  torch::manual_seed(1);
  const Graph graph = automl::with_dropout(automl::basic_resnet({8, 8, 3, false}, 1, 1, 8, 5), 0.5);
  GraphModel model(graph);
  const torch::Tensor x = input_for(graph, 4);
  EXPECT_TRUE(torch::equal(evaluated(model, x), evaluated(model, x)));
  model->train();
  torch::NoGradGuard no_grad;
  const torch::Tensor first = model->forward(x);
  EXPECT_FALSE(torch::allclose(first, model->forward(x)));
}

// A parent with random weights and its child through `length` random morphisms.
double inherited_difference(const Graph& start, std::uint64_t chain, int length, int kernel,
                            std::map<Operation::Kind, int>& used) {
  automl::Random random(11, chain);
  torch::manual_seed(chain);
  GraphModel parent(start);
  randomise(*parent);
  std::vector<Operation> operations;
  Graph graph = start;
  for (int step = 0; step < length; ++step)
    if (const auto child =
            automl::random_child(graph, {}, {400'000, INT64_MAX, INT64_MAX, 200}, random)) {
      operations.push_back(child->operation);
      ++used[child->operation.kind];
      graph = child->graph;
    }
  const Inherited child = inherit(start, weights_of(*parent), operations);
  EXPECT_EQ(child.graph, graph);
  GraphModel model(automl::trained_graph(graph, kernel, 0.3));
  load_weights(*model, child.weights, "child");
  const torch::Tensor x = input_for(start, 2);
  const torch::Tensor expected = evaluated(parent, x);
  return ((evaluated(model, x) - expected).abs() / (1 + expected.abs())).max().item<double>();
}

TEST(Inheritance, ChildrenOfManyRandomChainsComputeTheirParentsFunction) {
  std::map<Operation::Kind, int> used;
  for (std::uint64_t chain = 0; chain < 200; ++chain) {
    const Graph start =
        chain % 2 == 0 ? everything() : automl::basic_resnet({6, 5, 2, false}, 2, 2, 2, 3);
    ASSERT_LT(inherited_difference(start, chain, 6, 0, used), 1e-4) << "chain " << chain;
  }
  for (const auto kind : {Operation::Kind::deeper, Operation::Kind::wider,
                          Operation::Kind::add_skip, Operation::Kind::concat_skip})
    EXPECT_GT(used[kind], 50) << static_cast<int>(kind);
}

TEST(Inheritance, ChildrenOfResNet20ComputeItsFunction) {
  std::map<Operation::Kind, int> used;
  for (std::uint64_t chain = 0; chain < 8; ++chain)
    EXPECT_LT(inherited_difference(automl::resnet20(), chain, 5, 0, used), 1e-3)
        << "chain " << chain;
}

TEST(Inheritance, ALargerKernelKeepsTheFunction) {
  std::map<Operation::Kind, int> used;
  for (std::uint64_t chain = 0; chain < 20; ++chain)
    EXPECT_LT(inherited_difference(automl::basic_resnet({6, 5, 2, false}, 2, 2, 2, 3), chain, 4,
                                   chain % 2 == 0 ? 5 : 7, used),
              1e-4)
        << "chain " << chain;
}

TEST(Inheritance, ASmallerKernelIsTheMiddleOfTheLarger) {
  const Graph graph = automl::basic_resnet({8, 8, 3, false}, 1, 1, 4, 5);
  GraphModel large(automl::with_kernel_size(graph, 5));
  GraphModel small(automl::with_kernel_size(graph, 3));
  load_weights(*small, weights_of(*large), "");
  EXPECT_TRUE(
      torch::equal(small->conv(0)->weight, large->conv(0)->weight.narrow(2, 1, 3).narrow(3, 1, 3)));
}

TEST(Inheritance, WeightsOfOtherChannelsAreRefused) {
  GraphModel four(automl::basic_resnet({8, 8, 3, false}, 1, 1, 4, 5));
  GraphModel six(automl::basic_resnet({8, 8, 3, false}, 1, 1, 6, 5));
  EXPECT_THAT(error_of([&] {
                load_weights(*six, weights_of(*four), "trial 3");
                return 0;
              }),
              HasSubstr("trial 3: the weights of layer 0 are of another shape"));
}

class WeightsFile : public ::testing::Test {
 protected:
  WeightsFile() : model_(automl::trained_graph(graph_, 5, 0.2)) { randomise(*model_); }
  const Graph graph_ = automl::basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
  GraphModel model_;
};

TEST_F(WeightsFile, GivesBackWhatWasSaved) {
  const std::string bytes = encode_weights(graph_, weights_of(*model_));
  GraphModel other(model_->graph());
  load_weights(*other, decode_weights(bytes, graph_, "7.pt"), "");
  const torch::Tensor x = input_for(graph_, 2);
  EXPECT_TRUE(torch::equal(evaluated(model_, x), evaluated(other, x)));
}

TEST_F(WeightsFile, IsRefusedWhenItIsCutAnywhere) {
  const std::string bytes = encode_weights(graph_, weights_of(*model_));
  for (std::size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 97)
    EXPECT_THAT(error_of([&] { return decode_weights(bytes.substr(0, size), graph_, "7.pt"); }),
                HasSubstr("7.pt: the weights are damaged"))
        << size;
  EXPECT_THAT(error_of([&] { return decode_weights(bytes + "x", graph_, "7.pt"); }),
              HasSubstr("damaged"));
}

TEST_F(WeightsFile, IsRefusedWhenABitHasChanged) {
  std::string bytes = encode_weights(graph_, weights_of(*model_));
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(error_of([&] { return decode_weights(bytes, graph_, "7.pt"); }),
              HasSubstr("the checksum does not fit"));
}

TEST_F(WeightsFile, IsRefusedForAnotherGraph) {
  const std::string bytes = encode_weights(graph_, weights_of(*model_));
  EXPECT_THAT(error_of([&] { return decode_weights(bytes, everything(), "7.pt"); }),
              HasSubstr("7.pt: the weights are of graph"));
}

TEST_F(WeightsFile, IsRefusedWhenItIsSomethingElse) {
  EXPECT_THAT(
      error_of([&] { return decode_weights("PK\x03\x04 something else\n", graph_, "7.pt"); }),
      HasSubstr("not of this version"));
}

}  // namespace
}  // namespace assay::train
