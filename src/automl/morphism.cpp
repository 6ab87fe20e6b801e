#include "automl/morphism.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "automl/operations.h"
#include "automl/widening.h"
#include "core/error.h"

namespace assay::automl {

namespace {

using Kind = Operation::Kind;
constexpr std::array<std::pair<Kind, const char*>, 4> names{{{Kind::deeper, "deeper"},
                                                             {Kind::wider, "wider"},
                                                             {Kind::add_skip, "add_skip"},
                                                             {Kind::concat_skip, "concat_skip"}}};

[[noreturn]] void illegal(const Operation& operation) {
  throw Error(ErrorKind::config,
              fmt::format("the graph has no place for {}", dump_line(to_json(operation))), "",
              "operations belong to the graph that they were made for");
}

// The layers of the main chain before global pooling, in order.
std::vector<int> image_chain(const Graph& graph) {
  std::vector<int> chain;
  for (const int node : graph.main_chain().subspan(1)) {
    const int id = graph.writer(node);
    if (graph.layers()[id].kind == LayerKind::global_avg_pool) break;
    if (graph.shapes()[node].flat) break;
    chain.push_back(id);
  }
  return chain;
}

// The stride of the 1×1 convolution that takes `from` to the size of `to`; 0 when there is none.
int skip_stride(const Shape& from, const Shape& to) {
  for (int stride = 1; stride <= from.height || stride <= from.width; stride *= 2) {
    if ((from.height - 1) / stride + 1 == to.height && (from.width - 1) / stride + 1 == to.width) {
      return stride;
    }
  }
  return 0;
}

std::vector<Operation> wider_places(const Graph& graph) {
  std::vector<int> convs;
  std::vector<int> denses;
  for (const int node : graph.main_chain().subspan(1)) {
    const int id = graph.writer(node);
    if (graph.layers()[id].kind == LayerKind::conv) convs.push_back(id);
    if (graph.layers()[id].kind == LayerKind::dense) denses.push_back(id);
  }
  if (!convs.empty()) convs.pop_back();
  if (!denses.empty()) denses.pop_back();
  convs.insert(convs.end(), denses.begin(), denses.end());
  std::vector<Operation> found;
  for (const int id : convs) found.push_back({Kind::wider, id, graph.layers()[id].out});
  return found;
}

std::vector<Operation> skip_places(const Graph& graph, Kind kind) {
  std::vector<int> chain = image_chain(graph);
  const auto layers = graph.layers();
  std::erase_if(chain, [&](int id) { return layers[id].has_two_inputs(); });
  if (!chain.empty()) chain.pop_back();
  const LayerKind end = kind == Kind::add_skip ? LayerKind::batch_norm : LayerKind::relu;
  std::vector<Operation> found;
  for (std::size_t a = 4; a < chain.size(); ++a) {
    if (layers[chain[a]].kind != LayerKind::relu) continue;
    const Shape& from = graph.shapes()[layers[chain[a]].output];
    for (std::size_t b = a + 1; b < chain.size(); ++b) {
      if (layers[chain[b]].kind != end) continue;
      if (skip_stride(from, graph.shapes()[layers[chain[b]].output]) == 0) continue;
      found.push_back({kind, chain[a], chain[b]});
    }
  }
  return found;
}

bool is_legal(const Graph& graph, const Operation& op) {
  if (op.kind == Kind::wider) {
    for (const Operation& place : wider_places(graph)) {
      if (place.layer == op.layer) return op.other >= 1 && op.other <= place.other;
    }
    return false;
  }
  const std::vector<Operation> all = places(graph, op.kind);
  return std::find(all.begin(), all.end(), op) != all.end();
}

// Collects the child's layers; nodes are numbered as they come.
class Editor {
 public:
  explicit Editor(const Graph& graph)
      : input_(graph.shapes()[0]),
        layers_(graph.layers().begin(), graph.layers().end()),
        history_(graph.history().begin(), graph.history().end()),
        nodes_(static_cast<int>(graph.shapes().size())) {}

  int node() { return nodes_++; }
  Layer& layer(int id) { return layers_[id]; }
  const Layer& put(const Layer& layer) { return layers_.emplace_back(layer); }
  void note(const HistoryEntry& entry) { history_.push_back(entry); }
  /// Makes `layer` write a new node; what it wrote is now written by what the caller adds.
  int detach(int id) { return layers_[id].output = node(); }
  Graph finish() { return {input_, std::move(layers_), std::move(history_)}; }
  std::size_t size() const { return layers_.size(); }

 private:
  Shape input_;
  std::vector<Layer> layers_;
  std::vector<HistoryEntry> history_;
  int nodes_;
};

void deepen(Editor& edit, const Graph& graph, const Operation& op) {
  const int end = graph.layers()[op.layer].output;
  const int channels = graph.shapes()[end].channels;
  const int a = edit.detach(op.layer);
  const int b = edit.node();
  const int c = edit.node();
  for (const Layer& layer : {conv_layer(a, b, channels, channels, 3), norm_layer(b, c, channels),
                             plain_layer(LayerKind::relu, c, end)}) {
    edit.note({HistoryEntry::Kind::deeper, op.layer, 0, edit.put(layer)});
  }
}

void widen(Editor& edit, const Graph& graph, const Operation& op) {
  const Widening wide = widening(graph, op.layer, op.other);
  if (wide.nodes.empty()) illegal(op);
  for (std::size_t id = 0; id < edit.size(); ++id) {
    Layer& layer = edit.layer(static_cast<int>(id));
    const std::vector<int>& in = wide.nodes[layer.inputs[0]];
    const std::vector<int>& out = wide.nodes[layer.output];
    if (layer.in > 0 && !in.empty()) layer.in = static_cast<int>(in.size());
    if (layer.out > 0 && !out.empty()) layer.out = static_cast<int>(out.size());
  }
  edit.note({HistoryEntry::Kind::wider, op.layer, op.other, {}});
}

void skip(Editor& edit, const Graph& graph, const Operation& op) {
  const int from = graph.layers()[op.layer].output;
  const int end = graph.layers()[op.other].output;
  const int in = graph.shapes()[from].channels;
  const int out = graph.shapes()[end].channels;
  const int stride = skip_stride(graph.shapes()[from], graph.shapes()[end]);
  const int body = edit.detach(op.other);
  if (op.kind == Kind::add_skip) {
    const int a = edit.node();
    const int b = edit.node();
    edit.put(conv_layer(from, a, in, out, 1, stride));
    edit.put(norm_layer(a, b, out));
    edit.put(merge_layer(LayerKind::add, body, b, end));
    edit.note({HistoryEntry::Kind::add_skip, op.layer, op.other, {}});
    return;
  }
  int path = from;
  if (stride > 1) {
    path = edit.node();
    edit.put(conv_layer(from, path, in, in, 1, stride));
  }
  const int joined = edit.node();
  const int a = edit.node();
  const int b = edit.node();
  edit.put(merge_layer(LayerKind::concat, body, path, joined));
  edit.put(conv_layer(joined, a, out + in, out, 1));
  edit.put(norm_layer(a, b, out));
  edit.put(plain_layer(LayerKind::relu, b, end));
  edit.note({HistoryEntry::Kind::concat_skip, op.layer, op.other, {}});
}

// The child, for a place that is known to be legal.
Graph child_of(const Graph& graph, const Operation& op) {
  Editor edit(graph);
  switch (op.kind) {
    case Kind::deeper:
      deepen(edit, graph, op);
      break;
    case Kind::wider:
      widen(edit, graph, op);
      break;
    case Kind::add_skip:
    case Kind::concat_skip:
      skip(edit, graph, op);
      break;
  }
  return edit.finish();
}

WeightTransfer wider_transfer(const Graph& graph, const Operation& op) {
  WeightTransfer result(graph.layers().size());
  const Widening wide = widening(graph, op.layer, op.other);
  if (wide.nodes.empty()) illegal(op);
  for (std::size_t id = 0; id < result.size(); ++id) {
    const Layer& layer = graph.layers()[id];
    const std::vector<int>& in = wide.nodes[layer.inputs[0]];
    if (layer.out > 0 || layer.kind == LayerKind::batch_norm) {
      result[id].outputs = wide.nodes[layer.output];
    }
    if (layer.out == 0 || in.empty()) continue;
    std::vector<int> copies(layer.in, 0);
    for (const int c : in) ++copies[c];
    result[id].inputs = in;
    for (const int c : in) result[id].input_scale.push_back(1.0 / copies[c]);
  }
  return result;
}

}  // namespace

Json to_json(const Operation& operation) {
  Json json = Json::array();
  for (const auto& [kind, name] : names) {
    if (kind == operation.kind) json.push_back(name);
  }
  json.push_back(operation.layer);
  json.push_back(operation.other);
  return json;
}

Operation operation_from_json(const Json& json, const std::string& where) {
  const auto is_id = [](const Json& v) { return v.is_number_integer() && v >= 0 && v < (1 << 30); };
  if (json.is_array() && json.size() == 3 && is_id(json[1]) && is_id(json[2])) {
    for (const auto& [kind, name] : names) {
      if (json[0] == name) return {kind, json[1].get<int>(), json[2].get<int>()};
    }
  }
  throw Error(ErrorKind::config, "not an operation: " + dump_line(json), where,
              R"(operations are written ["deeper", layer, 0], ["wider", layer, channels], )"
              R"(["add_skip", from, to] or ["concat_skip", from, to])");
}

bool within(const Graph& graph, const Limits& limits) {
  return graph.parameters() <= limits.parameters && graph.activations() <= limits.activations &&
         graph.layers().size() <= static_cast<std::size_t>(limits.layers) &&
         (limits.forward_operations == INT64_MAX ||
          exact_operations(graph).forward <= limits.forward_operations);
}

std::vector<Operation> places(const Graph& graph, Kind kind) {
  switch (kind) {
    case Kind::deeper: {
      std::vector<Operation> found;
      for (const int id : image_chain(graph)) {
        if (graph.layers()[id].kind == LayerKind::relu) found.push_back({kind, id, 0});
      }
      return found;
    }
    case Kind::wider: {
      std::vector<Operation> found = wider_places(graph);
      std::erase_if(found, [&](const Operation& op) {
        return widening(graph, op.layer, op.other).nodes.empty();
      });
      return found;
    }
    default:
      return skip_places(graph, kind);
  }
}

Graph apply(const Graph& graph, const Operation& operation) {
  if (!is_legal(graph, operation)) illegal(operation);
  return child_of(graph, operation);
}

WeightTransfer transfer(const Graph& graph, const Operation& operation) {
  if (!is_legal(graph, operation)) illegal(operation);
  if (operation.kind == Kind::wider) return wider_transfer(graph, operation);
  WeightTransfer result(graph.layers().size());
  using Source = WeightSource::Kind;
  const auto put = [&](std::initializer_list<Source> added) {
    for (const Source kind : added) result.push_back({kind, {}, {}, {}});
  };
  switch (operation.kind) {
    case Kind::deeper:
      put({Source::identity, Source::norm_identity, Source::fresh});
      break;
    case Kind::add_skip:
      put({Source::fresh, Source::norm_zero, Source::fresh});
      break;
    default: {
      const auto shape = [&](int id) { return graph.shapes()[graph.layers()[id].output]; };
      if (skip_stride(shape(operation.layer), shape(operation.other)) > 1) put({Source::fresh});
      put({Source::fresh, Source::identity, Source::norm_identity, Source::fresh});
      break;
    }
  }
  return result;
}

std::optional<Child> random_child(const Graph& graph, const MorphismChances& chances,
                                  const Limits& limits, Random& random) {
  const std::array weights{chances.deeper, chances.wider, chances.add_skip, chances.concat_skip};
  double at = random.uniform() * (weights[0] + weights[1] + weights[2] + weights[3]);
  std::size_t pick = 0;
  while (pick < 3 && at >= weights[pick]) at -= weights[pick++];
  const Kind kind = names[pick].first;
  // Only the drawn place to widen is checked against input and output.
  const std::vector<Operation> all =
      kind == Kind::wider ? wider_places(graph) : places(graph, kind);
  if (all.empty()) return std::nullopt;
  Operation operation = all[random.below(all.size())];
  if (kind == Kind::wider) {
    if (random.uniform() >= chances.wider_double) operation.other = (operation.other + 1) / 2;
    if (widening(graph, operation.layer, operation.other).nodes.empty()) return std::nullopt;
  }
  Graph child = child_of(graph, operation);
  if (!within(child, limits)) return std::nullopt;
  return Child{std::move(child), operation};
}

}  // namespace assay::automl
