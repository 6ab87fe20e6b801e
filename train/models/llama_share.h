#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/models/exchange.h"
#include "train/models/llama_options.h"

namespace assay::train {

/// The part of a model on one rank: some of its blocks, some rows or columns of each matrix, and
/// some of a mixture's experts. The default is the whole model.
struct LlamaShare {
  std::int64_t first_layer = 0;
  std::int64_t layers = -1;    ///< -1: all
  Exchange* tensor = nullptr;  ///< the ranks that share every matrix; nullptr: none
  Exchange* expert = nullptr;  ///< the ranks that share the experts; nullptr: none

  [[nodiscard]] std::int64_t tensor_size() const { return tensor == nullptr ? 1 : tensor->size(); }
  [[nodiscard]] std::int64_t tensor_rank() const { return tensor == nullptr ? 0 : tensor->rank(); }
  [[nodiscard]] std::int64_t end_layer(const LlamaOptions& model) const {
    return layers < 0 ? model.layers : first_layer + layers;
  }
  /// Whether it has the first blocks, preceded by the embedding.
  [[nodiscard]] bool first() const { return first_layer == 0; }
  /// Whether it has the last blocks, followed by the output.
  [[nodiscard]] bool last(const LlamaOptions& model) const {
    return end_layer(model) == model.layers;
  }
  [[nodiscard]] bool has_expert(const LlamaOptions& model, std::int64_t index) const;
};

/// A rank's part of a parameter of the whole model: consecutive ranges along one dimension.
struct ParameterCut {
  std::string name;                 ///< in the whole model
  std::vector<std::int64_t> shape;  ///< of the whole parameter
  std::int64_t dimension = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< begin and size; none: all of it
  /// This rank's part counts; another rank's equal part does not.
  bool counts = true;
  bool expert = false;  ///< not present on all ranks with other data
  /// Whether each rank of `tensor` has all of it, and part of its gradient, to be summed.
  [[nodiscard]] bool replicated() const { return ranges.empty(); }
};

/// A copy of that part of `whole`.
[[nodiscard]] torch::Tensor cut_from(const torch::Tensor& whole, const ParameterCut& cut);
/// Writes the part to its place in `whole`.
void put_into(const torch::Tensor& whole, const torch::Tensor& part, const ParameterCut& cut);

/// The whole model's parameters with names and shapes, in creation order, each with the part in
/// `share`; parameters without a part are left out.
[[nodiscard]] std::vector<ParameterCut> cuts_of(const LlamaOptions& model, const LlamaShare& share);

}  // namespace assay::train
