#include "train/models/resnet.h"

#include "core/error.h"
#include "train/models/convolution.h"
#include "train/models/dense.h"
#include "train/models/norm_act.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_stem.h"
#endif

namespace assay::train {
namespace {

constexpr std::int64_t kBottleneckExpansion = 4;

torch::nn::Conv2d make_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                                   std::int64_t stride) {
  torch::nn::Conv2d conv(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
  return conv;
}

torch::Tensor convolved(const torch::nn::Conv2d& conv, const torch::Tensor& x) {
  const torch::Tensor& weight = conv->weight;
  return convolution(x, weight, {}, conv->options.stride()->front(), weight.size(2) / 2);
}

}  // namespace

ResNetOptions ResNetOptions::imagenet(int depth, std::int64_t classes) {
  ResNetOptions options;
  options.widths = {64, 128, 256, 512};
  options.classes = classes;
  options.bottleneck = depth >= 50;
  switch (depth) {
    case 18:
      options.blocks = {2, 2, 2, 2};
      break;
    case 34:
      options.blocks = {3, 4, 6, 3};
      break;
    case 50:
      options.blocks = {3, 4, 6, 3};
      break;
    case 101:
      options.blocks = {3, 4, 23, 3};
      break;
    case 152:
      options.blocks = {3, 8, 36, 3};
      break;
    default:
      throw Error(ErrorKind::config, "there is no ResNet of depth " + std::to_string(depth), {},
                  "known depths: 18, 34, 50, 101, 152");
  }
  return options;
}

ResNetOptions ResNetOptions::cifar(int depth, std::int64_t classes) {
  if (depth < 8 || (depth - 2) % 6 != 0)
    throw Error(ErrorKind::config,
                "a ResNet for 32×32 images has a depth of 6n+2, not " + std::to_string(depth));
  ResNetOptions options;
  options.blocks.assign(3, (depth - 2) / 6);
  options.widths = {16, 32, 64};
  options.classes = classes;
  options.small_images = true;
  return options;
}

ResidualBlockImpl::ResidualBlockImpl(const ResNetOptions& options, std::int64_t in,
                                     std::int64_t width, std::int64_t stride)
    : stride_(stride) {
  std::int64_t out = width;
  if (options.bottleneck) {
    out = width * kBottleneckExpansion;
    conv1_ = register_module("conv1", make_convolution(in, width, 1, 1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", make_convolution(width, width, 3, stride));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
    conv3_ = register_module("conv3", make_convolution(width, out, 1, 1));
    bn3_ = register_module("bn3", torch::nn::BatchNorm2d(out));
  } else {
    conv1_ = register_module("conv1", make_convolution(in, width, 3, stride));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", make_convolution(width, width, 3, 1));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
  }
  if (stride == 1 && in == out) return;
  if (options.small_images) {
    new_channels_ = out - in;
    return;
  }
  downsample_conv_ = make_convolution(in, out, 1, stride);
  downsample_norm_ = torch::nn::BatchNorm2d(out);
  register_module("downsample", torch::nn::Sequential(downsample_conv_, downsample_norm_));
}

torch::Tensor ResidualBlockImpl::shortcut(const torch::Tensor& x) {
  if (!downsample_conv_.is_empty())
    return norm_act(*downsample_norm_, convolved(downsample_conv_, x), {}, false);
  if (new_channels_ == 0) return x;
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  const torch::Tensor sparse = x.slice(2, 0, kAll, stride_).slice(3, 0, kAll, stride_);
  const std::int64_t before = new_channels_ / 2;
  return torch::constant_pad_nd(sparse, {0, 0, 0, 0, before, new_channels_ - before});
}

Fork ResidualBlockImpl::forward(const Fork& x) {
  torch::Tensor y = norm_act(*bn1_, convolved(conv1_, x.main));
  if (bn3_.is_empty()) return norm_act_fork(*bn2_, convolved(conv2_, y), shortcut(x.skip));
  y = norm_act(*bn2_, convolved(conv2_, y));
  return norm_act_fork(*bn3_, convolved(conv3_, y), shortcut(x.skip));
}

ResNetImpl::ResNetImpl(const ResNetOptions& options) : options_(options) {
  const std::int64_t stem = options.widths.at(0);
  conv1_ = register_module("conv1", options.small_images
                                        ? make_convolution(options.channels, stem, 3, 1)
                                        : make_convolution(options.channels, stem, 7, 2));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(stem));
  const std::int64_t expansion = options.bottleneck ? kBottleneckExpansion : 1;
  std::int64_t in = stem;
  for (std::size_t stage = 0; stage < options.blocks.size(); ++stage) {
    torch::nn::Sequential layer;
    for (int i = 0; i < options.blocks[stage]; ++i) {
      ResidualBlock block(options, in, options.widths[stage], stage > 0 && i == 0 ? 2 : 1);
      if (options.zero_init_residual) torch::nn::init::zeros_(block->last_norm()->weight);
      layer->push_back(block);
      stages_.push_back(block);
      in = options.widths[stage] * expansion;
    }
    register_module("layer" + std::to_string(stage + 1), layer);
  }
  fc_ = register_module("fc", torch::nn::Linear(in, options.classes));
}

torch::Tensor ResNetImpl::stem(const torch::Tensor& x) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (is_training() && cuda_stem_fits(*conv1_, x)) return cuda_stem(*conv1_, x);
#endif
  return convolved(conv1_, x);
}

torch::Tensor ResNetImpl::forward(torch::Tensor x) {
  x = stem(x);
  Fork y = options_.small_images ? norm_act_fork(*bn1_, x) : Fork(norm_act_pool(*bn1_, x));
  for (ResidualBlock& block : stages_) y = block->forward(y);
  x = torch::adaptive_avg_pool2d(y.main, {1, 1}).flatten(1);
  return linear(x, fc_->weight, fc_->bias);
}

}  // namespace assay::train
