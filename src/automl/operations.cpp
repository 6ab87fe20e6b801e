#include "automl/operations.h"

#include <algorithm>

namespace assay::automl {

namespace {

// Pairs of output position and window position that lie on data, along one axis.
std::int64_t taps(int outputs, int size, const Layer& layer) {
  std::int64_t sum = 0;
  for (int o = 0; o < outputs; ++o) {
    const int begin = o * layer.stride - layer.padding;
    sum += std::max(0, std::min(begin + layer.kernel, size) - std::max(begin, 0));
  }
  return sum;
}

std::int64_t window_taps(const Layer& layer, const Shape& in, const Shape& out) {
  return taps(out.height, in.height, layer) * taps(out.width, in.width, layer);
}

int first_conv(const Graph& graph) {
  const auto layers = graph.layers();
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [](const Layer& l) { return l.kind == LayerKind::conv; });
  return static_cast<int>(found - layers.begin());
}

Operations aiperf_count(const Graph& graph, int id, int first) {
  const Layer& layer = graph.layers()[id];
  const Shape& in = graph.shapes()[layer.inputs[0]];
  const Shape& out = graph.shapes()[layer.output];
  const std::int64_t cells = std::int64_t{out.height} * out.width;
  const std::int64_t pairs = std::int64_t{layer.in} * layer.out;
  switch (layer.kind) {
    case LayerKind::conv: {
      const std::int64_t weights = pairs * layer.kernel * layer.kernel;
      return {2 * cells * weights, weights * ((id == first ? 2 : 4) * cells + 2)};
    }
    case LayerKind::dense: {
      const std::int64_t units = layer.out;
      const std::int64_t softmax = 8 * units + (units - 1) + 4 * units;
      return {2 * pairs + softmax, 4 * pairs + 2 * (std::int64_t{layer.in} + 1) * units};
    }
    case LayerKind::batch_norm:
      return {7 * in.values(), 36};
    case LayerKind::relu:
    case LayerKind::add:
      return {in.values(), 0};
    case LayerKind::max_pool:
      return {
          in.values() * layer.kernel * layer.kernel / (std::int64_t{layer.stride} * layer.stride),
          0};
    case LayerKind::global_avg_pool:
      return {
          (std::int64_t{in.height} * in.width - 1) * in.channels + std::int64_t{4} * in.channels,
          0};
    default:
      return {};
  }
}

}  // namespace

Operations aiperf_operations(const Graph& graph, int layer) {
  return aiperf_count(graph, layer, first_conv(graph));
}

Operations aiperf_operations(const Graph& graph) {
  Operations sum;
  const int first = first_conv(graph);
  for (int id = 0; id < static_cast<int>(graph.layers().size()); ++id) {
    sum += aiperf_count(graph, id, first);
  }
  return sum;
}

Operations exact_operations(const Graph& graph, int id) {
  const Layer& layer = graph.layers()[id];
  const Shape& in = graph.shapes()[layer.inputs[0]];
  const Shape& out = graph.shapes()[layer.output];
  const bool input_gradient = layer.inputs[0] != 0;
  const std::int64_t pairs = std::int64_t{layer.in} * layer.out;
  switch (layer.kind) {
    case LayerKind::conv: {
      const std::int64_t products = 2 * window_taps(layer, in, out) * pairs;
      return {products, products * (input_gradient ? 2 : 1) + out.values()};
    }
    case LayerKind::dense:
      return {2 * pairs, 2 * pairs * (input_gradient ? 2 : 1) + layer.out};
    case LayerKind::batch_norm:
      // Forward: mean 1, variance 3, subtract, scale, shift. Backward: shift 1, scale 2, input 4.
      return {7 * in.values(), (input_gradient ? 7 : 3) * in.values()};
    case LayerKind::relu:
    case LayerKind::dropout:
      return {in.values(), input_gradient ? in.values() : 0};
    case LayerKind::add:
      return {in.values(), 0};
    case LayerKind::max_pool:
      return {window_taps(layer, in, out) * in.channels - out.values(),
              input_gradient ? out.values() : 0};
    case LayerKind::global_avg_pool:
      return {in.values(), input_gradient ? in.channels : 0};
    case LayerKind::softmax:
      // Largest, subtract, exp, sum, divide; backward: a dot product, subtract, multiply.
      return {5 * in.values() - 2, input_gradient ? 4 * in.values() - 1 : 0};
    case LayerKind::concat:
    case LayerKind::flatten:
      return {};
  }
  return {};
}

Operations exact_operations(const Graph& graph) {
  Operations sum;
  for (int id = 0; id < static_cast<int>(graph.layers().size()); ++id) {
    sum += exact_operations(graph, id);
  }
  for (int node = 1; node < static_cast<int>(graph.shapes().size()); ++node) {
    const auto readers = static_cast<std::int64_t>(graph.readers(node).size());
    if (readers > 1) sum.backward += (readers - 1) * graph.shapes()[node].values();
  }
  return sum;
}

std::int64_t exact_inference(const Graph& graph) {
  std::int64_t sum = 0;
  for (int id = 0; id < static_cast<int>(graph.layers().size()); ++id) {
    const Layer& layer = graph.layers()[id];
    if (layer.kind == LayerKind::dropout) continue;
    sum += layer.kind == LayerKind::batch_norm ? 2 * graph.shapes()[layer.output].values()
                                               : exact_operations(graph, id).forward;
  }
  return sum;
}

}  // namespace assay::automl
