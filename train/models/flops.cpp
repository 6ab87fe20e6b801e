#include "train/models/flops.h"

namespace assay::train {
namespace {

class Counter {
 public:
  // m × k times k × n.
  void product(std::string name, double m, double n, double k) {
    const double forward = 2 * m * n * k;
    flops_.layers.push_back({std::move(name), forward, 2 * forward});
  }

  // Computes the output's extent.
  struct Extent {
    std::int64_t height;
    std::int64_t width;
  };
  Extent convolution(std::string name, Extent in, std::int64_t from, std::int64_t to,
                     std::int64_t kernel, std::int64_t stride, bool first = false) {
    const Extent out{size(in.height, kernel, stride), size(in.width, kernel, stride)};
    const double forward = 2.0 * static_cast<double>(out.height * out.width) *
                           static_cast<double>(kernel * kernel * from) * static_cast<double>(to);
    flops_.layers.push_back({std::move(name), forward, first ? forward : 2 * forward});
    return out;
  }

  [[nodiscard]] static std::int64_t size(std::int64_t in, std::int64_t kernel,
                                         std::int64_t stride) {
    return (in + 2 * (kernel / 2) - kernel) / stride + 1;
  }

  [[nodiscard]] ModelFlops take() && { return std::move(flops_); }

 private:
  ModelFlops flops_;
};

}  // namespace

double ModelFlops::forward() const {
  double sum = 0;
  for (const LayerFlops& layer : layers) sum += layer.forward;
  return sum;
}

double ModelFlops::backward() const {
  double sum = 0;
  for (const LayerFlops& layer : layers) sum += layer.backward;
  return sum;
}

ModelFlops resnet_flops(const ResNetOptions& options, std::int64_t height, std::int64_t width) {
  Counter count;
  const std::int64_t stem = options.widths.at(0);
  Counter::Extent at{height, width};
  if (options.small_images) {
    at = count.convolution("conv1", at, options.channels, stem, 3, 1, true);
  } else {
    at = count.convolution("conv1", at, options.channels, stem, 7, 2, true);
    at = {Counter::size(at.height, 3, 2), Counter::size(at.width, 3, 2)};
  }
  std::int64_t in = stem;
  for (std::size_t stage = 0; stage < options.blocks.size(); ++stage)
    for (int i = 0; i < options.blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i) + ".";
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      const std::int64_t middle = options.widths[stage];
      const std::int64_t out = options.bottleneck ? 4 * middle : middle;
      if ((stride != 1 || in != out) && !options.small_images)
        static_cast<void>(count.convolution(name + "downsample", at, in, out, 1, stride));
      if (options.bottleneck) {
        at = count.convolution(name + "conv1", at, in, middle, 1, 1);
        at = count.convolution(name + "conv2", at, middle, middle, 3, stride);
        at = count.convolution(name + "conv3", at, middle, out, 1, 1);
      } else {
        at = count.convolution(name + "conv1", at, in, middle, 3, stride);
        at = count.convolution(name + "conv2", at, middle, middle, 3, 1);
      }
      in = out;
    }
  count.product("fc", 1, static_cast<double>(options.classes), static_cast<double>(in));
  return std::move(count).take();
}

ModelFlops bert_flops(const BertOptions& options, std::int64_t length, double predictions) {
  Counter count;
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(options.width);
  const auto inner = static_cast<double>(options.inner);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".";
    count.product(name + "qkv", tokens, 3 * width, width);
    count.product(name + "scores", tokens, tokens, width);  // all heads together
    count.product(name + "values", tokens, width, tokens);
    count.product(name + "out", tokens, width, width);
    count.product(name + "up", tokens, inner, width);
    count.product(name + "down", tokens, width, inner);
  }
  count.product("pooler", 1, width, width);
  count.product("next", 1, 2, width);
  count.product("transform", predictions, width, width);
  count.product("decoder", predictions, static_cast<double>(options.vocabulary), width);
  return std::move(count).take();
}

}  // namespace assay::train
