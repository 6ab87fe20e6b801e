#pragma once

#include <string>

#include "automl/graph.h"

namespace assay::automl {

/// `graph` with the kernel of every convolution of an odd side above 1 replaced by
/// kernel × kernel; the padding grows or shrinks with it, so that all shapes stay. Convolutions of
/// 1×1 and of an even side (which have no center) stay as they are. Layer and node ids stay.
/// `kernel` is 0 (nothing changes) or odd and at least 3. Throws Error of kind config at `where`
/// for another one, and where a smaller kernel would need less than no padding.
[[nodiscard]] Graph with_kernel_size(const Graph& graph, int kernel, const std::string& where = {});

/// `graph` with dropout of `rate` (0: nothing changes) before its last dense layer; the new layer
/// and node have the next free ids. Throws Error of kind config at `where` when there is no dense
/// layer or the rate is not in [0, 1).
[[nodiscard]] Graph with_dropout(const Graph& graph, double rate, const std::string& where = {});

/// The graph that is really trained: what operations are counted of.
[[nodiscard]] inline Graph trained_graph(const Graph& graph, int kernel, double dropout,
                                         const std::string& where = {}) {
  return with_dropout(with_kernel_size(graph, kernel, where), dropout, where);
}

}  // namespace assay::automl
