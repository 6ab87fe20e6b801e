#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/models/llama_options.h"

namespace assay::train {

/// How devices share a model: data × tensor × pipeline devices. Tensor parallelism includes
/// sequence parallelism: what is not split by columns is split by tokens. A mixture's experts are
/// divided among `expert` of the `data` devices, which otherwise have the same parameters.
struct Mesh {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  /// ZeRO stage; `data` devices keep only a share of: 1 optimizer, 2 gradients, 3 weights.
  int zero = 0;
  std::int64_t expert = 1;

  [[nodiscard]] std::int64_t devices() const noexcept { return data * tensor * pipeline; }
  /// Devices that together have the model once, except for its experts.
  [[nodiscard]] std::int64_t replica() const noexcept { return tensor * pipeline; }
  /// "data 8 (ZeRO 3), tensor 4, pipeline 2", plus ", expert 4" unless that is 1.
  [[nodiscard]] std::string text() const;
  bool operator==(const Mesh&) const = default;
};

/// A rank's place in a mesh. Ranks that share matrices are consecutive, because they exchange most;
/// then come those with other data, then the stages.
struct MeshPlace {
  std::int64_t data = 0;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;

  /// The index of its share of experts, 0 … mesh.expert - 1: neighbors in `data`.
  [[nodiscard]] std::int64_t expert(const Mesh& mesh) const noexcept { return data % mesh.expert; }
  bool operator==(const MeshPlace&) const = default;
};
[[nodiscard]] MeshPlace place_in(const Mesh& mesh, std::int64_t rank) noexcept;

/// Parses "data=8,tensor=4,pipeline=2,expert=4,zero=3", in any order; missing values are 1, except
/// that data is the remainder of `devices` and zero is 0. Throws Error of kind usage.
[[nodiscard]] Mesh parse_mesh(const std::string& text, std::int64_t devices);

/// Throws Error of kind config, with valid alternatives, if the mesh does not match the number of
/// devices or divide the model: heads, keys and values, inner and vocabulary by tensor, layers by
/// pipeline, experts and data by expert.
void require_mesh(const Mesh& mesh, const LlamaOptions& model, std::int64_t devices);
/// The same for the training data: a sequence's tokens by tensor.
void require_sequence(const Mesh& mesh, std::int64_t sequence);

}  // namespace assay::train
