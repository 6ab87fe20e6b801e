#pragma once

#include <vector>

#include "train/models/fork.h"

namespace assay::train {

/// A residual network. `imagenet(depth)` is ResNet v1.5 (He et al. 2015, with a bottleneck's stride
/// on its 3×3 convolution, as in torchvision); `cifar(depth)` is the paper's 6n+2 network for 32×32
/// images with parameter-free shortcuts (option A: every second pixel, with zeros in new channels).
struct ResNetOptions {
  std::vector<int> blocks;  ///< per stage
  std::vector<std::int64_t> widths;
  bool bottleneck = false;
  bool small_images = false;  ///< 3×3 stem without pooling, option A shortcuts
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  ///< of the input images
  /// Starts every residual branch at zero (the last norm's weight), which helps large batches.
  bool zero_init_residual = false;

  /// depth is 18, 34, 50, 101 or 152.
  [[nodiscard]] static ResNetOptions imagenet(int depth, std::int64_t classes = 1000);
  /// depth is 6n+2: 20, 32, 44, 56, 110.
  [[nodiscard]] static ResNetOptions cifar(int depth, std::int64_t classes = 10);
};

class ResidualBlockImpl : public torch::nn::Module {
 public:
  ResidualBlockImpl(const ResNetOptions& options, std::int64_t in, std::int64_t width,
                    std::int64_t stride);
  [[nodiscard]] Fork forward(const Fork& x);
  /// The last norm of the residual branch.
  [[nodiscard]] torch::nn::BatchNorm2d& last_norm() { return bn3_.is_empty() ? bn2_ : bn3_; }

 private:
  [[nodiscard]] torch::Tensor shortcut(const torch::Tensor& x);

  std::int64_t stride_;
  std::int64_t new_channels_ = 0;  // for option A
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::Conv2d conv3_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
  torch::nn::BatchNorm2d bn3_{nullptr};
  torch::nn::Conv2d downsample_conv_{nullptr};
  torch::nn::BatchNorm2d downsample_norm_{nullptr};
};
TORCH_MODULE(ResidualBlock);

/// Parameters and buffers have torchvision's names ("layer1.0.conv1.weight").
class ResNetImpl : public torch::nn::Module {
 public:
  explicit ResNetImpl(const ResNetOptions& options);

  /// x is [N, channels, H, W], normalized; returns logits [N, classes].
  [[nodiscard]] torch::Tensor forward(torch::Tensor x);
  [[nodiscard]] const ResNetOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] torch::Tensor stem(const torch::Tensor& x);

  ResNetOptions options_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<ResidualBlock> stages_;  // all blocks, in order
  torch::nn::Linear fc_{nullptr};
};
TORCH_MODULE(ResNet);

}  // namespace assay::train
