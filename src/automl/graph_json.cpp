#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "automl/graph.h"
#include "core/error.h"

namespace assay::automl {

namespace {

constexpr std::array<std::pair<HistoryEntry::Kind, const char*>, 4> operation_names{{
    {HistoryEntry::Kind::deeper, "to_deeper_model"},
    {HistoryEntry::Kind::wider, "to_wider_model"},
    {HistoryEntry::Kind::add_skip, "to_add_skip_model"},
    {HistoryEntry::Kind::concat_skip, "to_concat_skip_model"},
}};

Json shape_json(const Shape& shape) {
  if (shape.flat) return Json::array({shape.channels});
  return Json::array({shape.height, shape.width, shape.channels});
}

Json layer_json(const Layer& layer) {
  Json json = Json::array({to_text(layer.kind)});
  if (layer.has_two_inputs()) {
    json.push_back(Json::array({layer.inputs[0], layer.inputs[1]}));
  } else {
    json.push_back(layer.inputs[0]);
  }
  json.push_back(layer.output);
  switch (layer.kind) {
    case LayerKind::conv:
      for (const int v : {layer.in, layer.out, layer.kernel, layer.stride, layer.padding}) {
        json.push_back(v);
      }
      break;
    case LayerKind::dense:
      json.push_back(layer.in);
      json.push_back(layer.out);
      break;
    case LayerKind::batch_norm:
      json.push_back(layer.in);
      break;
    case LayerKind::dropout:
      json.push_back(layer.rate);
      break;
    case LayerKind::max_pool:
      for (const int v : {layer.kernel, layer.stride, layer.padding}) json.push_back(v);
      break;
    default:
      break;
  }
  return json;
}

Json history_json(const HistoryEntry& entry) {
  Json json = Json::array();
  for (const auto& [kind, name] : operation_names) {
    if (kind == entry.kind) json.push_back(name);
  }
  json.push_back(entry.layer);
  json.push_back(entry.kind == HistoryEntry::Kind::deeper ? layer_json(entry.added)
                                                          : Json(entry.other));
  return json;
}

// Every accessor names the place in the file that is wrong.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("the graph is not a JSON object", "");
  }

  Graph read() {
    const Shape input = shape(member("input_shape"), "input_shape");
    const Json& list = array(member("layer_list"), "layer_list");
    std::vector<Layer> layers;
    layers.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string at = fmt::format("layer_list[{}]", i);
      const Json& pair = array(list[i], at, 2);
      if (integer(pair[0], at) != static_cast<int>(i)) fail("ids must be 0, 1, 2, …", at);
      layers.push_back(layer(pair[1], at));
    }
    Graph graph(input, std::move(layers), history(), where_);
    check_shapes(graph);
    check_repeated("adj_list", graph, true);
    check_repeated("reverse_adj_list", graph, false);
    check_layer_nodes(graph);
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& at) const {
    const std::string where = at.empty() ? where_ : where_.empty() ? at : where_ + ": " + at;
    throw Error(ErrorKind::config, message, where,
                "a graph file is what AIPerf and Assay write; see docs/automl.md");
  }

  const Json& member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(fmt::format("'{}' is missing", key), "");
    return *found;
  }

  const Json& array(const Json& json, const std::string& at,
                    std::optional<std::size_t> size = {}) const {
    if (!json.is_array()) fail("a list is expected", at);
    if (size && json.size() != *size) {
      fail(fmt::format("{} entries expected, {} found", *size, json.size()), at);
    }
    return json;
  }

  int integer(const Json& json, const std::string& at) const {
    if (!json.is_number_integer()) fail("an integer is expected, not " + dump_line(json), at);
    const auto value = json.get<std::int64_t>();
    if (value < -(1 << 30) || value > (1 << 30)) fail("the number is out of range", at);
    return static_cast<int>(value);
  }

  Shape shape(const Json& json, const std::string& at) const {
    array(json, at);
    if (json.size() == 1) return {1, 1, integer(json[0], at), true};
    array(json, at, 3);
    return {integer(json[0], at), integer(json[1], at), integer(json[2], at), false};
  }

  Layer layer(const Json& json, const std::string& at) const {
    array(json, at);
    if (json.size() < 3 || !json[0].is_string()) fail("[type, input, output, …] expected", at);
    Layer layer;
    const auto type = json[0].get<std::string>();
    const auto kind = parse_enum<LayerKind>(type);
    if (!kind) fail("unknown layer type '" + type + "'", at);
    layer.kind = *kind;
    if (layer.has_two_inputs()) {
      array(json[1], at + " input", 2);
      layer.inputs = {integer(json[1][0], at), integer(json[1][1], at)};
    } else {
      layer.inputs[0] = integer(json[1], at);
    }
    layer.output = integer(json[2], at);
    const auto attributes = [&](std::initializer_list<int*> fields) {
      array(json, at, 3 + fields.size());
      std::size_t next = 3;
      for (int* field : fields) *field = integer(json[next++], at);
    };
    switch (layer.kind) {
      case LayerKind::conv:
        attributes({&layer.in, &layer.out, &layer.kernel, &layer.stride, &layer.padding});
        break;
      case LayerKind::dense:
        attributes({&layer.in, &layer.out});
        break;
      case LayerKind::batch_norm:
        attributes({&layer.in});
        break;
      case LayerKind::max_pool:
        attributes({&layer.kernel, &layer.stride, &layer.padding});
        break;
      case LayerKind::dropout:
        array(json, at, 4);
        if (!json[3].is_number()) fail("a rate is expected", at);
        layer.rate = json[3].get<double>();
        break;
      default:
        attributes({});
        break;
    }
    return layer;
  }

  std::vector<HistoryEntry> history() const {
    std::vector<HistoryEntry> entries;
    const auto found = json_.find("operation_history");
    if (found == json_.end()) return entries;
    array(*found, "operation_history");
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string at = fmt::format("operation_history[{}]", i);
      const Json& item = array((*found)[i], at, 3);
      HistoryEntry entry;
      bool known = false;
      for (const auto& [kind, name] : operation_names) {
        if (item[0] != name) continue;
        entry.kind = kind;
        known = true;
      }
      if (!known) fail("unknown operation " + dump_line(item[0]), at);
      entry.layer = integer(item[1], at);
      if (entry.kind == HistoryEntry::Kind::deeper) {
        entry.added = layer(item[2], at);
      } else {
        entry.other = integer(item[2], at);
      }
      entries.push_back(entry);
    }
    return entries;
  }

  void check_shapes(const Graph& graph) const {
    const Json& nodes = array(member("node_list"), "node_list", graph.shapes().size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string at = fmt::format("node_list[{}]", i);
      const Json& pair = array(nodes[i], at, 2);
      if (integer(pair[0], at) != static_cast<int>(i)) fail("ids must be 0, 1, 2, …", at);
      if (!(shape(pair[1], at) == graph.shapes()[i])) {
        fail(fmt::format("the shape is {}, but the layers make it {}", dump_line(pair[1]),
                         dump_line(shape_json(graph.shapes()[i]))),
             at);
      }
    }
  }

  void check_repeated(const char* key, const Graph& graph, bool forward) const {
    const Json& lists = member(key);
    if (!lists.is_object()) fail("an object of lists is expected", key);
    std::vector<std::vector<std::pair<int, int>>> expected(graph.shapes().size());
    for (std::size_t id = 0; id < graph.layers().size(); ++id) {
      const Layer& layer = graph.layers()[id];
      for (int slot = 0; slot < (layer.has_two_inputs() ? 2 : 1); ++slot) {
        const int from = forward ? layer.inputs[slot] : layer.output;
        const int to = forward ? layer.output : layer.inputs[slot];
        expected[from].emplace_back(to, static_cast<int>(id));
      }
    }
    if (lists.size() != expected.size()) fail("there must be one list per node", key);
    for (std::size_t n = 0; n < expected.size(); ++n) {
      const std::string at = fmt::format("{}[{}]", key, n);
      const auto found = lists.find(std::to_string(n));
      if (found == lists.end()) fail("the node is missing", at);
      std::vector<std::pair<int, int>> actual;
      for (const Json& item : array(*found, at)) {
        array(item, at, 2);
        actual.emplace_back(integer(item[0], at), integer(item[1], at));
      }
      std::sort(actual.begin(), actual.end());
      std::sort(expected[n].begin(), expected[n].end());
      if (actual != expected[n]) fail("the edges are not those of layer_list", at);
    }
  }

  void check_layer_nodes(const Graph& graph) const {
    const auto check = [&](const char* key, auto nodes_of) {
      const auto lists = json_.find(key);
      if (lists == json_.end()) return;
      for (std::size_t id = 0; id < graph.layers().size(); ++id) {
        const std::string at = fmt::format("{}[{}]", key, id);
        const auto found = lists->find(std::to_string(id));
        if (found == lists->end()) fail("the layer is missing", at);
        if (*found != nodes_of(graph.layers()[id])) fail("differs from layer_list", at);
      }
    };
    check("layer_id_to_input_node_ids", [](const Layer& layer) {
      return layer.has_two_inputs() ? Json::array({layer.inputs[0], layer.inputs[1]})
                                    : Json::array({layer.inputs[0]});
    });
    check("layer_id_to_output_node_ids",
          [](const Layer& layer) { return Json::array({layer.output}); });
  }

  const Json& json_;
  std::string where_;
};

}  // namespace

Json to_json(const Graph& graph) {
  // Objects are made with all their room and without a look for equal keys: growing one copies what
  // it holds, which would be most of what a hand-out costs.
  const auto object_for = [](std::size_t keys) {
    Json::object_t object;
    object.reserve(keys);
    return object;
  };
  const auto array_for = [](std::size_t items) {
    Json::array_t array;
    array.reserve(items);
    return array;
  };
  const std::size_t layer_count = graph.layers().size();
  const std::size_t node_count = graph.shapes().size();
  Json::object_t inputs = object_for(layer_count);
  Json::object_t outputs = object_for(layer_count);
  Json::array_t layers = array_for(layer_count);
  std::vector<Json::array_t> forward(node_count);
  std::vector<Json::array_t> backward(node_count);
  for (std::size_t id = 0; id < layer_count; ++id) {
    const Layer& layer = graph.layers()[id];
    Json::array_t read;
    for (int slot = 0; slot < (layer.has_two_inputs() ? 2 : 1); ++slot) {
      read.emplace_back(layer.inputs[slot]);
      forward[layer.inputs[slot]].push_back(Json::array({layer.output, id}));
      backward[layer.output].push_back(Json::array({layer.inputs[slot], id}));
    }
    inputs.emplace_back(std::to_string(id), std::move(read));
    outputs.emplace_back(std::to_string(id), Json::array({layer.output}));
    layers.push_back(Json::array({id, layer_json(layer)}));
  }
  Json::array_t nodes = array_for(node_count);
  Json::object_t adjacency = object_for(node_count);
  Json::object_t reverse = object_for(node_count);
  for (std::size_t n = 0; n < node_count; ++n) {
    adjacency.emplace_back(std::to_string(n), std::move(forward[n]));
    reverse.emplace_back(std::to_string(n), std::move(backward[n]));
    nodes.push_back(Json::array({n, shape_json(graph.shapes()[n])}));
  }
  Json::array_t history = array_for(graph.history().size());
  for (const HistoryEntry& entry : graph.history()) history.push_back(history_json(entry));
  Json::object_t json = object_for(10);
  json.emplace_back("input_shape", shape_json(graph.shapes()[0]));
  json.emplace_back("vis", nullptr);
  json.emplace_back("weighted", false);
  json.emplace_back("operation_history", std::move(history));
  json.emplace_back("layer_id_to_input_node_ids", std::move(inputs));
  json.emplace_back("layer_id_to_output_node_ids", std::move(outputs));
  json.emplace_back("adj_list", std::move(adjacency));
  json.emplace_back("reverse_adj_list", std::move(reverse));
  json.emplace_back("node_list", std::move(nodes));
  json.emplace_back("layer_list", std::move(layers));
  return json;
}

Graph graph_from_json(const Json& json, const std::string& where) {
  return Reader(json, where).read();
}

}  // namespace assay::automl
