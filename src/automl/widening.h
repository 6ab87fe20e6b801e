#pragma once

#include <vector>

#include "automl/graph.h"

namespace assay::automl {

/// How channels multiply when a layer is widened. A channel and its copies stand side by side in
/// every node, so that sums and joins of widened nodes need no further order.
struct Widening {
  /// Per node: the parent's channel of each of the child's channels. Empty where nothing changes.
  std::vector<std::vector<int>> nodes;
};

/// Copies the first `added` output channels of `layer` (1 ≤ added ≤ its channels), and with them
/// every channel that is added to one of those somewhere. Empty `nodes` when the network's input or
/// output would have to change.
[[nodiscard]] Widening widening(const Graph& graph, int layer, int added);

}  // namespace assay::automl
