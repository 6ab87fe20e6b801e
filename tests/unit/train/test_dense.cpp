#include <gtest/gtest.h>

#include "train/models/dense.h"

namespace assay::train {
namespace {

// Plain loops in double precision.
torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b) {
  const auto left = a.to(torch::kDouble).contiguous();
  const auto right = b.to(torch::kDouble).contiguous();
  torch::Tensor out = torch::zeros({a.size(0), b.size(1)}, torch::kDouble);
  auto l = left.accessor<double, 2>();
  auto r = right.accessor<double, 2>();
  auto o = out.accessor<double, 2>();
  for (std::int64_t i = 0; i < a.size(0); ++i)
    for (std::int64_t j = 0; j < b.size(1); ++j)
      for (std::int64_t k = 0; k < a.size(1); ++k) o[i][j] += l[i][k] * r[k][j];
  return out.to(torch::kFloat);
}

TEST(LinearTest, EqualsLoopsForwardAndBackward) {
  torch::manual_seed(3);
  torch::Tensor x = torch::randn({5, 7}, torch::requires_grad());
  torch::Tensor w = torch::randn({3, 7}, torch::requires_grad());
  torch::Tensor b = torch::randn({3}, torch::requires_grad());
  const torch::Tensor up = torch::randn({5, 3});
  const torch::Tensor y = linear(x, w, b);
  EXPECT_TRUE(torch::allclose(y, product(x, w.t()) + b, 1e-5, 1e-5));
  y.backward(up);
  EXPECT_TRUE(torch::allclose(x.grad(), product(up, w), 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(w.grad(), product(up.t(), x), 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(b.grad(), up.sum(0), 1e-5, 1e-5));
}

TEST(LinearTest, KeepsLeadingDimensionsAndWorksWithoutBias) {
  torch::manual_seed(3);
  const torch::Tensor x = torch::randn({2, 3, 4});
  const torch::Tensor w = torch::randn({5, 4});
  const torch::Tensor y = linear(x, w, torch::Tensor());
  ASSERT_EQ(y.sizes(), (std::vector<std::int64_t>{2, 3, 5}));
  EXPECT_TRUE(torch::allclose(y.view({6, 5}), product(x.view({6, 4}), w.t()), 1e-5, 1e-5));
}

TEST(LinearTest, TakesTensorsThatAreNotContiguous) {
  torch::manual_seed(3);
  torch::Tensor x = torch::randn({4, 6}, torch::requires_grad());
  const torch::Tensor w = torch::randn({5, 4});
  const torch::Tensor y = linear(x.t(), w, torch::Tensor());
  EXPECT_TRUE(torch::allclose(y, product(x.t(), w.t()), 1e-5, 1e-5));
  y.sum().backward();
  EXPECT_TRUE(torch::allclose(x.grad(), w.sum(0).unsqueeze(1).expand({4, 6}), 1e-5, 1e-5));
}

// The composition of libtorch operators that attention stands for, in double precision.
torch::Tensor plain_attention(const torch::Tensor& qkv, const torch::Tensor& mask) {
  const auto parts = qkv.permute({2, 0, 3, 1, 4}).unbind(0);
  torch::Tensor scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) /
                         std::sqrt(static_cast<double>(qkv.size(4)));
  if (mask.defined()) scores = scores + mask;
  return torch::matmul(torch::softmax(scores, -1), parts[2])
      .transpose(1, 2)
      .reshape({qkv.size(0), qkv.size(1), -1});
}

TEST(AttentionTest, EqualsItsDefinitionForwardAndBackward) {
  torch::manual_seed(4);
  torch::Tensor qkv = torch::randn({2, 5, 3, 2, 4}, torch::requires_grad());
  torch::Tensor exact = qkv.detach().to(torch::kDouble).requires_grad_(true);
  torch::Tensor mask = torch::zeros({2, 1, 1, 5});
  mask[1][0][0].slice(0, 3, 5).fill_(-1e9);
  const torch::Tensor y = attention(qkv, mask, 0);
  const torch::Tensor expected = plain_attention(exact, mask.to(torch::kDouble));
  EXPECT_TRUE(torch::allclose(y, expected.to(torch::kFloat), 1e-4, 1e-5));
  const torch::Tensor up = torch::randn({2, 5, 8});
  y.backward(up);
  expected.backward(up.to(torch::kDouble));
  EXPECT_TRUE(torch::allclose(qkv.grad(), exact.grad().to(torch::kFloat), 1e-4, 1e-5));
}

TEST(AttentionTest, DropoutKeepsTheExpectationAndItsGradientUsesTheSameMask) {
  torch::manual_seed(5);
  // All values are one, so the output is the sum of the kept probabilities over their share.
  torch::Tensor qkv = torch::ones({1, 64, 3, 1, 4}, torch::requires_grad());
  const torch::Tensor y = attention(qkv, {}, 0.25);
  EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.03);
  EXPECT_GT(y.std().item<double>(), 0.0);
  y.sum().backward();
  // d(sum y)/dv summed over v is sum over probabilities kept, times the width: the output itself.
  const torch::Tensor dv = qkv.grad().select(2, 2);
  EXPECT_NEAR(dv.sum().item<double>(), y.sum().item<double>(), 1e-2);
}

}  // namespace
}  // namespace assay::train
