#include "train/models/graph_model.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "train/models/convolution.h"
#include "train/models/dense.h"
#include "train/models/norm_act.h"

namespace assay::train {
namespace {

using automl::Graph;
using automl::Layer;
using automl::LayerKind;
using automl::Shape;

// AIPerf's pooling has size / stride outputs for any kernel and padding: windows that do not fit
// are left out, and windows beyond the padding see nothing there.
torch::Tensor max_pool(const torch::Tensor& x, const Layer& layer, const Shape& out) {
  const std::int64_t kernel = layer.kernel;
  const std::int64_t stride = layer.stride;
  const std::int64_t padding = layer.padding;
  const auto usual = [&](std::int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
  torch::Tensor y;
  if (2 * padding <= kernel && usual(x.size(2)) >= out.height && usual(x.size(3)) >= out.width) {
    y = torch::max_pool2d(x, kernel, stride, padding);
  } else {
    const auto after = [&](std::int64_t size, std::int64_t outputs) {
      return std::max<std::int64_t>(0, (outputs - 1) * stride + kernel - padding - size);
    };
    y = torch::max_pool2d(
        torch::constant_pad_nd(
            x, {padding, after(x.size(3), out.width), padding, after(x.size(2), out.height)},
            -std::numeric_limits<float>::infinity()),
        kernel, stride);
  }
  if (y.size(2) > out.height) y = y.narrow(2, 0, out.height);
  if (y.size(3) > out.width) y = y.narrow(3, 0, out.width);
  return y;
}

// The only reader of `node`, if it is of `kind`.
std::optional<int> sole_reader(const Graph& graph, int node, LayerKind kind) {
  const auto readers = graph.readers(node);
  if (readers.size() != 1 || graph.layers()[readers[0]].kind != kind) return std::nullopt;
  return readers[0];
}

}  // namespace

GraphModelImpl::GraphModelImpl(const Graph& graph)
    : graph_(graph),
      convs_(graph.layers().size(), nullptr),
      denses_(graph.layers().size(), nullptr),
      norms_(graph.layers().size(), nullptr) {
  // In execution order, so that FlatParameters' order is the reverse of backward's.
  for (const int id : graph.order()) {
    const Layer& layer = graph.layers()[id];
    const std::string name = std::to_string(id);
    if (layer.kind == LayerKind::conv) {
      convs_[id] = register_module(
          name, torch::nn::Conv2d(torch::nn::Conv2dOptions(layer.in, layer.out, layer.kernel)
                                      .stride(layer.stride)
                                      .padding(layer.padding)));
      torch::nn::init::kaiming_normal_(convs_[id]->weight, 0.0, torch::kFanOut, torch::kReLU);
      torch::nn::init::zeros_(convs_[id]->bias);
    } else if (layer.kind == LayerKind::dense) {
      denses_[id] = register_module(name, torch::nn::Linear(layer.in, layer.out));
    } else if (layer.kind == LayerKind::batch_norm) {
      norms_[id] = register_module(name, torch::nn::BatchNorm2d(layer.in));
    }
  }
  plan();
}

void GraphModelImpl::plan() {
  const auto layers = graph_.layers();
  const std::size_t count = layers.size();
  std::vector<bool> covered(count, false);  // executed as part of another layer's step
  // A fused step runs at its last layer, when all its inputs exist.
  std::vector<std::optional<Step>> fused(count);
  for (const int id : graph_.order()) {
    if (layers[id].kind != LayerKind::batch_norm) continue;
    Step step{id, {layers[id].inputs[0], -1}, layers[id].output, false, {}};
    int last = id;
    if (const auto add = sole_reader(graph_, step.output, LayerKind::add);
        add && !fused[*add] && !covered[*add]) {
      const auto& inputs = layers[*add].inputs;
      step.inputs[1] = inputs[0] == step.output ? inputs[1] : inputs[0];
      last = *add;
      step.output = layers[last].output;
    }
    if (const auto relu = sole_reader(graph_, step.output, LayerKind::relu)) {
      step.relu = true;
      if (last != id) covered[last] = true;
      last = *relu;
      step.output = layers[last].output;
    }
    if (last != id) covered[id] = true;
    fused[last] = std::move(step);
  }
  result_ = graph_.output();
  const int end = graph_.writer(result_);
  if (layers[end].kind == LayerKind::softmax) {
    covered[end] = true;
    result_ = layers[end].inputs[0];
  }
  for (const int id : graph_.order()) {
    if (covered[id]) continue;
    steps_.push_back(fused[id] ? std::move(*fused[id])
                               : Step{id, layers[id].inputs, layers[id].output, false, {}});
  }
  nodes_.resize(graph_.shapes().size());
  std::vector<bool> read_later(nodes_.size(), false);
  read_later[result_] = true;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    for (const int node : step->inputs)
      if (node >= 0 && !read_later[node]) {
        read_later[node] = true;
        step->unused.push_back(node);
      }
}

torch::Tensor GraphModelImpl::run(const Step& step, const torch::Tensor& x,
                                  const torch::Tensor& second) {
  const Layer& layer = graph_.layers()[step.layer];
  switch (layer.kind) {
    case LayerKind::conv:
      return convolution(x, convs_[step.layer]->weight, convs_[step.layer]->bias, layer.stride,
                         layer.padding);
    case LayerKind::batch_norm:
      return norm_act(*norms_[step.layer], x, second, step.relu);
    case LayerKind::dense:
      return linear(x, denses_[step.layer]->weight, denses_[step.layer]->bias);
    case LayerKind::relu:
      return torch::relu(x);
    case LayerKind::max_pool:
      return max_pool(x, layer, graph_.shapes()[layer.output]);
    case LayerKind::global_avg_pool:
      return torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    case LayerKind::add:
      return x + second;
    case LayerKind::concat:
      return torch::cat({x, second}, 1);
    case LayerKind::dropout:
      return torch::dropout(x, layer.rate, is_training());
    case LayerKind::flatten:
      // The graph's order is height, width, channels.
      return x.dim() == 4 ? x.permute({0, 2, 3, 1}).flatten(1) : x;
    case LayerKind::softmax:
      return torch::softmax(x, 1);
  }
  return x;
}

torch::Tensor GraphModelImpl::forward(const torch::Tensor& x) {
  nodes_[0] = x;
  try {
    for (const Step& step : steps_) {
      nodes_[step.output] = run(step, nodes_[step.inputs[0]],
                                step.inputs[1] < 0 ? torch::Tensor() : nodes_[step.inputs[1]]);
      for (const int node : step.unused) nodes_[node] = torch::Tensor();
    }
  } catch (...) {
    std::fill(nodes_.begin(), nodes_.end(), torch::Tensor());
    throw;
  }
  torch::Tensor result = std::move(nodes_[result_]);
  nodes_[result_] = torch::Tensor();
  return result;
}

}  // namespace assay::train
