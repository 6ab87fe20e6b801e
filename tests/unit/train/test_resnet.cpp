#include <gtest/gtest.h>

#include "core/error.h"
#include "count_parameters.h"
#include "train/models/resnet.h"

namespace assay::train {
namespace {

TEST(ResNetTest, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::imagenet(18))), 11'689'512);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::imagenet(34))), 21'797'672);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::imagenet(50))), 25'557'032);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::imagenet(101))), 44'549'160);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::imagenet(152))), 60'192'808);
}

TEST(ResNetTest, ForSmallImagesHasThePublishedNumberOfParameters) {
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::cifar(20))), 269'722);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions::cifar(32))), 464'154);
}

TEST(ResNetTest, RefusesADepthThatDoesNotExist) {
  EXPECT_THROW(static_cast<void>(ResNetOptions::imagenet(51)), Error);
  EXPECT_THROW(static_cast<void>(ResNetOptions::cifar(21)), Error);
}

// Option A: every second pixel, zeros for the new channels. With all residual branches at zero,
// what the network computes is its stem, subsampled twice and padded.
TEST(ResNetTest, ShortcutsOfSmallNetworksHaveNoParametersAndSubsample) {
  torch::manual_seed(1);
  ResNetOptions options = ResNetOptions::cifar(8);
  options.zero_init_residual = true;
  ResNet model(options);
  model->eval();
  const torch::Tensor x = torch::randn({2, 3, 32, 32});
  const auto named = model->named_parameters();
  // Running statistics are 0 and 1 at the start, so the norm divides by sqrt(1 + 1e-5).
  torch::Tensor stem = torch::conv2d(x, named["conv1.weight"], {}, 1, 1) / std::sqrt(1 + 1e-5);
  stem = torch::relu(stem);
  torch::Tensor features = torch::zeros({2, 64, 8, 8});
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      features.slice(1, 24, 40).select(2, row).select(2, column).copy_(
          stem.select(2, 4 * row).select(2, 4 * column));
  const torch::Tensor expected =
      torch::matmul(features.mean({2, 3}), named["fc.weight"].t()) + named["fc.bias"];
  EXPECT_TRUE(torch::allclose(model->forward(x), expected, 1e-4, 1e-5));
}

TEST(ResNetTest, TakesAnyImageSizeAndNumberOfClasses) {
  ResNetOptions options = ResNetOptions::imagenet(18, 7);
  ResNet model(options);
  model->eval();
  EXPECT_EQ(model->forward(torch::zeros({2, 3, 96, 64})).sizes(),
            (std::vector<std::int64_t>{2, 7}));
}

}  // namespace
}  // namespace assay::train
