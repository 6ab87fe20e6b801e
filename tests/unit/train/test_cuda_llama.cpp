// The kernels of a decoder against the plain computation in double precision, and a whole model
// against itself on the CPU.
#include <cmath>

#include <gtest/gtest.h>

#include "needs.h"
#include "train/models/cuda_llama.h"
#include "train/models/llama.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace assay::train {
namespace {

class CudaLlama : public ::testing::TestWithParam<torch::ScalarType> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
    torch::manual_seed(1);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
  [[nodiscard]] static torch::ScalarType type() { return GetParam(); }
  [[nodiscard]] static double tolerance() {
    return type() == torch::kFloat ? 5e-6 : type() == torch::kHalf ? 2e-3 : 1e-2;
  }
  [[nodiscard]] static torch::Tensor drawn(std::vector<std::int64_t> shape) {
    return torch::randn(shape, torch::TensorOptions(torch::kFloat).device(torch::kCUDA)).to(type());
  }
  [[nodiscard]] static torch::Tensor drawn_leaf(std::vector<std::int64_t> shape) {
    return drawn(std::move(shape)).requires_grad_();
  }
  [[nodiscard]] static torch::Tensor doubled(const torch::Tensor& x) {
    return x.detach().to(torch::kDouble).requires_grad_();
  }
  [[nodiscard]] static double off(const torch::Tensor& a, const torch::Tensor& reference) {
    const torch::Tensor r = reference.detach().to(torch::kDouble);
    return ((a.detach().to(torch::kDouble) - r).norm() / r.norm()).item<double>();
  }
};

TEST_P(CudaLlama, NormOfASum) {
  for (const std::int64_t width : {64, 768, 2048, 3072, 4096})
    for (const bool add : {true, false}) {
      const torch::Tensor x = drawn_leaf({3, 37, width});
      const torch::Tensor h = add ? drawn_leaf({3, 37, width}) : torch::Tensor();
      const torch::Tensor weight = (torch::rand({width}, torch::kCUDA) + 0.5).requires_grad_();
      ASSERT_TRUE(cuda_rms_norm_fits(x));
      const Normed mine = cuda_add_norm(x, h, weight, 1e-5);
      const torch::Tensor up = drawn({3, 37, width});
      const torch::Tensor skip = drawn({3, 37, width});
      ((mine.y * up).sum() + (mine.sum * skip).sum()).backward();

      const torch::Tensor x64 = doubled(x);
      const torch::Tensor h64 = add ? doubled(h) : torch::Tensor();
      const torch::Tensor w64 = doubled(weight);
      const torch::Tensor sum = add ? x64 + h64 : x64;
      const torch::Tensor y = sum * (sum.square().mean(-1, true) + 1e-5).rsqrt() * w64;
      ((y * up).sum() + (sum * skip).sum()).backward();
      EXPECT_LT(off(mine.y, y), tolerance()) << width;
      EXPECT_LT(off(x.grad(), x64.grad()), tolerance()) << width;
      if (add) {
        EXPECT_LT(off(h.grad(), h64.grad()), tolerance()) << width;
      }
      EXPECT_LT(off(weight.grad(), w64.grad()), tolerance()) << width;
    }
}

TEST_P(CudaLlama, SwiGlu) {
  for (const std::int64_t inner : {64, 384, 8192}) {
    const torch::Tensor x = drawn_leaf({2, 19, 2 * inner});
    const torch::Tensor mine = cuda_swiglu(x);
    const torch::Tensor up = drawn({2, 19, inner});
    (mine * up).sum().backward();
    const torch::Tensor x64 = doubled(x);
    const torch::Tensor gate = x64.narrow(-1, 0, inner);
    const torch::Tensor y = gate * torch::sigmoid(gate) * x64.narrow(-1, inner, inner);
    (y * up).sum().backward();
    EXPECT_LT(off(mine, y), tolerance());
    EXPECT_LT(off(x.grad(), x64.grad()), tolerance());
  }
}

TEST_P(CudaLlama, FeedForward) {
  const torch::Tensor norm = (torch::rand({64}, torch::kCUDA) + 0.5).requires_grad_();
  for (const std::int64_t inner : {64, 384})
    for (const Keep keep : {Keep::all, Keep::selective}) {
      const torch::Tensor x = drawn_leaf({2, 24, 64});
      Weight gate_up;
      gate_up.value = (torch::randn({2 * inner, 64}, torch::kCUDA) / 8).requires_grad_();
      Weight down;
      down.value = (torch::randn({64, inner}, torch::kCUDA) / 20).requires_grad_();
      const Normed in = cuda_add_norm(x, {}, norm, 1e-5);
      const torch::Tensor mine = cuda_feed_forward(in, gate_up, down, keep);
      const torch::Tensor up = drawn({2, 24, 64});
      (mine * up).sum().backward();

      const torch::Tensor x64 = doubled(x);
      const auto rounded = [](const Weight& weight) {
        return weight.value.detach().to(type()).to(torch::kDouble).requires_grad_();
      };
      const torch::Tensor first = rounded(gate_up);
      const torch::Tensor second = rounded(down);
      const torch::Tensor y =
          x64 * (x64.square().mean(-1, true) + 1e-5).rsqrt() * norm.detach().to(torch::kDouble);
      const torch::Tensor both = torch::matmul(y, first.t());
      const torch::Tensor gate = both.narrow(-1, 0, inner);
      const torch::Tensor out =
          torch::matmul(gate * torch::sigmoid(gate) * both.narrow(-1, inner, inner), second.t());
      (out * up).sum().backward();
      EXPECT_LT(off(mine, out), 2 * tolerance());
      EXPECT_LT(off(x.grad(), x64.grad()), 2 * tolerance());
      EXPECT_LT(off(gate_up.value.grad(), first.grad()), 2 * tolerance());
      EXPECT_LT(off(down.value.grad(), second.grad()), 2 * tolerance());
    }
}

TEST_P(CudaLlama, ProductsByTheAlgorithmsOfTrials) {
  time_products(true);
  const torch::Tensor x = drawn({96, 64});
  const torch::Tensor weight = drawn({160, 64});
  const torch::Tensor dy = drawn({96, 160});
  const auto wide = [](const torch::Tensor& t) { return t.to(torch::kDouble); };
  // Twice: with the trials, and after them.
  for (int again = 0; again < 2; ++again) {
    EXPECT_LT(off(matrix_product(x, weight), wide(x).mm(wide(weight).t())), tolerance());
    EXPECT_LT(off(input_gradient(dy, weight), wide(dy).mm(wide(weight))), tolerance());
    torch::Tensor parameter = torch::zeros({160, 64}, torch::kCUDA).requires_grad_();
    parameter.mutable_grad() = torch::ones_like(parameter);
    add_weight_gradient(parameter, dy, x, /*overwrite=*/true);
    EXPECT_LT(off(parameter.grad(), wide(dy).t().mm(wide(x))), tolerance());
    add_weight_gradient(parameter, dy, x, /*overwrite=*/false);
    EXPECT_LT(off(parameter.grad(), 2 * wide(dy).t().mm(wide(x))), tolerance());
  }
  // Results of the same shape, with sums of another length.
  const torch::Tensor longer = drawn({96, 256});
  const torch::Tensor wider = drawn({160, 256});
  EXPECT_LT(off(matrix_product(longer, wider), wide(longer).mm(wide(wider).t())), tolerance());
  const torch::Tensor dlonger = drawn({96, 320});
  const torch::Tensor square = drawn({320, 64});
  EXPECT_LT(off(input_gradient(dlonger, square), wide(dlonger).mm(wide(square))), tolerance());
  time_products(false);
}

TEST_P(CudaLlama, TurnedHeadsOfAProduct) {
  for (const std::int64_t head : {32, 64, 128}) {
    LlamaOptions options;
    options.width = 4 * head;
    options.heads = 4;
    options.kv_heads = 2;
    const auto [cosine, sine] = rotary_tables(options, 23);
    const Sequences sequences{cosine.to(torch::kCUDA), sine.to(torch::kCUDA), {}};
    const torch::Tensor y = drawn_leaf({2, 23, 64});
    Weight weight;
    weight.value = (torch::randn({8 * head, 64}, torch::kCUDA) / 8).requires_grad_();
    const LlamaHeads mine =
        cuda_project_heads({y, y, {}, 0}, weight, head, 2, sequences, Keep::all);
    const torch::Tensor up_q = drawn({2, 4, 23, head}).transpose(1, 2);  // strides of their own
    const torch::Tensor up_k = drawn({2, 23, 2, head});
    const torch::Tensor up_v = drawn({2, 23, 2, head});
    ((mine.q * up_q).sum() + (mine.k * up_k).sum() + (mine.v * up_v).sum()).backward();

    const torch::Tensor y64 = doubled(y);
    const torch::Tensor w64 = weight.value.detach().to(type()).to(torch::kDouble).requires_grad_();
    const torch::Tensor all = torch::matmul(y64, w64.t()).view({2, 23, 8, head});
    const auto turned = [&](const torch::Tensor& x) {
      const torch::Tensor c = sequences.cosine.to(torch::kDouble).unsqueeze(1);
      const torch::Tensor s = sequences.sine.to(torch::kDouble).unsqueeze(1);
      const torch::Tensor a = x.narrow(-1, 0, head / 2);
      const torch::Tensor b = x.narrow(-1, head / 2, head / 2);
      return torch::cat({a * c - b * s, b * c + a * s}, -1);
    };
    const torch::Tensor q = turned(all.narrow(2, 0, 4));
    const torch::Tensor k = turned(all.narrow(2, 4, 2));
    const torch::Tensor v = all.narrow(2, 6, 2);
    ((q * up_q).sum() + (k * up_k).sum() + (v * up_v).sum()).backward();
    EXPECT_LT(off(mine.q, q), tolerance());
    EXPECT_LT(off(mine.k, k), tolerance());
    EXPECT_LT(off(mine.v, v), tolerance());
    EXPECT_LT(off(y.grad(), y64.grad()), tolerance());
    EXPECT_LT(off(weight.value.grad(), w64.grad()), tolerance());
  }
}

TEST_P(CudaLlama, CrossEntropyInPlace) {
  for (const std::int64_t columns : {64, 1024, 128'256}) {
    torch::Tensor logits = drawn({33, columns});
    const torch::Tensor labels =
        torch::randint(0, columns, {33}, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
    const torch::Tensor l64 = doubled(logits);
    const torch::Tensor expected =
        torch::cross_entropy_loss(l64, labels, {}, torch::Reduction::None);
    (expected.sum() * 0.25).backward();
    const torch::Tensor losses = cuda_cross_entropy_in_place(logits, labels, true, 0.25);
    EXPECT_LT(off(losses, expected), 1e-4);
    EXPECT_LT(off(logits, l64.grad()), tolerance());
  }
}

TEST_P(CudaLlama, ALabelThatIsNoColumnIsNotANumber) {
  torch::Tensor logits = drawn({2, 64});
  const torch::Tensor labels = torch::tensor(std::vector<std::int64_t>{3, 64}).to(torch::kCUDA);
  const torch::Tensor losses = cuda_cross_entropy_in_place(logits, labels, true, 1).cpu();
  EXPECT_TRUE(std::isfinite(losses[0].item<double>()));
  EXPECT_TRUE(std::isnan(losses[1].item<double>()));
}

TEST_P(CudaLlama, AModelGivesTheLossAndGradientsThatItHasOnTheCpu) {
  for (const bool qk_norm : {false, true}) {
    LlamaOptions options;
    options.vocabulary = 512;
    options.layers = 2;
    options.width = 256;
    options.heads = 4;
    options.kv_heads = 2;
    options.inner = 512;
    options.tied = !qk_norm;
    options.qk_norm = qk_norm;
    Llama here(options);
    Llama there(options, torch::kCUDA);
    {
      torch::NoGradGuard no_grad;
      const auto from = here->parameters();
      const auto to = there->parameters();
      for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
    }
    there->compute_in(type());
    const torch::Tensor tokens = torch::randint(0, 512, {2, 129}, torch::kLong);
    const torch::Tensor in = tokens.narrow(1, 0, 128);
    const torch::Tensor out = tokens.narrow(1, 1, 128);
    const double expected = here->train_on(in, out, {}, 1).item<double>();
    const auto gives_the_same = [&](Keep keep) {
      for (torch::Tensor& p : there->parameters()) p.mutable_grad() = torch::Tensor();
      const double mine =
          there->train_on(in.to(torch::kCUDA), out.to(torch::kCUDA), {}, 1, keep).item<double>();
      EXPECT_NEAR(mine, expected, tolerance() * expected);
      const auto wanted = here->named_parameters();
      for (const auto& item : there->named_parameters())
        EXPECT_LT(off(item.value().grad().cpu(), wanted[item.key()].grad()), 10 * tolerance())
            << item.key();
    };
    for (const Keep keep : enum_values<Keep>()) gives_the_same(keep);
    time_products(true);
    for (int again = 0; again < 2; ++again) gives_the_same(Keep::all);
    time_products(false);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaLlama,
                         ::testing::Values(torch::kFloat, torch::kBFloat16, torch::kHalf),
                         [](const auto& one) { return std::string(torch::toString(one.param)); });

TEST(CudaLlamaUpdate, GradientsInBf16GiveTheSameStepAsInFloat) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
  for (const bool small_state : {false, true}) {
    std::vector<torch::Tensor> results;
    for (const bool rounds : {false, true}) {
      torch::manual_seed(3);
      torch::nn::Linear model(torch::nn::LinearOptions(37, 41));
      model->to(torch::kCUDA);
      FlatParameters parameters(*model, false);
      parameters.expect_overwritten("weight");
      if (rounds) parameters.round_gradients(torch::kBFloat16);
      parameters.keep_rounded(torch::kBFloat16);
      OptimizerOptions options;
      options.method = "adamw";
      options.small_state = small_state;
      Optimizer optimizer(parameters, options);
      for (int step = 0; step < 3; ++step) {
        torch::manual_seed(10 + step);
        for (const FlatParameters::Entry& entry : parameters.entries())
          parameters.gradient(entry).copy_(
              torch::randn({entry.size}).to(torch::kBFloat16).to(torch::kFloat));
        optimizer.step(0.1, clip_factor(gradient_norm(parameters), 1, 1));
      }
      EXPECT_TRUE(torch::equal(parameters.rounded(), parameters.values().to(torch::kBFloat16)));
      results.push_back(parameters.values().clone());
    }
    EXPECT_LT((results[0] - results[1]).abs().max().item<double>(), 1e-5);
  }
}

TEST(CudaLlamaUpdate, RoundedParametersFollowTheirValues) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
  torch::nn::Linear model(torch::nn::LinearOptions(37, 41));
  model->to(torch::kCUDA);
  FlatParameters parameters(*model, false);
  parameters.keep_rounded(torch::kBFloat16);
  for (const char* method : {"adamw", "sgd", "lamb"}) {
    OptimizerOptions options;
    options.method = method;
    Optimizer optimizer(parameters, options);
    parameters.gradients().normal_();
    optimizer.step(0.1);
    EXPECT_TRUE(torch::equal(parameters.rounded(), parameters.values().to(torch::kBFloat16)))
        << method;
  }
}

}  // namespace
}  // namespace assay::train
