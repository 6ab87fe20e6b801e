#include "automl/graph.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "automl/hash.h"
#include "core/error.h"

namespace assay::automl {

namespace {

[[noreturn]] void fail(const std::string& message, const std::string& where) {
  throw Error(
      ErrorKind::config, message, where,
      "the graph cannot be trained as it is; take it from the program that wrote it, whole");
}

// Larger sizes are mistakes, and would overflow what is computed from them.
constexpr int kMaxDimension = 1 << 24;

std::string layer_name(int id, const Layer& layer) {
  return fmt::format("layer {} ({})", id, to_text(layer.kind));
}

int window_outputs(int size, const Layer& layer) {
  return (size + 2 * layer.padding - layer.kernel) / layer.stride + 1;
}

Shape output_shape(int id, const Layer& layer, const Shape& a, const Shape& b,
                   const std::string& where) {
  const auto reject = [&](const std::string& why) {
    fail(layer_name(id, layer) + " " + why, where);
  };
  const auto expect_channels = [&] {
    if (layer.in != a.channels) {
      reject(fmt::format("expects {} channels, but node {} has {}", layer.in, layer.inputs[0],
                         a.channels));
    }
  };
  const auto expect_image = [&] {
    if (a.flat) reject(fmt::format("reads node {}, which is flat", layer.inputs[0]));
  };
  Shape shape = a;
  switch (layer.kind) {
    case LayerKind::conv:
      expect_image();
      expect_channels();
      if (a.height + 2 * layer.padding < layer.kernel ||
          a.width + 2 * layer.padding < layer.kernel) {
        reject(fmt::format("has a kernel of {0}×{0}, larger than its padded input of {1}×{2}",
                           layer.kernel, a.height + 2 * layer.padding,
                           a.width + 2 * layer.padding));
      }
      shape.height = window_outputs(a.height, layer);
      shape.width = window_outputs(a.width, layer);
      shape.channels = layer.out;
      break;
    case LayerKind::batch_norm:
      expect_channels();
      break;
    case LayerKind::max_pool:
      expect_image();
      shape.height = std::max(a.height / layer.stride, 1);
      shape.width = std::max(a.width / layer.stride, 1);
      break;
    case LayerKind::global_avg_pool:
      expect_image();
      shape = {1, 1, a.channels, true};
      break;
    case LayerKind::dense:
      if (!a.flat) reject(fmt::format("reads node {}, which is not flat", layer.inputs[0]));
      expect_channels();
      shape = {1, 1, layer.out, true};
      break;
    case LayerKind::flatten:
      if (a.values() > kMaxDimension) reject("makes a vector that is too long");
      shape = {1, 1, static_cast<int>(a.values()), true};
      break;
    case LayerKind::add:
      if (!(a == b)) {
        reject(fmt::format("adds {}×{}×{} and {}×{}×{}", a.height, a.width, a.channels, b.height,
                           b.width, b.channels));
      }
      break;
    case LayerKind::concat:
      if (a.height != b.height || a.width != b.width || a.flat != b.flat) {
        reject(fmt::format("joins {}×{} and {}×{}", a.height, a.width, b.height, b.width));
      }
      shape.channels = a.channels + b.channels;
      break;
    case LayerKind::relu:
    case LayerKind::dropout:
    case LayerKind::softmax:
      break;
  }
  return shape;
}

void check_attributes(int id, const Layer& layer, const std::string& where) {
  const auto within = [&](const char* what, int value, int low) {
    if (value < low || value > kMaxDimension) {
      fail(fmt::format("{} has {} {}", layer_name(id, layer), what, value), where);
    }
  };
  if (layer.kind == LayerKind::conv || layer.kind == LayerKind::dense ||
      layer.kind == LayerKind::batch_norm) {
    within("input channels", layer.in, 1);
  }
  if (layer.kind == LayerKind::conv || layer.kind == LayerKind::dense) {
    within("output channels", layer.out, 1);
  }
  if (layer.kind == LayerKind::conv || layer.kind == LayerKind::max_pool) {
    within("kernel", layer.kernel, 1);
    within("stride", layer.stride, 1);
    within("padding", layer.padding, 0);
    if (layer.padding >= layer.kernel) {
      fail(fmt::format("{} has padding {} of kernel {}: windows that see nothing",
                       layer_name(id, layer), layer.padding, layer.kernel),
           where);
    }
  }
  if (layer.kind == LayerKind::dropout && !(layer.rate >= 0 && layer.rate < 1)) {
    fail(fmt::format("{} has rate {}, not in [0, 1)", layer_name(id, layer), layer.rate), where);
  }
}

std::uint64_t attribute_hash(const Layer& layer) {
  std::uint64_t h = static_cast<std::uint64_t>(layer.kind) + 1;
  for (const int value : {layer.in, layer.out, layer.kernel, layer.stride, layer.padding}) {
    h = combine(h, static_cast<std::uint64_t>(value));
  }
  return layer.rate == 0 ? h : combine(h, std::bit_cast<std::uint64_t>(layer.rate));
}

}  // namespace

std::int64_t parameters(const Layer& layer) noexcept {
  const std::int64_t in = layer.in;
  switch (layer.kind) {
    case LayerKind::conv:
      return (in * layer.kernel * layer.kernel + 1) * layer.out;
    case LayerKind::dense:
      return (in + 1) * layer.out;
    case LayerKind::batch_norm:
      return 4 * in;
    default:
      return 0;
  }
}

Graph::Graph(Shape input, std::vector<Layer> layers, std::vector<HistoryEntry> history,
             const std::string& where) {
  auto data = std::make_shared<Data>();
  if (input.height < 1 || input.width < 1 || input.channels < 1 || input.height > kMaxDimension ||
      input.width > kMaxDimension || input.channels > kMaxDimension) {
    fail(fmt::format("the input is {}×{}×{}", input.height, input.width, input.channels), where);
  }
  if (layers.empty()) fail("the graph has no layers", where);
  data->layers = std::move(layers);
  data->history = std::move(history);
  connect(*data, where);
  sort(*data, where);
  data->shapes[0] = input;
  infer_shapes(*data, where);
  find_main_chain(*data);
  data->hash = structure_hash(*data);
  data_ = std::move(data);
}

std::span<const int> Graph::readers(int node) const noexcept {
  const auto begin = static_cast<std::size_t>(data_->reader_start[node]);
  const auto end = static_cast<std::size_t>(data_->reader_start[node + 1]);
  return std::span(data_->reader_ids).subspan(begin, end - begin);
}

bool operator==(const Graph& a, const Graph& b) {
  return a.data_ == b.data_ ||
         (a.data_->layers == b.data_->layers && a.data_->shapes == b.data_->shapes &&
          a.data_->history == b.data_->history);
}

void Graph::connect(Data& data, const std::string& where) {
  // Every node but the input is written once, so there is one more node than layers.
  const int nodes = static_cast<int>(data.layers.size()) + 1;
  data.shapes.resize(nodes);
  data.writer.assign(nodes, -1);
  data.reader_start.assign(nodes + 1, 0);
  const auto check_node = [&](int id, int node) {
    if (node < 0 || node >= nodes) {
      fail(fmt::format("{} names node {}, but there are {} nodes", layer_name(id, data.layers[id]),
                       node, nodes),
           where);
    }
  };
  for (int id = 0; id < nodes - 1; ++id) {
    const Layer& layer = data.layers[id];
    check_attributes(id, layer, where);
    check_node(id, layer.output);
    if (layer.output == 0) {
      fail(layer_name(id, layer) + " writes the input, so that the graph is cyclic", where);
    }
    if (data.writer[layer.output] >= 0) {
      fail(fmt::format("node {} is written by layers {} and {}", layer.output,
                       data.writer[layer.output], id),
           where);
    }
    data.writer[layer.output] = id;
    for (int slot = 0; slot < (layer.has_two_inputs() ? 2 : 1); ++slot) {
      check_node(id, layer.inputs[slot]);
      ++data.reader_start[layer.inputs[slot] + 1];
    }
  }
  for (int n = 0; n < nodes; ++n) data.reader_start[n + 1] += data.reader_start[n];
  data.reader_ids.resize(data.reader_start[nodes]);
  std::vector<int> next(data.reader_start.begin(), data.reader_start.end() - 1);
  for (int id = 0; id < nodes - 1; ++id) {
    const Layer& layer = data.layers[id];
    for (int slot = 0; slot < (layer.has_two_inputs() ? 2 : 1); ++slot) {
      data.reader_ids[next[layer.inputs[slot]]++] = id;
    }
  }
  data.output = -1;
  for (int n = 0; n < nodes; ++n) {
    if (data.reader_start[n] != data.reader_start[n + 1]) continue;
    if (data.output >= 0) {
      fail(fmt::format("the graph is cut: nodes {} and {} are both read by no layer", data.output,
                       n),
           where);
    }
    data.output = n;
  }
  if (data.output < 0) fail("the graph is cyclic: every node is read by a layer", where);
}

void Graph::sort(Data& data, const std::string& where) {
  const int nodes = static_cast<int>(data.shapes.size());
  std::vector<int> missing(data.layers.size());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    missing[i] = data.layers[i].has_two_inputs() ? 2 : 1;
  }
  std::vector<int> ready{0};
  ready.reserve(nodes);
  data.order.reserve(missing.size());
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const int node = ready[at];
    for (int r = data.reader_start[node]; r < data.reader_start[node + 1]; ++r) {
      const int id = data.reader_ids[r];
      if (--missing[id] > 0) continue;
      data.order.push_back(id);
      ready.push_back(data.layers[id].output);
    }
  }
  if (data.order.size() == missing.size()) return;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) continue;
    const int id = static_cast<int>(i);
    fail(layer_name(id, data.layers[i]) +
             " cannot be reached from the input: the graph is cyclic or cut there",
         where);
  }
}

void Graph::infer_shapes(Data& data, const std::string& where) {
  for (const int id : data.order) {
    const Layer& layer = data.layers[id];
    const Shape& a = data.shapes[layer.inputs[0]];
    const Shape& b = layer.has_two_inputs() ? data.shapes[layer.inputs[1]] : a;
    const Shape shape = output_shape(id, layer, a, b, where);
    if (shape.channels > kMaxDimension)
      fail(layer_name(id, layer) + " has too many channels", where);
    data.shapes[layer.output] = shape;
    data.parameters += automl::parameters(layer);
  }
  for (const Shape& shape : data.shapes) data.activations += shape.values();
}

void Graph::find_main_chain(Data& data) {
  std::vector<int> length(data.shapes.size(), 0);
  std::vector<int> before(data.shapes.size(), -1);
  for (const int id : data.order) {
    const Layer& layer = data.layers[id];
    int from = layer.inputs[0];
    if (layer.has_two_inputs()) {
      const int other = layer.inputs[1];
      if (length[other] > length[from] || (length[other] == length[from] && other < from)) {
        from = other;
      }
    }
    length[layer.output] = length[from] + 1;
    before[layer.output] = from;
  }
  // The output is the only node that nothing reads, so every longest path ends there.
  for (int node = data.output; node >= 0; node = before[node]) data.main_chain.push_back(node);
  std::reverse(data.main_chain.begin(), data.main_chain.end());
}

std::uint64_t Graph::structure_hash(const Data& data) {
  std::vector<std::uint64_t> above(data.shapes.size());
  const Shape& input = data.shapes[0];
  above[0] = combine(combine(input.height, input.width), input.channels);
  for (const int id : data.order) {
    const Layer& layer = data.layers[id];
    std::uint64_t inputs = above[layer.inputs[0]];
    if (layer.kind == LayerKind::add) inputs += above[layer.inputs[1]];
    if (layer.kind == LayerKind::concat) inputs = combine(inputs, above[layer.inputs[1]]);
    above[layer.output] = combine(attribute_hash(layer), inputs);
  }
  // What lies above does not tell one shared layer from two equal ones: what lies below does.
  std::vector<std::uint64_t> below(data.shapes.size(), 0);
  std::uint64_t sum = 0;
  for (std::size_t at = data.order.size(); at-- > 0;) {
    const Layer& layer = data.layers[data.order[at]];
    const std::uint64_t out = combine(above[layer.output], below[layer.output]);
    sum += scramble(out);
    const bool ordered = layer.kind == LayerKind::concat;
    for (int slot = 0; slot < (layer.has_two_inputs() ? 2 : 1); ++slot) {
      below[layer.inputs[slot]] += scramble(out + (ordered ? slot + 1 : 0));
    }
  }
  return combine(sum, combine(above[data.output], below[0]));
}

}  // namespace assay::automl
