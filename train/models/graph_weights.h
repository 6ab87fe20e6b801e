#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "automl/graph.h"
#include "automl/morphism.h"
#include "train/models/graph_model.h"

namespace assay::train {

/// The weights of one layer: float, on the CPU, contiguous; undefined if the layer has none or
/// needs fresh ones.
struct LayerTensors {
  torch::Tensor weight;  ///< conv [out, in, k, k], dense [out, in], batch norm [features]
  torch::Tensor bias;
  torch::Tensor mean;  ///< batch norm
  torch::Tensor variance;
};
/// Indexed by layer id. Kernel sizes may differ from the graph's (automl::with_kernel_size).
using GraphWeights = std::vector<LayerTensors>;

/// A copy of the model's weights.
[[nodiscard]] GraphWeights weights_of(GraphModelImpl& model);

/// Copies `weights` into the model. Further layers, and undefined ones, keep their values. A kernel
/// of another size is cut, or placed in the middle of zeros: a larger kernel then computes the
/// same. Throws Error of kind config at `where` if a layer's channels differ.
void load_weights(GraphModelImpl& model, const GraphWeights& weights, const std::string& where);

/// The weights of the child made from `parent` by `operations`, so that it computes the same as the
/// parent; layers with free weights are undefined.
struct Inherited {
  automl::Graph graph;
  GraphWeights weights;
};
[[nodiscard]] Inherited inherit(const automl::Graph& parent, const GraphWeights& weights,
                                std::span<const automl::Operation> operations);

/// The number of defined tensors, and of those in a graph's weights.
[[nodiscard]] std::int64_t count_tensors(const GraphWeights& weights);
[[nodiscard]] std::int64_t count_tensors(const automl::Graph& graph);
/// SHA-256 of the tensors as stored in a file: models with the same hash have the same weights.
[[nodiscard]] std::string weights_sha256(const automl::Graph& graph, const GraphWeights& weights);

/// A file: a line "assay-weights 1", a line of JSON (the graph's hash, name and shape of every
/// tensor, SHA-256 of the rest), then the tensors as little-endian floats. `graph` is the search's,
/// before with_kernel_size and with_dropout.
[[nodiscard]] std::string encode_weights(const automl::Graph& graph, const GraphWeights& weights);

/// Throws Error of kind environment at `where` if the bytes are not such a file, or truncated or
/// damaged, of kind config if the weights belong to another graph.
[[nodiscard]] GraphWeights decode_weights(std::string_view bytes, const automl::Graph& graph,
                                          const std::string& where);

}  // namespace assay::train
