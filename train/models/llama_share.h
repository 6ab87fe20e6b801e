#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/models/exchange.h"
#include "train/models/llama_options.h"

namespace assay::train {

/// The part of a model that one rank has: some of its blocks, of each matrix some rows or columns,
/// of a mixture some of the experts. Without arguments all of it.
struct LlamaShare {
  std::int64_t first_layer = 0;
  std::int64_t layers = -1;    ///< -1: all
  Exchange* tensor = nullptr;  ///< the ranks that share every matrix; nullptr: none do
  Exchange* expert = nullptr;  ///< the ranks that share the experts; nullptr: none do

  [[nodiscard]] std::int64_t tensor_size() const { return tensor == nullptr ? 1 : tensor->size(); }
  [[nodiscard]] std::int64_t tensor_rank() const { return tensor == nullptr ? 0 : tensor->rank(); }
  [[nodiscard]] std::int64_t end_layer(const LlamaOptions& model) const {
    return layers < 0 ? model.layers : first_layer + layers;
  }
  /// The first blocks, and the embedding before them.
  [[nodiscard]] bool first() const { return first_layer == 0; }
  /// The last blocks, and the output after them.
  [[nodiscard]] bool last(const LlamaOptions& model) const {
    return end_layer(model) == model.layers;
  }
  [[nodiscard]] bool has_expert(const LlamaOptions& model, std::int64_t index) const;
};

/// Which part of a parameter of the whole model a rank has: ranges along one dimension, one after
/// another.
struct ParameterCut {
  std::string name;                 ///< as of the whole model
  std::vector<std::int64_t> shape;  ///< of the whole
  std::int64_t dimension = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< begin and size; none: all of it
  /// This rank's is the one that counts; another rank that has the same part does not.
  bool counts = true;
  bool expert = false;  ///< not all of the ranks with other data have it
  /// Every rank of `tensor` has all of it, and of its gradient a part that is to be summed.
  [[nodiscard]] bool replicated() const { return ranges.empty(); }
};

/// That part of `whole`, copied.
[[nodiscard]] torch::Tensor cut_from(const torch::Tensor& whole, const ParameterCut& cut);
/// Writes the part to where it belongs.
void put_into(const torch::Tensor& whole, const torch::Tensor& part, const ParameterCut& cut);

/// The parameters of the whole model with its names and shapes, in the order in which it makes
/// them, each with the part that `share` has; those that it has nothing of are left out.
[[nodiscard]] std::vector<ParameterCut> cuts_of(const LlamaOptions& model, const LlamaShare& share);

}  // namespace assay::train
