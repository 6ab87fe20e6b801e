#include <gtest/gtest.h>

#include "train/models/flops.h"

namespace assay::train {
namespace {

// Runs a convolution's loops and counts every multiply-add.
double count_convolution(int size, int from, int to, int kernel, int stride) {
  const int padding = kernel / 2;
  double count = 0;
  for (int y = -padding; y + kernel <= size + padding; y += stride)
    for (int x = -padding; x + kernel <= size + padding; x += stride)
      for (int out = 0; out < to; ++out)
        for (int in = 0; in < from; ++in)
          for (int ky = 0; ky < kernel; ++ky)
            for (int kx = 0; kx < kernel; ++kx) count += 1;
  return count;
}

TEST(FlopsTest, OfAConvolutionalNetworkEqualTheLoops) {
  ResNetOptions options;
  options.blocks = {1, 1};
  options.widths = {4, 6};
  options.small_images = true;
  options.classes = 10;
  double macs = count_convolution(9, 3, 4, 3, 1);
  const double first = macs;
  macs += count_convolution(9, 4, 4, 3, 1) * 2;
  macs += count_convolution(9, 4, 6, 3, 2) + count_convolution(5, 6, 6, 3, 1);
  macs += 6 * 10;
  const ModelFlops flops = resnet_flops(options, 9, 9);
  EXPECT_DOUBLE_EQ(flops.forward(), 2 * macs);
  // No gradient is needed for the images.
  EXPECT_DOUBLE_EQ(flops.backward(), 4 * macs - 2 * first);
  EXPECT_DOUBLE_EQ(flops.training(), flops.forward() + flops.backward());
}

TEST(FlopsTest, OfABottleneckWithDownsamplingEqualTheLoops) {
  ResNetOptions options;
  options.blocks = {1};
  options.widths = {2};
  options.bottleneck = true;
  options.classes = 3;
  // 17 → 9 (stem) → 5 (pooling).
  double macs = count_convolution(17, 3, 2, 7, 2);
  macs += count_convolution(5, 2, 8, 1, 1);  // downsample
  macs += count_convolution(5, 2, 2, 1, 1) + count_convolution(5, 2, 2, 3, 1);
  macs += count_convolution(5, 2, 8, 1, 1) + 8 * 3;
  EXPECT_DOUBLE_EQ(resnet_flops(options, 17, 17).forward(), 2 * macs);
}

TEST(FlopsTest, OfKnownNetworksAreThePublishedOnes) {
  const auto gigamacs = [](int depth) {
    return resnet_flops(ResNetOptions::imagenet(depth), 224, 224).forward() / 2e9;
  };
  EXPECT_NEAR(gigamacs(18), 1.814, 0.001);
  EXPECT_NEAR(gigamacs(34), 3.664, 0.001);
  EXPECT_NEAR(gigamacs(50), 4.089, 0.001);
  EXPECT_NEAR(gigamacs(101), 7.801, 0.001);
  EXPECT_NEAR(gigamacs(152), 11.514, 0.001);
  EXPECT_NEAR(resnet_flops(ResNetOptions::cifar(20), 32, 32).forward() / 2e6, 40.55, 0.01);
}

TEST(FlopsTest, OfATransformerEqualTheLoops) {
  BertOptions options;
  options.layers = 2;
  options.width = 6;
  options.heads = 2;
  options.inner = 10;
  options.vocabulary = 11;
  const int length = 4;
  const int predictions = 2;
  double macs = 0;
  for (int layer = 0; layer < 2; ++layer) {
    for (int token = 0; token < length; ++token) {
      macs += 3 * 6 * 6;  // q, k, v
      for (int head = 0; head < 2; ++head)
        for (int other = 0; other < length; ++other)
          for (int i = 0; i < 3; ++i) macs += 2;  // score and weighted value
      macs += 6 * 6 + 2 * 6 * 10;
    }
  }
  macs += 6 * 6 + 2 * 6;                   // pooler and next sentence
  macs += predictions * (6 * 6 + 6 * 11);  // transform and decoder
  const ModelFlops flops = bert_flops(options, length, predictions);
  EXPECT_DOUBLE_EQ(flops.forward(), 2 * macs);
  EXPECT_DOUBLE_EQ(flops.backward(), 4 * macs);
}

// 6 FLOPs per parameter and token, plus attention, is the customary estimate for BERT-large.
TEST(FlopsTest, OfBertLargeAgreeWithTheRuleOfThumb) {
  const double parameters = 24.0 * (12 * 1024 * 1024);
  const double estimate = 6 * 512 * parameters + 24.0 * 12 * 512 * 512 * 1024;
  const double head = 3 * 2 * 77.0 * (30522 * 1024 + 1024 * 1024);
  const double counted = bert_flops(BertOptions::named("large"), 512, 77).training();
  EXPECT_NEAR(counted, estimate + head, 0.001 * counted);
}

}  // namespace
}  // namespace assay::train
