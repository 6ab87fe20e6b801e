#include "automl/trained_graph.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::automl {

namespace {

Graph changed(const Graph& graph, std::vector<Layer> layers, const std::string& where) {
  return Graph(graph.shapes()[0], std::move(layers),
               {graph.history().begin(), graph.history().end()}, where);
}

}  // namespace

Graph with_kernel_size(const Graph& graph, int kernel, const std::string& where) {
  if (kernel == 0) return graph;
  if (kernel < 3 || kernel % 2 == 0)
    throw Error(ErrorKind::config,
                fmt::format("a kernel size must be 0 or odd and at least 3, not {}", kernel),
                where);
  std::vector<Layer> layers(graph.layers().begin(), graph.layers().end());
  for (std::size_t id = 0; id < layers.size(); ++id) {
    Layer& layer = layers[id];
    if (layer.kind != LayerKind::conv || layer.kernel == 1 || layer.kernel % 2 == 0) continue;
    layer.padding += (kernel - layer.kernel) / 2;
    if (layer.padding < 0)
      throw Error(ErrorKind::config,
                  fmt::format("layer {}: a kernel of {} instead of {} would change the shape", id,
                              kernel, layer.kernel),
                  where, "leave this kernel size out of the search space");
    layer.kernel = kernel;
  }
  return changed(graph, std::move(layers), where);
}

Graph with_dropout(const Graph& graph, double rate, const std::string& where) {
  if (rate == 0) return graph;
  if (!(rate > 0 && rate < 1))
    throw Error(ErrorKind::config, fmt::format("a dropout of {} is not in [0, 1)", rate), where);
  std::vector<Layer> layers(graph.layers().begin(), graph.layers().end());
  Layer* last = nullptr;
  for (const int id : graph.order())
    if (layers[id].kind == LayerKind::dense) last = &layers[id];
  if (last == nullptr)
    throw Error(ErrorKind::config, "dropout goes before the last dense layer, and there is none",
                where);
  const auto node = static_cast<int>(graph.shapes().size());
  Layer dropout = plain_layer(LayerKind::dropout, last->inputs[0], node);
  dropout.rate = rate;
  last->inputs[0] = node;
  layers.push_back(dropout);
  return changed(graph, std::move(layers), where);
}

}  // namespace assay::automl
