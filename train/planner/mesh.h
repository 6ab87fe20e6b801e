#pragma once

#include <cstdint>
#include <string>

#include "train/models/llama_options.h"

namespace assay::train::planner {

/// How devices share a model: data × tensor × pipeline of them. Tensor parallel includes sequence
/// parallel: what is not split by columns is split by tokens.
struct Mesh {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  int zero =
      0;  ///< of what the `data` devices keep only a share: 1 optimizer, 2 gradients, 3 weights

  [[nodiscard]] std::int64_t devices() const noexcept { return data * tensor * pipeline; }
  /// "data 8 (ZeRO 3), tensor 4, pipeline 2"
  [[nodiscard]] std::string text() const;
  bool operator==(const Mesh&) const = default;
};

/// "data=8,tensor=4,pipeline=2,zero=3", in any order; what is not given is 1, data what is left of
/// `devices`, and zero 0. Throws Error of kind usage.
[[nodiscard]] Mesh parse_mesh(const std::string& text, std::int64_t devices);

/// Throws Error of kind config, with what would do, for a mesh that does not fit the number of
/// devices or does not divide the model: heads, keys and values, inner and vocabulary by tensor,
/// layers by pipeline.
void require_mesh(const Mesh& mesh, const LlamaOptions& model, std::int64_t devices);

}  // namespace assay::train::planner
