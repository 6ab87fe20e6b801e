#pragma once

#include <cstdint>
#include <vector>

#include "automl/graph.h"

namespace assay::automl {

/// What the distance sees of a layer: its kind, and of conv (filters, kernel, stride), of max_pool
/// (padding, kernel, stride); other kinds have nothing that counts.
struct LayerSymbol {
  LayerKind kind = LayerKind::relu;
  int a = 0;
  int b = 0;
  int c = 0;
  friend bool operator==(const LayerSymbol&, const LayerSymbol&) = default;
  friend auto operator<=>(const LayerSymbol&, const LayerSymbol&) = default;
};

/// A path that leaves the main chain at one position and joins it at another.
struct Skip {
  int from = 0;
  int length = 0;
  enum class Type : std::uint8_t { none, add, concat } type = Type::none;
  friend bool operator==(const Skip&, const Skip&) = default;
  friend auto operator<=>(const Skip&, const Skip&) = default;
};

/// What the edit distance compares, made once per graph.
struct Descriptor {
  /// Every layer between two nodes of the main chain, in chain order (one that joins the chain to
  /// itself twice, as the add of an identity shortcut, is there twice), as indices of `symbols`.
  std::vector<std::uint16_t> layers;
  std::vector<LayerSymbol> symbols;  ///< distinct, in order of first use
  std::vector<int> kind_count;       ///< layers per kind, for the lower bound
  std::vector<Skip> skips;           ///< sorted
  /// Equal descriptors have equal hashes, and distance 0; others differ in both.
  std::uint64_t hash = 0;
};

[[nodiscard]] Descriptor describe(const Graph& graph);

}  // namespace assay::automl
