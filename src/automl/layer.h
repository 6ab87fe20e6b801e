#pragma once

#include <array>
#include <cstdint>

#include "core/enum_names.h"

namespace assay::automl {

enum class LayerKind : std::uint8_t {
  conv,
  batch_norm,
  relu,
  max_pool,
  global_avg_pool,
  dense,
  add,
  concat,
  dropout,
  flatten,
  softmax,
};

/// As in AIPerf's graph files.
constexpr auto enum_names(LayerKind) {
  using enum LayerKind;
  return std::to_array<EnumName<LayerKind>>({
      {conv, "StubConv2d"},
      {batch_norm, "StubBatchNormalization2d"},
      {relu, "StubReLU"},
      {max_pool, "StubPooling2d"},
      {global_avg_pool, "StubGlobalPooling2d"},
      {dense, "StubDense"},
      {add, "StubAdd"},
      {concat, "StubConcatenate"},
      {dropout, "StubDropout2d"},
      {flatten, "StubFlatten"},
      {softmax, "StubSoftmax"},
  });
}

/// A tensor without its batch dimension: height × width × channels, or a flat vector of `channels`.
struct Shape {
  int height = 1;
  int width = 1;
  int channels = 0;
  bool flat = false;

  [[nodiscard]] std::int64_t values() const noexcept {
    return std::int64_t{height} * width * channels;
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// One layer: it reads one node, or two (add, concat), and writes one. Nodes are tensors, named by
/// their index in the graph. Fields that a kind does not use keep their defaults.
struct Layer {
  LayerKind kind = LayerKind::relu;
  std::array<int, 2> inputs{-1, -1};  ///< the second is -1 except for add and concat
  int output = -1;
  int in = 0;       ///< channels or units read by conv and dense; features of batch_norm
  int out = 0;      ///< filters of conv, units of dense
  int kernel = 0;   ///< side of the window of conv and max_pool
  int stride = 1;   ///< of conv and max_pool
  int padding = 0;  ///< of conv and max_pool, on every side
  double rate = 0;  ///< of dropout

  [[nodiscard]] bool has_two_inputs() const noexcept {
    return kind == LayerKind::add || kind == LayerKind::concat;
  }
  friend bool operator==(const Layer&, const Layer&) = default;
};

[[nodiscard]] inline Layer conv_layer(int input, int output, int in, int filters, int kernel,
                                      int stride = 1) {
  return {LayerKind::conv, {input, -1}, output, in, filters, kernel, stride, kernel / 2, 0};
}
[[nodiscard]] inline Layer norm_layer(int input, int output, int features) {
  return {LayerKind::batch_norm, {input, -1}, output, features, 0, 0, 1, 0, 0};
}
[[nodiscard]] inline Layer dense_layer(int input, int output, int in, int units) {
  return {LayerKind::dense, {input, -1}, output, in, units, 0, 1, 0, 0};
}
[[nodiscard]] inline Layer pool_layer(int input, int output, int kernel, int stride, int padding) {
  return {LayerKind::max_pool, {input, -1}, output, 0, 0, kernel, stride, padding, 0};
}
/// relu, global_avg_pool, flatten, softmax.
[[nodiscard]] inline Layer plain_layer(LayerKind kind, int input, int output) {
  return {kind, {input, -1}, output, 0, 0, 0, 1, 0, 0};
}
/// add, concat.
[[nodiscard]] inline Layer merge_layer(LayerKind kind, int first, int second, int output) {
  return {kind, {first, second}, output, 0, 0, 0, 1, 0, 0};
}

}  // namespace assay::automl
