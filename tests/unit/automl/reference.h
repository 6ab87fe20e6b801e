#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "automl/graph.h"
#include "automl/operations.h"

namespace assay::automl::testing {

/// NetworkWeights of one layer. Conv: w[out][in][row][column] and b[out]; dense: w[out][in] and
/// b[out]; batch norm: one entry per feature in scale, shift, mean and variance.
struct LayerWeights {
  std::vector<double> w, b, scale, shift, mean, variance;
};
using NetworkWeights = std::vector<LayerWeights>;

constexpr double norm_epsilon = 1e-3;

[[nodiscard]] LayerWeights random_layer(const Layer& layer, std::mt19937_64& random);
[[nodiscard]] NetworkWeights random_weights(const Graph& graph, std::mt19937_64& random);
[[nodiscard]] std::vector<double> random_input(const Graph& graph, std::mt19937_64& random);

/// Runs the graph on one sample (height × width × channels), in double precision with plain loops
/// and the stored statistics of batch norm.
[[nodiscard]] std::vector<double> run(const Graph& graph, const NetworkWeights& weights,
                                      const std::vector<double>& input);

/// Counts one training pass by walking through every single operation.
[[nodiscard]] Operations count_by_walking(const Graph& graph);

}  // namespace assay::automl::testing
