#include <cmath>

#include <gtest/gtest.h>

#include "core/error.h"
#include "count_parameters.h"
#include "needs.h"
#include "train/models/causal_attention.h"
#include "train/models/dense.h"
#include "train/models/llama.h"
#include "train/models/llama_ops.h"

namespace assay::train {
namespace {

LlamaOptions small_llama() {
  LlamaOptions options;
  options.vocabulary = 50;
  options.layers = 2;
  options.width = 32;
  options.heads = 4;
  options.kv_heads = 2;
  options.inner = 48;
  return options;
}

torch::Tensor some_tokens(std::int64_t batch, std::int64_t length) {
  return torch::randint(0, 50, {batch, length}, torch::kLong);
}

// Norms that are not 1 and weights that are not small, so that mistakes show.
void shake(torch::nn::Module& model) {
  torch::NoGradGuard no_grad;
  for (torch::Tensor& p : model.parameters())
    p.add_(torch::randn_like(p), p.dim() == 1 ? 0.3 : 0.1);
}

double off_by(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

TEST(LlamaOptionsTest, ParametersAreThoseOfThePublishedModels) {
  EXPECT_EQ(LlamaOptions::named("1b").parameters(), 1'235'814'400);
  EXPECT_EQ(LlamaOptions::named("3b").parameters(), 3'212'749'824);
  EXPECT_EQ(LlamaOptions::named("8b").parameters(), 8'030'261'248);
  EXPECT_EQ(LlamaOptions::named("70b").parameters(), 70'553'706'496);
  EXPECT_NEAR(static_cast<double>(LlamaOptions::named("125m").parameters()), 125e6, 1e6);
}

TEST(LlamaOptionsTest, ParametersAreThoseOfTheModule) {
  for (const bool tied : {true, false})
    for (const bool qk_norm : {true, false}) {
      LlamaOptions options = small_llama();
      options.tied = tied;
      options.qk_norm = qk_norm;
      EXPECT_EQ(count_parameters(*Llama(options)), options.parameters());
    }
}

TEST(LlamaOptionsTest, FlopsAreSixAParameterAndTheCausalHalfOfAttention) {
  const LlamaOptions options = LlamaOptions::named("1b");
  const double norms = 2048.0 * (2 * 16 + 1);
  const double weights = static_cast<double>(options.parameters()) - norms;  // the tied one once
  EXPECT_DOUBLE_EQ(options.flops_per_token(4096), 6 * weights + 6.0 * 16 * 2048 * 4096);
  // An input embedding costs no product.
  LlamaOptions untied = options;
  untied.tied = false;
  EXPECT_DOUBLE_EQ(untied.flops_per_token(4096), options.flops_per_token(4096));
}

TEST(LlamaOptionsTest, HeadsThatDoNotDivideAreAnError) {
  LlamaOptions options = small_llama();
  options.kv_heads = 3;
  EXPECT_THROW(Llama{options}, Error);
  options = small_llama();
  options.heads = 5;
  EXPECT_THROW(Llama{options}, Error);
  EXPECT_THROW((void)LlamaOptions::named("2b"), Error);
}

TEST(LlamaTest, BackwardInPartsGivesTheLossAndGradientsOfAutograd) {
  torch::manual_seed(1);
  for (const bool tied : {true, false})
    for (const Keep keep : enum_values<Keep>())
      for (const bool qk_norm : {true, false}) {
        LlamaOptions options = small_llama();
        options.tied = tied;
        options.qk_norm = qk_norm;
        Llama model(options);
        shake(*model);
        const torch::Tensor tokens = some_tokens(3, 17);
        const torch::Tensor labels = some_tokens(3, 17);
        const torch::Tensor expected =
            torch::cross_entropy_loss(model->logits(tokens).flatten(0, 1), labels.flatten());
        (expected * 0.5).backward();
        std::vector<torch::Tensor> gradients;
        for (torch::Tensor& p : model->parameters()) {
          gradients.push_back(p.grad().clone());
          p.mutable_grad().zero_();
        }
        const torch::Tensor loss = model->train_on(tokens, labels, {}, 0.5, keep);
        EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
        std::size_t next = 0;
        for (const auto& item : model->named_parameters())
          EXPECT_LT(off_by(item.value().grad(), gradients[next++]), 1e-4) << item.key();
      }
}

TEST(LlamaTest, AGradientIsAddedToWhatIsThereOrWrittenOverIt) {
  torch::manual_seed(2);
  Llama model(small_llama());
  shake(*model);
  const torch::Tensor tokens = some_tokens(2, 9);
  const auto gradients = [&] {
    std::vector<torch::Tensor> all;
    for (const auto& [name, weight] : model->weights()) all.push_back(weight->value.grad().clone());
    return all;
  };
  static_cast<void>(model->train_on(tokens, tokens, {}, 1));
  const std::vector<torch::Tensor> once = gradients();
  static_cast<void>(model->train_on(tokens, tokens, {}, 1));
  const std::vector<torch::Tensor> twice = gradients();
  for (const auto& [name, weight] : model->weights()) weight->overwrite = true;
  static_cast<void>(model->train_on(tokens, tokens, {}, 1));
  const std::vector<torch::Tensor> over = gradients();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_LT(off_by(twice[i], 2 * once[i]), 1e-5);
    EXPECT_LT(off_by(over[i], once[i]), 1e-5);
  }
}

TEST(LlamaTest, ATokenSeesItselfAndThoseBeforeIt) {
  torch::manual_seed(3);
  Llama model(small_llama());
  shake(*model);
  const torch::Tensor tokens = some_tokens(1, 12);
  torch::Tensor other = tokens.clone();
  other[0][7] = (other[0][7] + 1) % 50;
  const torch::Tensor change = (model->logits(tokens) - model->logits(other)).abs().amax({0, 2});
  EXPECT_EQ(change.narrow(0, 0, 7).max().item<double>(), 0);
  EXPECT_GT(change.narrow(0, 7, 5).min().item<double>(), 1e-6);
}

TEST(LlamaTest, DocumentsThatAreKeptApartAreAsIfEachWereAlone) {
  torch::manual_seed(4);
  Llama model(small_llama());
  shake(*model);
  const torch::Tensor tokens = some_tokens(1, 12);
  torch::Tensor documents = torch::zeros({1, 12}, torch::kInt);
  documents.narrow(1, 5, 7).fill_(1);
  const torch::Tensor apart = model->logits(tokens, documents);
  EXPECT_LT(off_by(apart.narrow(1, 0, 5), model->logits(tokens.narrow(1, 0, 5))), 1e-5);
  // Rotary positions count distances: where a document begins does not matter.
  EXPECT_LT(off_by(apart.narrow(1, 5, 7), model->logits(tokens.narrow(1, 5, 7))), 1e-4);
}

TEST(LlamaTest, LossesAreSumsOverTheTokens) {
  torch::manual_seed(5);
  Llama model(small_llama());
  shake(*model);
  const torch::Tensor tokens = some_tokens(4, 8);
  const torch::Tensor labels = some_tokens(4, 8);
  const TokenLosses losses = model->losses(tokens, labels, {});
  const torch::Tensor logits = model->logits(tokens).flatten(0, 1);
  EXPECT_NEAR(
      losses.sum.item<double>(),
      torch::cross_entropy_loss(logits, labels.flatten(), {}, torch::Reduction::Sum).item<double>(),
      1e-3);
  EXPECT_EQ(losses.right.item<std::int64_t>(),
            (logits.argmax(1) == labels.flatten()).sum().item<std::int64_t>());
}

TEST(LlamaTest, LogitsThatComeInPartsGiveTheSameLoss) {
  torch::manual_seed(6);
  // More logits than one part holds: 3 of them, the last one short.
  const std::int64_t rows = 330;
  const Weight weight{torch::randn({32'000, 8}).set_requires_grad(true), {}};
  const torch::Tensor y = torch::randn({rows, 8}).set_requires_grad(true);
  const torch::Tensor labels = torch::randint(0, 32'000, {rows}, torch::kLong);
  const torch::Tensor expected =
      torch::cross_entropy_loss(torch::matmul(y, weight.value.t()), labels);
  expected.backward();
  const torch::Tensor dweight = weight.value.grad().clone();
  torch::Tensor value = weight.value;
  value.mutable_grad().zero_();
  HeadGradient gradient{1, {}};
  const TokenLosses losses = head_losses(y.detach(), weight, labels, &gradient, false);
  EXPECT_NEAR(losses.sum.item<double>() / rows, expected.item<double>(), 1e-4);
  EXPECT_LT(off_by(gradient.dy, y.grad()), 1e-4);
  EXPECT_LT(off_by(weight.value.grad(), dweight), 1e-5);
}

TEST(LlamaTest, HuggingFacesNamesAreViewsOfAllParameters) {
  LlamaOptions options = small_llama();
  options.tied = false;
  Llama model(options);
  std::int64_t count = 0;
  for (const auto& [name, tensor] : model->named_as_hugging_face()) {
    count += tensor.numel();
    tensor.zero_();
  }
  EXPECT_EQ(count, options.parameters());
  for (const torch::Tensor& p : model->parameters()) EXPECT_EQ(p.abs().max().item<double>(), 0);
}

TEST(CausalAttentionTest, GivesSoftmaxOverTheProductsAndItsGradients) {
  if (!has_fast_gemm()) GTEST_SKIP() << needs::system("oneDNN's sgemm");
  torch::manual_seed(7);
  const auto leaf = [](std::vector<std::int64_t> shape) {
    return torch::randn(shape).set_requires_grad(true);
  };
  for (const bool documents : {false, true}) {
    const torch::Tensor q = leaf({2, 9, 4, 6});
    const torch::Tensor k = leaf({2, 9, 2, 6});
    const torch::Tensor v = leaf({2, 9, 2, 6});
    torch::Tensor from;
    torch::Tensor seen = torch::ones({9, 9}, torch::kBool).tril();
    if (documents) {
      from = torch::tensor({0, 0, 0, 0, 4, 4, 4, 7, 7}, torch::kInt).repeat({2, 1});
      for (int i = 0; i < 9; ++i)
        for (int j = 0; j < from[0][i].item<int>(); ++j) seen[i][j] = false;
    }
    const torch::Tensor weights = torch::randn({2, 9, 24});
    (cpu_causal_attention(q, k, v, from) * weights).sum().backward();
    const torch::Tensor mine = cpu_causal_attention(q, k, v, from).detach();
    std::vector<torch::Tensor> gradients;
    for (torch::Tensor t : {q, k, v}) {
      gradients.push_back(t.grad().clone());
      t.mutable_grad().zero_();
    }
    const auto spread = [](const torch::Tensor& t) {
      return t.repeat_interleave(2, 2).transpose(1, 2);
    };
    const torch::Tensor scores =
        torch::matmul(q.transpose(1, 2), spread(k).transpose(-2, -1)) / std::sqrt(6.0);
    const torch::Tensor p = torch::softmax(scores.masked_fill(seen.logical_not(), -INFINITY), -1);
    const torch::Tensor out = torch::matmul(p, spread(v)).transpose(1, 2).reshape({2, 9, 24});
    (out * weights).sum().backward();
    EXPECT_LT(off_by(mine, out.detach()), 1e-5);
    EXPECT_LT(off_by(gradients[0], q.grad()), 1e-5);
    EXPECT_LT(off_by(gradients[1], k.grad()), 1e-5);
    EXPECT_LT(off_by(gradients[2], v.grad()), 1e-5);
  }
}

}  // namespace
}  // namespace assay::train
