#include "automl/descriptor.h"

#include <algorithm>

#include "automl/hash.h"

namespace assay::automl {

namespace {

constexpr int kKindTotal = static_cast<int>(LayerKind::softmax) + 1;

LayerSymbol symbol_of(const Layer& layer) {
  if (layer.kind == LayerKind::conv) return {layer.kind, layer.out, layer.kernel, layer.stride};
  if (layer.kind == LayerKind::max_pool) {
    return {layer.kind, layer.padding, layer.kernel, layer.stride};
  }
  return {layer.kind, 0, 0, 0};
}

Skip::Type type_of(const Layer& layer, Skip::Type fallback) {
  if (layer.kind == LayerKind::add) return Skip::Type::add;
  if (layer.kind == LayerKind::concat) return Skip::Type::concat;
  return fallback;
}

}  // namespace

Descriptor describe(const Graph& graph) {
  Descriptor result;
  result.kind_count.assign(kKindTotal, 0);
  std::vector<int> position(graph.shapes().size(), -1);
  const auto chain = graph.main_chain();
  for (std::size_t i = 0; i < chain.size(); ++i) position[chain[i]] = static_cast<int>(i);
  std::uint64_t hash = 1;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (const int id : graph.readers(chain[i])) {
      const Layer* layer = &graph.layers()[id];
      Skip::Type type = type_of(*layer, Skip::Type::none);
      const int direct = position[layer->output];
      if (direct >= 0) {
        const LayerSymbol symbol = symbol_of(*layer);
        const auto found = std::find(result.symbols.begin(), result.symbols.end(), symbol);
        result.layers.push_back(static_cast<std::uint16_t>(found - result.symbols.begin()));
        if (found == result.symbols.end()) result.symbols.push_back(symbol);
        ++result.kind_count[static_cast<int>(symbol.kind)];
        for (const int v : {static_cast<int>(symbol.kind), symbol.a, symbol.b, symbol.c}) {
          hash = combine(hash, static_cast<std::uint64_t>(v));
        }
        if (direct == static_cast<int>(i) + 1) continue;
      }
      // Off the chain, the path of the first readers is followed; the chain is met at the latest in
      // the output, which is on it.
      while (position[layer->output] < 0) {
        layer = &graph.layers()[graph.readers(layer->output).front()];
        type = type_of(*layer, type);
      }
      const int from = static_cast<int>(i);
      result.skips.push_back({from, position[layer->output] - from, type});
    }
  }
  std::sort(result.skips.begin(), result.skips.end());
  for (const Skip& skip : result.skips) {
    hash = combine(hash,
                   combine(combine(skip.from, skip.length), static_cast<std::uint64_t>(skip.type)));
  }
  result.hash = hash;
  return result;
}

}  // namespace assay::automl
