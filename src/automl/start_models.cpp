#include "automl/start_models.h"

#include <array>
#include <utility>
#include <vector>

namespace assay::automl {

namespace {

// Appends layers in id order; node n + 1 is written by layer n.
class Builder {
 public:
  int conv(int from, int in, int filters, int kernel, int stride) {
    return put(conv_layer(from, next(), in, filters, kernel, stride));
  }
  int norm(int from, int features) { return put(norm_layer(from, next(), features)); }
  int relu(int from) { return put(plain_layer(LayerKind::relu, from, next())); }
  int add(int a, int b) { return put(merge_layer(LayerKind::add, a, b, next())); }
  int conv_norm_relu(int from, int in, int filters, int kernel, int stride) {
    return relu(norm(conv(from, in, filters, kernel, stride), filters));
  }
  /// The last convolution of a block, its shortcut, and the ReLU after their sum.
  int close_block(int body, int body_in, int shortcut, int in, int filters, int kernel, int stride,
                  bool project) {
    const int last = conv(body, body_in, filters, kernel, 1);
    if (!project) return relu(add(norm(last, filters), shortcut));
    const int projected = conv(shortcut, in, filters, 1, stride);
    const int normed = norm(last, filters);
    return relu(add(normed, norm(projected, filters)));
  }
  Graph finish(int from, int features, int classes, Shape input) {
    const int pooled = put(plain_layer(LayerKind::global_avg_pool, from, next()));
    put(dense_layer(pooled, next(), features, classes));
    return {input, std::move(layers_)};
  }
  int put(const Layer& layer) {
    layers_.push_back(layer);
    return layer.output;
  }
  [[nodiscard]] int next() const { return static_cast<int>(layers_.size()) + 1; }

 private:
  std::vector<Layer> layers_;
};

}  // namespace

Graph resnet50() {
  Builder b;
  int at = b.conv_norm_relu(0, 3, 64, 7, 2);
  at = b.put(pool_layer(at, b.next(), 3, 2, 0));
  int channels = 64;
  constexpr std::array blocks{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      int body = b.conv_norm_relu(at, channels, width, 1, stride);
      body = b.conv_norm_relu(body, width, width, 3, 1);
      at = b.close_block(body, width, at, channels, 4 * width, 1, stride, block == 0);
      channels = 4 * width;
    }
  }
  return b.finish(at, channels, 1000, {224, 224, 3, false});
}

Graph basic_resnet(Shape input, int stages, int blocks, int filters, int classes) {
  Builder b;
  int at = b.conv_norm_relu(0, input.channels, filters, 3, 1);
  int channels = filters;
  for (int stage = 0; stage < stages; ++stage) {
    const int width = filters << stage;
    for (int block = 0; block < blocks; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      const int body = b.conv_norm_relu(at, channels, width, 3, stride);
      at = b.close_block(body, width, at, channels, width, 3, stride, channels != width);
      channels = width;
    }
  }
  return b.finish(at, channels, classes, input);
}

Graph resnet20(int classes) {
  return basic_resnet({32, 32, 3, false}, 3, 3, 16, classes);
}

}  // namespace assay::automl
