#pragma once

#include <cstdint>

#include "automl/graph.h"

namespace assay::automl {

/// Arithmetic operations for one sample.
struct Operations {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  Operations& operator+=(const Operations& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  friend bool operator==(const Operations&, const Operations&) = default;
};

/// Counts as AIPerf's profiler does, so that scores can be compared: a multiply-add is 2, a
/// division or root 4, exp 8; padding counts as data; a softmax goes with every dense layer; batch
/// norm costs 36 backward, every other layer without weights nothing. Its override of the kernel
/// size of layers beyond the 175th is left out: they count with the kernel they have.
[[nodiscard]] Operations aiperf_operations(const Graph& graph);
[[nodiscard]] Operations aiperf_operations(const Graph& graph, int layer);

/// What a straightforward program executes in training: every add, subtract, multiply, divide,
/// compare and exp on real data is one operation, and what would multiply padding is not executed.
/// A convolution starts from its bias; statistics of batch norm are those of the sample's own
/// share; backward holds the gradients of weights and inputs (not of the network's input) and the
/// sums where a node is read more than once. Copies, the loss and the optimizer are not counted.
[[nodiscard]] Operations exact_operations(const Graph& graph);
/// The operations of one layer, without the sums at nodes, which belong to no layer.
[[nodiscard]] Operations exact_operations(const Graph& graph, int layer);

/// The forward pass with the stored statistics of batch norm, as in validation.
[[nodiscard]] std::int64_t exact_inference(const Graph& graph);

}  // namespace assay::automl
