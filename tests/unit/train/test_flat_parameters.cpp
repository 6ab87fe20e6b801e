#include <gtest/gtest.h>

#include "train/models/resnet.h"
#include "train/optim/flat_parameters.h"
#include "train/optim/gradients.h"

namespace assay::train {
namespace {

TEST(FlatParametersTest, KeepsValuesAndGradientsOfTheModule) {
  for (const bool channels_last : {false, true}) {
    torch::manual_seed(1);
    ResNet reference(ResNetOptions::cifar(8));
    torch::manual_seed(1);
    ResNet model(ResNetOptions::cifar(8));
    FlatParameters flat(*model, channels_last);
    const torch::Tensor x = torch::randn({4, 3, 32, 32});
    reference->forward(x).square().sum().backward();
    model->forward(x).square().sum().backward();
    flat.check_views();
    const auto expected = reference->named_parameters();
    for (const auto& item : model->named_parameters()) {
      EXPECT_TRUE(torch::equal(item.value(), expected[item.key()])) << item.key();
      EXPECT_TRUE(torch::allclose(item.value().grad(), expected[item.key()].grad(), 1e-3, 1e-3))
          << item.key();
    }
    EXPECT_NEAR(flat.gradients().square().sum().item<double>(),
                std::pow(gradient_norm(flat).item<double>(), 2),
                1e-4 * flat.gradients().square().sum().item<double>());
  }
}

TEST(FlatParametersTest, PutsNormsAndBiasesLastAndLateLayersFirst) {
  ResNet model(ResNetOptions::cifar(8));
  const FlatParameters flat(*model, false);
  EXPECT_EQ(flat.entries().front().name, "fc.weight");
  EXPECT_EQ(flat.entries().back().name, "bn1.weight");
  std::int64_t all = 0;
  for (const auto& entry : flat.entries()) {
    EXPECT_EQ(entry.decayed, entry.parameter.dim() > 1);
    EXPECT_EQ(entry.decayed, entry.offset < flat.decayed());
    EXPECT_EQ(entry.offset % 32, 0) << entry.name;
    all += entry.size;
  }
  EXPECT_EQ(flat.count(), all);
  EXPECT_GE(flat.size(), all);
}

TEST(FlatParametersTest, NoticesAGradientThatLeftItsBuffer) {
  torch::nn::Linear layer(3, 2);
  FlatParameters flat(*layer, false);
  layer->weight.mutable_grad() = torch::zeros({2, 3});
  EXPECT_ANY_THROW(flat.check_views());
}

TEST(FlatParametersTest, ZeroesAllGradientsButThoseThatAreOverwritten) {
  torch::nn::Sequential layers(torch::nn::Linear(5, 7), torch::nn::Linear(7, 3));
  FlatParameters flat(*layers, false);
  flat.expect_overwritten("0.weight");
  flat.gradients().fill_(1);
  flat.zero_gradients();
  for (const auto& item : layers->named_parameters())
    EXPECT_EQ(item.value().grad().abs().max().item<float>(), item.key() == "0.weight" ? 1 : 0)
        << item.key();
  EXPECT_EQ(flat.gradients().sum().item<float>(), 35);
  EXPECT_ANY_THROW(flat.expect_overwritten("2.weight"));
}

// 1.weight and 0.weight come first; what is not overwritten stays in float.
TEST(FlatParametersTest, RoundsTheGradientsThatAreOverwrittenAtItsBeginning) {
  torch::nn::Sequential layers(torch::nn::Linear(5, 7), torch::nn::Linear(7, 3));
  FlatParameters flat(*layers, false);
  flat.expect_overwritten("1.weight");
  flat.round_gradients(torch::kBFloat16);
  flat.check_views();
  for (const auto& item : layers->named_parameters())
    EXPECT_EQ(item.value().grad().scalar_type(),
              item.key() == "1.weight" ? torch::kBFloat16 : torch::kFloat)
        << item.key();
  ASSERT_EQ(flat.gradient_ranges().size(), 2U);
  EXPECT_EQ(flat.gradient_ranges()[1].begin, flat.entries()[1].offset);
  EXPECT_ANY_THROW(static_cast<void>(flat.gradients()));

  for (const FlatParameters::Entry& entry : flat.entries()) flat.gradient(entry).fill_(2);
  EXPECT_DOUBLE_EQ(gradient_norm(flat).item<double>(),
                   std::sqrt(4.0F * static_cast<float>(flat.count())));
  flat.zero_gradients();
  EXPECT_FLOAT_EQ(gradient_norm(flat).item<float>(), std::sqrt(4.0F * 3 * 7));
}

TEST(FlatParametersTest, LeavesGradientsAloneThatAreAddedTo) {
  torch::nn::Sequential layers(torch::nn::Linear(5, 7), torch::nn::Linear(7, 3));
  FlatParameters flat(*layers, false);
  flat.expect_overwritten("1.weight", /*then_added_to=*/true);
  flat.expect_overwritten("0.weight");  // comes after it
  flat.round_gradients(torch::kBFloat16);
  EXPECT_EQ(flat.gradients().scalar_type(), torch::kFloat);
}

TEST(ClipTest, LimitsTheNormAndUnscales) {
  const torch::Tensor norm = torch::scalar_tensor(8.0, torch::kDouble);
  EXPECT_DOUBLE_EQ(clip_factor(norm, 2, 1).item<double>(), 0.25);
  EXPECT_DOUBLE_EQ(clip_factor(norm, 10, 1).item<double>(), 1);
  EXPECT_DOUBLE_EQ(clip_factor(norm, 2, 0.5).item<double>(), 0.25);  // 4 after unscaling
  EXPECT_DOUBLE_EQ(clip_factor(norm, 0, 0.5).item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(clip_factor(norm * 0, 2, 1).item<double>(), 1);
}

TEST(LossScalerTest, HalvesOnOverflowAndDoublesAfterAnInterval) {
  LossScaler scaler(1024, 3);
  EXPECT_FALSE(scaler.update(std::numeric_limits<double>::infinity()));
  EXPECT_DOUBLE_EQ(scaler.scale(), 512);
  EXPECT_FALSE(scaler.update(std::nan("")));
  EXPECT_DOUBLE_EQ(scaler.scale(), 256);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scaler.update(1));
  EXPECT_DOUBLE_EQ(scaler.scale(), 512);
  EXPECT_EQ(scaler.skipped(), 2);
}

TEST(MovingAverageTest, FollowsTheClosedFormAndSwapsBack) {
  torch::nn::Linear layer(2, 1);
  FlatParameters flat(*layer, false);
  flat.values().fill_(1.0);
  MovingAverage average(flat, 0.9);
  flat.values().fill_(2.0);
  for (int i = 0; i < 5; ++i) average.update();
  // 2 - 0.9^5
  EXPECT_NEAR(average.average()[0].item<double>(), 2 - std::pow(0.9, 5), 1e-6);
  average.swap();
  EXPECT_NEAR(layer->weight[0][0].item<double>(), 2 - std::pow(0.9, 5), 1e-6);
  average.swap();
  EXPECT_EQ(layer->weight[0][0].item<double>(), 2.0);
}

}  // namespace
}  // namespace assay::train
