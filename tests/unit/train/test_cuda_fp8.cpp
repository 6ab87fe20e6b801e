// Rounding to fp8 against libtorch's own, products against double precision, and a model that
// multiplies in fp8 against itself in bf16.
#include <gtest/gtest.h>

#include "needs.h"
#include "train/models/cuda_fp8.h"
#include "train/models/llama.h"
#include "train/optim/optimizer.h"

namespace assay::train {
namespace {

class CudaFp8 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available() || !has_fp8_products({torch::kCUDA, 0}))
      GTEST_SKIP() << needs::gpu();
    torch::manual_seed(3);
  }
  [[nodiscard]] static torch::Tensor drawn(std::vector<std::int64_t> shape, double deviation = 1) {
    return (torch::randn(shape, torch::kCUDA) * deviation).to(torch::kBFloat16);
  }
  [[nodiscard]] static double off(const torch::Tensor& a, const torch::Tensor& reference) {
    const torch::Tensor r = reference.detach().to(torch::kDouble);
    return ((a.detach().to(torch::kDouble) - r).norm() / r.norm()).item<double>();
  }
  // Bytes can be compared, numbers in fp8 cannot.
  [[nodiscard]] static torch::Tensor bytes(const torch::Tensor& x) { return x.view(torch::kByte); }

  std::shared_ptr<Fp8Scales> scales_;
  [[nodiscard]] Fp8Product product() {
    scales_ = std::make_shared<Fp8Scales>(1, torch::Device(torch::kCUDA, 0));
    return {scales_, 0};
  }
};

TEST_F(CudaFp8, RoundsAsLibtorchAndTransposes) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {16, 16}, {128, 128}, {144, 272}, {1024, 48}, {48, 1040}}) {
    const torch::Tensor x = drawn(shape, 0.37);
    const Fp8Operand in = product().round_input(x, {});
    const float most = x.abs().max().item<float>();
    const torch::Tensor expected =
        (x.to(torch::kFloat) * (448.0F / most)).to(in.rows.scalar_type());
    EXPECT_TRUE(torch::equal(bytes(in.rows), bytes(expected))) << shape[0] << " " << shape[1];
    EXPECT_TRUE(torch::equal(bytes(in.columns), bytes(expected).t().contiguous()));

    const Fp8Operand gradient = product().round_gradient(x);
    const torch::Tensor wide =
        (x.to(torch::kFloat) * (57344.0F / most)).to(gradient.rows.scalar_type());
    EXPECT_TRUE(torch::equal(bytes(gradient.rows), bytes(wide)));
    EXPECT_TRUE(torch::equal(bytes(gradient.columns), bytes(wide).t().contiguous()));
  }
}

TEST_F(CudaFp8, RoundsSwiGluAndItsGradient) {
  for (const std::int64_t inner : {16, 384, 1040}) {
    const torch::Tensor gate_up = drawn({144, 2 * inner});
    const torch::Tensor dy = drawn({144, inner}, 1e-4);
    const torch::Tensor x = gate_up.to(torch::kDouble).requires_grad_();
    const torch::Tensor gate = x.narrow(1, 0, inner);
    const torch::Tensor y = gate * torch::sigmoid(gate) * x.narrow(1, inner, inner);
    (y * dy.to(torch::kDouble)).sum().backward();
    const Fp8Operand in = product().round_swiglu(gate_up, {});
    EXPECT_LT(off(in.rows.to(torch::kFloat) * (y.abs().max() / 448).to(torch::kFloat), y), 0.04);
    EXPECT_TRUE(torch::equal(bytes(in.columns), bytes(in.rows).t().contiguous()));
    const Fp8Operand out = product().round_swiglu_gradient(gate_up, dy);
    EXPECT_LT(off(out.rows.to(torch::kFloat) * (x.grad().abs().max() / 57344).to(torch::kFloat),
                  x.grad()),
              0.08);
    EXPECT_TRUE(torch::equal(bytes(out.columns), bytes(out.rows).t().contiguous()));
  }
}

TEST_F(CudaFp8, AProductAndItsGradients) {
  const torch::Tensor x = drawn({256, 128});
  const torch::Tensor weight = drawn({384, 128}, 0.02);
  const torch::Tensor dy = drawn({256, 384}, 1e-5);
  const Fp8Product product = this->product();
  const Fp8Operand in = product.round_input(x, {});
  const auto wide = [](const torch::Tensor& t) { return t.to(torch::kDouble); };
  EXPECT_LT(off(product.forward(in.rows, weight), wide(x).mm(wide(weight).t())), 0.06);
  const Fp8Operand gradient = product.round_gradient(dy);
  EXPECT_LT(off(product.input_gradient(gradient, weight), wide(dy).mm(wide(weight))), 0.09);
  const torch::Tensor expected = wide(dy).t().mm(wide(x));
  torch::Tensor dweight = torch::ones({384, 128}, torch::kCUDA);
  product.add_weight_gradient(dweight, gradient, in.columns, true);
  EXPECT_LT(off(dweight, expected), 0.09);
  product.add_weight_gradient(dweight, gradient, in.columns, false);
  EXPECT_LT(off(dweight, 2 * expected), 0.09);
}

TEST_F(CudaFp8, AScaleFollowsTheLargestValueOfTheLastSteps) {
  const Fp8Product product = this->product();
  const auto largest_byte_value = [&](double factor) {
    const torch::Tensor x = torch::full({16, 16}, factor, torch::kCUDA).to(torch::kBFloat16);
    const float stored = product.round_input(x, {}).rows.to(torch::kFloat).max().item<float>();
    scales_->advance();
    return stored;
  };
  EXPECT_EQ(largest_byte_value(2), 448);  // the first has its own
  EXPECT_EQ(largest_byte_value(1), 224);
  EXPECT_EQ(largest_byte_value(8), 448);  // cut off: the scale is that of 2
  EXPECT_EQ(largest_byte_value(2), 112);
  for (std::int64_t i = 0; i < cuda::kFp8Steps; ++i) static_cast<void>(largest_byte_value(1));
  EXPECT_EQ(largest_byte_value(1), 448);  // 8 and 2 are forgotten
}

TEST_F(CudaFp8, ZerosAndWhatIsNotFiniteKeepTheScale) {
  const Fp8Product product = this->product();
  const torch::Tensor two = torch::full({16, 16}, 2.0, torch::kCUDA).to(torch::kBFloat16);
  static_cast<void>(product.round_input(two, {}));
  scales_->advance();
  static_cast<void>(product.round_input(torch::zeros_like(two), {}));
  scales_->advance();
  static_cast<void>(product.round_input(two / 0, {}));
  scales_->advance();
  EXPECT_EQ(product.round_input(two, {}).rows.to(torch::kFloat).max().item<float>(), 448);
}

TEST_F(CudaFp8, AModelHasTheLossAndAboutTheGradientsOfBf16) {
  LlamaOptions options;
  options.vocabulary = 512;
  options.layers = 2;
  options.width = 256;
  options.heads = 4;
  options.kv_heads = 2;
  options.inner = 512;
  Llama plain(options, torch::kCUDA);
  Llama model(options, torch::kCUDA);
  {
    torch::NoGradGuard no_grad;
    const auto from = plain->parameters();
    const auto to = model->parameters();
    for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }
  plain->compute_in(torch::kBFloat16);
  model->compute_in(torch::kBFloat16);
  model->multiply_in_fp8();
  const torch::Tensor tokens =
      torch::randint(0, 512, {2, 129}, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
  const torch::Tensor in = tokens.narrow(1, 0, 128);
  const torch::Tensor out = tokens.narrow(1, 1, 128);
  const double expected = plain->train_on(in, out, {}, 1).item<double>();
  for (const Keep keep : enum_values<Keep>()) {
    for (torch::Tensor& p : model->parameters()) p.mutable_grad() = torch::Tensor();
    EXPECT_NEAR(model->train_on(in, out, {}, 1, keep).item<double>(), expected, 0.01 * expected);
    const auto wanted = plain->named_parameters();
    for (const auto& item : model->named_parameters())
      EXPECT_LT(off(item.value().grad(), wanted[item.key()].grad()), 0.25) << item.key();
  }
}

TEST(CudaUpdate, MomentsInBf16AreThoseOfTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
  torch::nn::Linear here(torch::nn::LinearOptions(37, 41));
  torch::nn::Linear there(torch::nn::LinearOptions(37, 41));
  there->to(torch::kCUDA);
  FlatParameters a(*here, false);
  FlatParameters b(*there, false);
  OptimizerOptions options;
  options.method = "adamw";
  options.small_state = true;
  Optimizer on_cpu(a, options);
  Optimizer on_device(b, options);
  b.values().copy_(a.values());
  for (int step = 0; step < 5; ++step) {
    a.gradients().normal_();
    b.gradients().copy_(a.gradients());
    on_cpu.step(0.01);
    on_device.step(0.01);
  }
  EXPECT_LT((b.values().cpu() - a.values()).abs().max().item<double>(), 1e-3);
  for (std::size_t i = 0; i < 2; ++i) {
    const torch::Tensor mine = on_device.state()[i].second.cpu().to(torch::kFloat);
    const torch::Tensor expected = on_cpu.state()[i].second.to(torch::kFloat);
    EXPECT_LT(((mine - expected).norm() / expected.norm()).item<double>(), 1e-3);
  }
}

}  // namespace
}  // namespace assay::train
