#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "automl/graph.h"
#include "automl/seeded_random.h"

namespace assay::automl {

/// One network morphism at one place. Applying it is deterministic, so a chain of operations is all
/// that has to be kept of a child.
struct Operation {
  enum class Kind : std::uint8_t {
    deeper,       ///< convolution 3×3, batch norm and ReLU after the ReLU `layer`
    wider,        ///< `other` more channels for the conv or dense `layer`
    add_skip,     ///< from ReLU `layer` through 1×1 convolution and batch norm to the batch norm
                  ///< `other`
    concat_skip,  ///< from ReLU `layer`, joined to the output of the ReLU `other`
  };
  Kind kind = Kind::deeper;
  int layer = 0;
  int other = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};

[[nodiscard]] Json to_json(const Operation& operation);
/// Throws Error of kind config at `where`.
[[nodiscard]] Operation operation_from_json(const Json& json, const std::string& where);

/// The source of the weights of a child's layer, so that the child computes what its parent does.
struct WeightSource {
  enum class Kind : std::uint8_t {
    copy,           ///< from the parent's layer of the same id, through the maps below
    fresh,          ///< as the trainer initializes a new layer
    identity,       ///< conv: passes input channel i to output i, no bias; further inputs weigh 0
    norm_identity,  ///< batch norm: mean 0, variance 1, shift 0, scale √(1+ε)
    norm_zero,  ///< batch norm: mean 0, variance 1, shift 0, scale 0: the path is silent at first
  };
  Kind kind = Kind::copy;
  /// For copy: the parent's index of each of the child's output channels (batch norm: features);
  /// empty when they are the same.
  std::vector<int> outputs;
  /// For copy: the parent's index of each of the child's input channels, and what to multiply the
  /// weight by (1 / number of copies of that channel); both empty when they are the same.
  std::vector<int> inputs;
  std::vector<double> input_scale;
};

/// One source per layer of the child. Layers without weights have an entry that means nothing.
using WeightTransfer = std::vector<WeightSource>;

/// What a child may not exceed.
struct Limits {
  std::int64_t parameters = std::int64_t{1} << 30;
  std::int64_t forward_operations = INT64_MAX;  ///< exact_operations, one sample
  std::int64_t activations = INT64_MAX;         ///< Graph::activations, one sample
  int layers = 1000;

  static void fields(auto& self, auto&& field) {
    field("parameters", self.parameters);
    field("operations", self.forward_operations);
    field("activations", self.activations);
    field("layers", self.layers);
  }
};
[[nodiscard]] bool within(const Graph& graph, const Limits& limits);

/// Chances of the kinds, and of the amounts by which `wider` widens. Need not add up to 1.
struct MorphismChances {
  double deeper = 1.0 / 3;
  double wider = 1.0 / 3;
  double add_skip = 1.0 / 6;
  double concat_skip = 1.0 / 6;
  double wider_double = 0.5;  ///< a widening doubles; otherwise it adds one half
};

/// Every place where `kind` is legal. For `wider`, `other` is the present number of channels.
///
/// deeper: the ReLUs of the main chain before global pooling. wider: convolutions of the main chain
/// but for its last, and dense layers but for its last, where no channel of the network's input or
/// output would have to change. Skips: of the main chain's layers before global pooling, without
/// adds and concats and without the last one, from a ReLU that has at least four before it to a
/// later batch norm (add) or ReLU (concat), where a 1×1 convolution with a stride of a power of two
/// gives the size that is needed.
[[nodiscard]] std::vector<Operation> places(const Graph& graph, Operation::Kind kind);

/// The child; its layers and nodes keep the parent's ids, new ones follow. Throws Error of kind
/// config when the place is not legal.
[[nodiscard]] Graph apply(const Graph& graph, const Operation& operation);

/// The child's weights from its parent's. Same errors.
[[nodiscard]] WeightTransfer transfer(const Graph& graph, const Operation& operation);

/// A uniformly chosen place of a kind chosen by `chances`; nothing when that kind has no place or
/// the child would exceed the limits.
struct Child {
  Graph graph;
  Operation operation;
};
[[nodiscard]] std::optional<Child> random_child(const Graph& graph, const MorphismChances& chances,
                                                const Limits& limits, Random& random);

}  // namespace assay::automl
