#include <atomic>

#include <gtest/gtest.h>

#include "train/models/norm_act.h"

namespace assay::train {
namespace {

// Against the composition of libtorch operators that norm_act stands for, in double precision.
class NormActTest : public ::testing::TestWithParam<std::tuple<std::int64_t, bool, bool, bool>> {};

TEST_P(NormActTest, EqualsItsPartsForwardAndBackward) {
  const auto [channels, with_addend, relu, two_readers] = GetParam();
  torch::manual_seed(9);
  torch::nn::BatchNorm2d norm(channels);
  {
    torch::NoGradGuard no_grad;
    norm->weight.uniform_(0.5, 2);
    norm->bias.normal_();
  }
  torch::nn::BatchNorm2d exact(channels);
  exact->to(torch::kDouble);
  {
    torch::NoGradGuard no_grad;
    exact->weight.copy_(norm->weight);
    exact->bias.copy_(norm->bias);
  }
  const auto make = [&] {
    return (torch::randn({5, channels, 7, 6}) * 3 + 1)
        .contiguous(torch::MemoryFormat::ChannelsLast)
        .requires_grad_(true);
  };
  const auto copy = [](const torch::Tensor& t) {
    return t.defined() ? t.detach().to(torch::kDouble).requires_grad_(true) : torch::Tensor();
  };
  torch::Tensor x = make();
  torch::Tensor addend = with_addend ? make() : torch::Tensor();
  torch::Tensor exact_x = copy(x);
  torch::Tensor exact_addend = copy(addend);

  const Fork fork = norm_act_fork(*norm, x, addend, relu);
  const torch::Tensor y = fork.main;
  torch::Tensor expected = exact->forward(exact_x);
  if (with_addend) expected = expected + exact_addend;
  if (relu) expected = torch::relu(expected);
  const auto near = [](const torch::Tensor& a, const torch::Tensor& b) {
    return torch::allclose(a.to(torch::kDouble), b, 1e-4, 1e-5);
  };
  EXPECT_TRUE(near(y, expected));
  EXPECT_TRUE(near(norm->running_mean, exact->running_mean));
  EXPECT_TRUE(near(norm->running_var, exact->running_var));

  const torch::Tensor up = torch::randn_like(y);
  const torch::Tensor other = two_readers ? torch::randn_like(y) : torch::zeros_like(y);
  if (two_readers)
    torch::autograd::backward({fork.main, fork.skip}, {up, other});
  else
    y.backward(up);
  expected.backward((up + other).to(torch::kDouble));
  EXPECT_TRUE(near(x.grad(), exact_x.grad()));
  EXPECT_TRUE(near(norm->weight.grad(), exact->weight.grad()));
  EXPECT_TRUE(near(norm->bias.grad(), exact->bias.grad()));
  if (with_addend) {
    EXPECT_TRUE(near(addend.grad(), exact_addend.grad()));
  }

  norm->eval();
  exact->eval();
  torch::NoGradGuard no_grad;
  torch::Tensor evaluated = exact->forward(exact_x);
  if (with_addend) evaluated = evaluated + exact_addend;
  if (relu) evaluated = torch::relu(evaluated);
  EXPECT_TRUE(near(norm_act(*norm, x, addend, relu), evaluated));
}

// More channels than a block has elements, fewer than a vector, and ordinary ones.
TEST(NormAct, AVarianceThatIsSmallBesideTheMeanIsKept) {
  torch::manual_seed(9);
  const torch::Tensor x =
      (torch::randn({8, 16, 9, 9}) * 0.1 + 1000).contiguous(torch::MemoryFormat::ChannelsLast);
  torch::nn::BatchNorm2d norm(torch::nn::BatchNorm2dOptions(16).momentum(1));
  (void)norm_act_fork(*norm, x, {}, true);
  const torch::Tensor exact = x.to(torch::kDouble).transpose(0, 1).flatten(1).var(1);
  EXPECT_TRUE(torch::allclose(norm->running_var.to(torch::kDouble), exact, 1e-4));
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormActTest,
                         ::testing::Combine(::testing::Values(3, 16, 20000), ::testing::Bool(),
                                            ::testing::Bool(), ::testing::Bool()));

// at::parallel_for is compiled into its caller, serially where that one knows no OpenMP.
TEST(ThreadsTest, LoopsOfThisProgramRunOnSeveral) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> parts{0};
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) { ++parts; });
  at::set_num_threads(before);
  EXPECT_EQ(parts, 2);
}

TEST(NormActNanTest, ANanInTheInputIsNotHidden) {
  torch::nn::BatchNorm2d norm(4);
  torch::Tensor x = torch::randn({2, 4, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  x[0][1][0][0] = std::nanf("");
  const torch::Tensor y = norm_act(*norm, x);
  EXPECT_TRUE(y.isnan().any().item<bool>());
}

}  // namespace
}  // namespace assay::train
