#include "report/experiment_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "automl/lineage.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "report/experiment_text.h"
#include "report/html_parts.h"

namespace assay::report::experiment {

using page::Html;
using page::markup;

namespace {

using automl::Graph;
using automl::Layer;
using automl::LayerKind;
using automl::Shape;

constexpr double kTallest = 120;        // of a layer
constexpr double kNetworkWidth = 1040;  // of the drawing, if it fits
constexpr double kLabeled = 56;         // with more convolutions, names would cover each other

struct LayerLook {
  std::string_view name;
  std::string_view css_class;
};

const LayerLook& look_of(LayerKind kind) {
  static constexpr std::array<LayerLook, 11> kLooks{{
      {"convolution", "l-conv"},
      {"batch norm", "l-norm"},
      {"ReLU", "l-plain"},
      {"max pooling", "l-pool"},
      {"global pooling", "l-pool"},
      {"dense", "l-dense"},
      {"add", "l-add"},
      {"concat", "l-concat"},
      {"dropout", "l-plain"},
      {"flatten", "l-plain"},
      {"softmax", "l-plain"},
  }};
  return kLooks.at(static_cast<std::size_t>(kind));
}

std::string shape_text(const Shape& shape) {
  return shape.flat ? fmt::format("{}", shape.channels)
                    : fmt::format("{}×{}×{}", shape.height, shape.width, shape.channels);
}

std::string describe(const Graph& graph, int id) {
  const Layer& layer = graph.layers()[static_cast<std::size_t>(id)];
  std::string out = fmt::format("{}: {}", id, look_of(layer.kind).name);
  if (layer.kind == LayerKind::conv || layer.kind == LayerKind::max_pool) {
    out += fmt::format(" {0}×{0}", layer.kernel);
    if (layer.stride != 1) out += fmt::format(", stride {}", layer.stride);
  }
  return out + " → " + shape_text(graph.shapes()[static_cast<std::size_t>(layer.output)]);
}

double width_of(const Layer& layer, const Shape& shape) {
  switch (layer.kind) {
    case LayerKind::conv:
    case LayerKind::dense:
      return 4 + 2.2 * std::log2(std::max(1, shape.channels));
    case LayerKind::add:
    case LayerKind::concat:
      return 7;
    case LayerKind::max_pool:
    case LayerKind::global_avg_pool:
      return 8;
    default:
      return 3;
  }
}

// A skip connection, leaving the chain after layer `from` (-1: the input) and rejoining it at `to`.
struct Skip {
  int from;
  int to;
  LayerKind join;
  std::vector<int> layers;  // on its way
};

struct Chain {
  std::vector<int> layers;    // of the main chain
  std::vector<int> position;  // by node: its layer's position; -1: not on the chain
};

Chain chain_of(const Graph& graph) {
  Chain chain;
  chain.position.assign(graph.shapes().size(), -2);
  const auto nodes = graph.main_chain();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    chain.position[static_cast<std::size_t>(nodes[i])] = static_cast<int>(i) - 1;
    if (i > 0) chain.layers.push_back(graph.writer(nodes[i]));
  }
  return chain;
}

// Follows what joins the chain back to where it branched off.
std::vector<Skip> skips_of(const Graph& graph, const Chain& chain) {
  std::vector<Skip> skips;
  for (std::size_t at = 0; at < chain.layers.size(); ++at) {
    const Layer& join = graph.layers()[static_cast<std::size_t>(chain.layers[at])];
    if (!join.has_two_inputs()) continue;
    std::set<int> seen;
    bool direct = false;  // one input is the chain itself
    std::vector<std::pair<int, std::vector<int>>> open;
    for (const int node : join.inputs) {
      if (!direct && chain.position[static_cast<std::size_t>(node)] == static_cast<int>(at) - 1)
        direct = true;
      else
        open.push_back({node, {}});
    }
    while (!open.empty()) {
      auto [node, way] = std::move(open.back());
      open.pop_back();
      if (const int from = chain.position[static_cast<std::size_t>(node)]; from != -2) {
        skips.push_back({from, static_cast<int>(at), join.kind, std::move(way)});
        continue;
      }
      if (!seen.insert(node).second) continue;
      const int id = graph.writer(node);
      way.push_back(id);
      const Layer& layer = graph.layers()[static_cast<std::size_t>(id)];
      for (const int input : layer.inputs)
        if (input >= 0) open.emplace_back(input, way);
    }
  }
  return skips;
}

Html arc(const Graph& graph, const Skip& skip, double from, double to, double base, double room,
         double longest) {
  const double height = 26 + (room - 34) * std::sqrt((to - from) / std::max(longest, 1.0));
  std::string title = fmt::format("skip by {}", look_of(skip.join).name);
  for (const int layer : skip.layers | std::views::reverse) title += "; " + describe(graph, layer);
  const double top = base - height * 4 / 3;  // a cubic reaches three quarters of its handles
  Html out = markup(
      "<g class=\"skip {}\"><title>{}</title><path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} "
      "{:.1f} {:.1f}\"/>",
      look_of(skip.join).css_class, title, from, base, from + (to - from) * 0.12, top,
      to - (to - from) * 0.12, top, to, base);
  if (!skip.layers.empty())
    out +=
        markup("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"/>", (from + to) / 2, base - height);
  return out + Html("</g>");
}

Html drawing(const Graph& graph) {
  const Chain chain = chain_of(graph);
  const std::vector<Skip> skips = skips_of(graph, chain);
  double natural = 0;
  int largest = 1;
  int convolutions = 0;
  for (const Shape& shape : graph.shapes()) largest = std::max(largest, shape.height);
  for (const int id : chain.layers) {
    const Layer& layer = graph.layers()[static_cast<std::size_t>(id)];
    natural += width_of(layer, graph.shapes()[static_cast<std::size_t>(layer.output)]);
    convolutions += layer.kind == LayerKind::conv ? 1 : 0;
  }
  const double count = static_cast<double>(chain.layers.size());
  const double gap = std::clamp((kNetworkWidth - 56 - natural) / std::max(1.0, count), 2.0, 26.0);
  const double room = skips.empty() ? 10 : 96;  // above the layers, for the arcs
  const double middle = room + kTallest / 2;
  const bool labeled = convolutions <= kLabeled;

  Html bars;
  std::vector<double> center;
  std::vector<double> tops;
  double x = 36;
  for (const int id : chain.layers) {
    const Layer& layer = graph.layers()[static_cast<std::size_t>(id)];
    const Shape& shape = graph.shapes()[static_cast<std::size_t>(layer.output)];
    const double width = width_of(layer, shape);
    const double height = 22 + (kTallest - 22) * std::log2(std::max(1, shape.height)) /
                                   std::max(1.0, std::log2(largest));
    bars += markup(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"2\"><title>{}</title></rect>",
        look_of(layer.kind).css_class, x, middle - height / 2, width, height, describe(graph, id));
    if (labeled && (layer.kind == LayerKind::conv || layer.kind == LayerKind::dense)) {
      const std::string text = layer.kind == LayerKind::conv
                                   ? fmt::format("{0}×{0}, {1}", layer.kernel, layer.out)
                                   : fmt::format("dense {}", layer.out);
      bars += markup(
          "<text class=\"tick\" text-anchor=\"end\" transform=\"translate({:.1f} {:.1f}) "
          "rotate(-50)\">{}</text>",
          x + width / 2 + 4, room + kTallest + 14, text);
    }
    center.push_back(x + width / 2);
    tops.push_back(middle - height / 2);
    x += width + gap;
  }
  double longest = 1;
  const auto start = [&](const Skip& skip) {
    return skip.from < 0 ? 20.0 : center[static_cast<std::size_t>(skip.from)];
  };
  for (const Skip& skip : skips)
    longest = std::max(longest, center[static_cast<std::size_t>(skip.to)] - start(skip));
  Html arcs;
  for (const Skip& skip : skips)
    arcs += arc(graph, skip, start(skip), center[static_cast<std::size_t>(skip.to)], room - 4, room,
                longest);
  const double height = room + kTallest + (labeled ? 62 : 12);
  const double width = std::max(x + 8, 200.0);
  return markup(
      "<div class=\"scroll\"><svg class=\"frame network\" role=\"img\" aria-label=\"Network of {} "
      "layers with {} skips\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\"><path "
      "class=\"spine\" d=\"M16 {:.1f}H{:.1f}\"/>{}{}</svg></div>",
      graph.layers().size(), skips.size(), width, height, width, height, middle, x, bars, arcs);
}

constexpr const char* kNetworkLegend =
    "<ul class=\"legend\"><li><i class=\"box l-conv\"></i>convolution</li><li><i class=\"box "
    "l-norm\"></i>batch norm</li><li><i class=\"box l-plain\"></i>ReLU, others</li><li><i "
    "class=\"box l-pool\"></i>pooling</li><li><i class=\"box l-dense\"></i>dense</li><li><i "
    "class=\"box l-add\"></i>add</li><li><i class=\"box l-concat\"></i>concat</li></ul>";

}  // namespace

Html network(const ExperimentView& view) {
  const automl::ExperimentRecord& record = view.record;
  if (!record.best) return {};
  const automl::TrialRecord& best = record.trials[static_cast<std::size_t>(*record.best)];
  std::vector<std::string> line;
  for (const std::int64_t id : automl::lineage_of(record, best.id))
    line.push_back(std::to_string(id));
  Html out = html::key_values(std::array<html::KeyValue, 3>{
      {{"Trial", markup("{} <span class=\"unit\">(lineage {})</span>", best.id, join(line, " → "))},
       {"Accuracy", Html::text(accuracy_text(best.accuracy.value_or(0)))},
       {"Layers, parameters",
        markup("{}, {}", best.layers, format_number(static_cast<double>(best.parameters)))}}});
  try {
    out += drawing(automl::architecture_of(record, best.id)) + Html(kNetworkLegend);
  } catch (const Error& error) {
    out += html::remark(markup("It cannot be drawn: {}", error.message()));
  }
  return out;
}

}  // namespace assay::report::experiment
