#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/models/llama_options.h"

namespace assay::train {

/// How devices share a model: data × tensor × pipeline of them. Tensor parallel includes sequence
/// parallel: what is not split by columns is split by tokens. The experts of a mixture are shared
/// out over `expert` of the `data` devices that otherwise have the same.
struct Mesh {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  /// Of what the `data` devices keep only a share: 1 optimizer, 2 gradients, 3 weights.
  int zero = 0;
  std::int64_t expert = 1;

  [[nodiscard]] std::int64_t devices() const noexcept { return data * tensor * pipeline; }
  /// Devices that together have the model once, with everything but its experts.
  [[nodiscard]] std::int64_t replica() const noexcept { return tensor * pipeline; }
  /// "data 8 (ZeRO 3), tensor 4, pipeline 2", and ", expert 4" where that is not 1.
  [[nodiscard]] std::string text() const;
  bool operator==(const Mesh&) const = default;
};

/// Where a rank is in a mesh. Ranks that share matrices follow each other, because they exchange
/// most, then those that have other data, then the stages.
struct MeshPlace {
  std::int64_t data = 0;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;

  /// Of the experts' share, 0 … mesh.expert - 1: neighbours in `data`.
  [[nodiscard]] std::int64_t expert(const Mesh& mesh) const noexcept { return data % mesh.expert; }
  bool operator==(const MeshPlace&) const = default;
};
[[nodiscard]] MeshPlace place_in(const Mesh& mesh, std::int64_t rank) noexcept;

/// "data=8,tensor=4,pipeline=2,expert=4,zero=3", in any order; what is not given is 1, data what is
/// left of `devices`, and zero 0. Throws Error of kind usage.
[[nodiscard]] Mesh parse_mesh(const std::string& text, std::int64_t devices);

/// Throws Error of kind config, with what would do, for a mesh that does not fit the number of
/// devices or does not divide the model: heads, keys and values, inner and vocabulary by tensor,
/// layers by pipeline, experts and data by expert.
void require_mesh(const Mesh& mesh, const LlamaOptions& model, std::int64_t devices);
/// The same for what is trained at a time: tokens of a sequence by tensor.
void require_sequence(const Mesh& mesh, std::int64_t sequence);

}  // namespace assay::train
