// Our kernels against the plain computation in double precision, values and gradients.
#include <gtest/gtest.h>

#include "needs.h"
#include "train/models/bert.h"
#include "train/models/cuda_dense.h"
#include "train/models/cuda_loss.h"
#include "train/models/cuda_norm.h"
#include "train/models/cuda_stem.h"
#include "train/models/norm_act.h"
#include "train/models/resnet.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace assay::train {
namespace {

using torch::Tensor;

Tensor random(std::vector<std::int64_t> shape, torch::ScalarType type = torch::kFloat) {
  return torch::randn(shape, torch::TensorOptions(torch::kFloat).device(torch::kCUDA)).to(type);
}

Tensor leaf(const Tensor& x) {
  return x.detach().clone().requires_grad_();
}

Tensor exact(const Tensor& x) {
  return x.detach().to(torch::kDouble).requires_grad_();
}

double distance(const Tensor& a, const Tensor& reference) {
  const Tensor r = reference.detach().to(torch::kDouble);
  return ((a.detach().to(torch::kDouble) - r).norm() / r.norm()).item<double>();
}

class Cuda : public testing::TestWithParam<torch::ScalarType> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
    torch::manual_seed(1);
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
  }
  [[nodiscard]] torch::ScalarType type() const { return GetParam(); }
  [[nodiscard]] double tolerance() const {
    return type() == torch::kFloat ? 2e-6 : type() == torch::kHalf ? 2e-3 : 1e-2;
  }
};

torch::nn::BatchNorm2d make_norm(std::int64_t channels) {
  torch::nn::BatchNorm2d norm(channels);
  norm->to(torch::kCUDA);
  torch::NoGradGuard no_grad;
  norm->weight.uniform_(0.5, 1.5);
  norm->bias.uniform_(-0.5, 0.5);
  return norm;
}

Tensor images(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
              torch::ScalarType type) {
  // A mean far from 0, as ReLUs before leave it.
  return (random({n, c, h, w}) + 3).to(type).contiguous(torch::MemoryFormat::ChannelsLast);
}

TEST_P(Cuda, NormReluAndAddition) {
  for (const bool with_addend : {false, true}) {
    for (const std::int64_t channels : {16, 64, 256, 2048}) {
      torch::nn::BatchNorm2d norm = make_norm(channels);
      const Tensor x = leaf(images(3, channels, 7, 9, type()));
      const Tensor addend = with_addend ? leaf(images(3, channels, 7, 9, type()) - 3) : Tensor();
      ASSERT_TRUE(cuda_norm_fits(*norm, x));
      const Fork y = cuda_norm_act(*norm, x, addend, true);
      const Tensor up = random({3, channels, 7, 9}, type());
      const Tensor up_skip = random({3, channels, 7, 9}, type());
      ((y.main * up).sum() + (y.skip * up_skip).sum()).backward();

      const Tensor x64 = exact(x);
      const Tensor w64 = exact(norm->weight);
      const Tensor b64 = exact(norm->bias);
      const Tensor a64 = with_addend ? exact(addend) : Tensor();
      Tensor mean = torch::zeros({channels}, w64.options()).detach();
      Tensor variance = torch::ones({channels}, w64.options()).detach();
      Tensor r = torch::batch_norm(x64, w64, b64, mean, variance, true, 0.1, 1e-5, false);
      if (with_addend) r = r + a64;
      r = r.relu();
      ((r * up.to(torch::kDouble)).sum() + (r * up_skip.to(torch::kDouble)).sum()).backward();

      EXPECT_LT(distance(y.main, r), tolerance());
      EXPECT_EQ(y.skip.data_ptr(), y.main.data_ptr());
      // Elements at the edge of the ReLU may fall on either side of it.
      const double loose = type() == torch::kFloat ? 1e-5 : 4 * tolerance();
      EXPECT_LT(distance(x.grad(), x64.grad()), loose) << channels;
      EXPECT_LT(distance(norm->weight.grad(), w64.grad()), loose) << channels;
      EXPECT_LT(distance(norm->bias.grad(), b64.grad()), loose) << channels;
      if (with_addend) {
        EXPECT_LT(distance(addend.grad(), a64.grad()), loose) << channels;
      }
      EXPECT_LT(distance(norm->running_mean, mean), tolerance());
      EXPECT_LT(distance(norm->running_var, variance), tolerance());
    }
  }
}

TEST_P(Cuda, NormWithoutRelu) {
  torch::nn::BatchNorm2d norm = make_norm(64);
  const Tensor x = leaf(images(2, 64, 5, 5, type()));
  const Tensor y = cuda_norm_act(*norm, x, {}, false).main;
  const Tensor up = random({2, 64, 5, 5}, type());
  (y * up).sum().backward();
  const Tensor x64 = exact(x);
  const Tensor r = torch::batch_norm(x64, exact(norm->weight), exact(norm->bias), {}, {}, true, 0.1,
                                     1e-5, false);
  (r * up.to(torch::kDouble)).sum().backward();
  EXPECT_LT(distance(y, r), tolerance());
  EXPECT_LT(distance(x.grad(), x64.grad()), 4 * tolerance());
}

TEST_P(Cuda, NormAndPooling) {
  for (const std::int64_t size : {7, 8, 15}) {
    torch::nn::BatchNorm2d norm = make_norm(64);
    const Tensor x = leaf(images(2, 64, size, size + 1, type()));
    const Tensor y = cuda_norm_pool(*norm, x);
    const Tensor up = torch::randn_like(y);
    (y * up).sum().backward();
    const Tensor x64 = exact(x);
    const Tensor w64 = exact(norm->weight);
    const Tensor normed =
        torch::batch_norm(x64, w64, exact(norm->bias), {}, {}, true, 0.1, 1e-5, false);
    // Rounded as the kernel rounds, or other elements of a window would win.
    const Tensor rounding = (normed.to(type()).to(torch::kDouble) - normed).detach();
    const Tensor r = torch::max_pool2d((normed + rounding).relu(), 3, 2, 1);
    (r * up.to(torch::kDouble)).sum().backward();
    ASSERT_EQ(y.sizes(), r.sizes());
    EXPECT_LT(distance(y, r), tolerance());
    const double loose = type() == torch::kFloat ? 1e-4 : 0.1;
    EXPECT_LT(distance(x.grad(), x64.grad()), loose) << size;
    EXPECT_LT(distance(norm->weight.grad(), w64.grad()), loose) << size;
  }
}

TEST_P(Cuda, FirstConvolution) {
  for (const std::int64_t size : {32, 38}) {
    torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false));
    conv->to(torch::kCUDA);
    const Tensor x = random({2, 3, size, size + 2}, type());
    ASSERT_TRUE(cuda_stem_fits(*conv, x));
    const Tensor y = cuda_stem(*conv, x);
    const Tensor w64 = exact(conv->weight);
    const Tensor r = torch::conv2d(x.to(torch::kDouble), w64, {}, 2, 3);
    ASSERT_EQ(y.sizes(), r.sizes());
    const Tensor up = torch::randn_like(y);
    (y * up).sum().backward();
    (r * up.to(torch::kDouble)).sum().backward();
    EXPECT_LT(distance(y, r), 2 * tolerance());
    EXPECT_LT(distance(conv->weight.grad(), w64.grad()), 2 * tolerance());
  }
}

TEST_P(Cuda, LinearAndGelu) {
  torch::nn::Linear layer(256, 512);
  layer->to(torch::kCUDA);
  const Tensor x = leaf(random({4, 33, 256}, type()));
  const Tensor y = cuda_linear_gelu(x, *layer);
  const Tensor up = random({4, 33, 512}, type());
  (y * up).sum().backward();
  const Tensor x64 = exact(x);
  const Tensor w64 = exact(layer->weight);
  const Tensor b64 = exact(layer->bias);
  const Tensor r = torch::gelu(torch::linear(x64, w64, b64));
  (r * up.to(torch::kDouble)).sum().backward();
  EXPECT_LT(distance(y, r), 2 * tolerance());
  EXPECT_LT(distance(x.grad(), x64.grad()), 2 * tolerance());
  EXPECT_LT(distance(layer->weight.grad(), w64.grad()), 2 * tolerance());
  EXPECT_LT(distance(layer->bias.grad(), b64.grad()), 2 * tolerance());
}

TEST_P(Cuda, LinearIntoHeads) {
  torch::nn::Linear layer(128, 3 * 128);
  layer->to(torch::kCUDA);
  const Tensor x = leaf(random({3, 17, 128}, type()));
  const std::vector<Tensor> parts = cuda_linear_heads(x, *layer, 2);
  ASSERT_EQ(parts.size(), 3U);
  Tensor loss;
  Tensor reference;
  const Tensor x64 = exact(x);
  const Tensor w64 = exact(layer->weight);
  const Tensor b64 = exact(layer->bias);
  const std::vector<Tensor> plain =
      torch::linear(x64, w64, b64).view({3, 17, 3, 2, 64}).permute({2, 0, 3, 1, 4}).unbind(0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LT(distance(parts[i], plain[i]), 2 * tolerance());
    const Tensor up = random({3, 2, 17, 64}, type());
    const Tensor part = (parts[i] * up).sum();
    const Tensor exact_part = (plain[i] * up.to(torch::kDouble)).sum();
    loss = loss.defined() ? loss + part : part;
    reference = reference.defined() ? reference + exact_part : exact_part;
  }
  loss.backward();
  reference.backward();
  EXPECT_LT(distance(x.grad(), x64.grad()), 2 * tolerance());
  EXPECT_LT(distance(layer->weight.grad(), w64.grad()), 2 * tolerance());
  EXPECT_LT(distance(layer->bias.grad(), b64.grad()), 2 * tolerance());
}

TEST_P(Cuda, LinearAdditionAndNorm) {
  for (const std::int64_t width : {128, 768, 1024}) {
    torch::nn::Linear layer(256, width);
    torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({width}).eps(1e-12));
    layer->to(torch::kCUDA);
    norm->to(torch::kCUDA);
    {
      torch::NoGradGuard no_grad;
      norm->weight.uniform_(0.5, 1.5);
      norm->bias.uniform_(-0.5, 0.5);
    }
    const Tensor h = leaf(random({5, 7, 256}, type()));
    const Tensor skip = leaf(random({5, 7, width}, type()));
    const Fork y = cuda_linear_add_norm(h, *layer, skip, *norm, 0);
    const Tensor up = random({5, 7, width}, type());
    const Tensor up_skip = random({5, 7, width}, type());
    ((y.main * up).sum() + (y.skip * up_skip).sum()).backward();
    const Tensor h64 = exact(h);
    const Tensor s64 = exact(skip);
    const Tensor w64 = exact(layer->weight);
    const Tensor b64 = exact(layer->bias);
    const Tensor nw64 = exact(norm->weight);
    const Tensor nb64 = exact(norm->bias);
    const Tensor r =
        torch::layer_norm(s64 + torch::linear(h64, w64, b64), {width}, nw64, nb64, 1e-12);
    ((r * up.to(torch::kDouble)).sum() + (r * up_skip.to(torch::kDouble)).sum()).backward();
    EXPECT_LT(distance(y.main, r), 2 * tolerance()) << width;
    EXPECT_LT(distance(h.grad(), h64.grad()), 3 * tolerance()) << width;
    EXPECT_LT(distance(skip.grad(), s64.grad()), 3 * tolerance()) << width;
    EXPECT_LT(distance(layer->weight.grad(), w64.grad()), 3 * tolerance()) << width;
    EXPECT_LT(distance(layer->bias.grad(), b64.grad()), 3 * tolerance()) << width;
    EXPECT_LT(distance(norm->weight.grad(), nw64.grad()), 3 * tolerance()) << width;
    EXPECT_LT(distance(norm->bias.grad(), nb64.grad()), 3 * tolerance()) << width;
  }
}

// The last columns are there for the product's sake, some rows have nothing to predict.
TEST_P(Cuda, CrossEntropyOfPaddedLogits) {
  for (const double smoothing : {0.0, 0.1}) {
    for (const std::int64_t classes : {5, 1001, 30522}) {
      const std::int64_t columns = (classes + 63) / 64 * 64;
      const Tensor logits = leaf((4 * random({37, columns})).to(type()));
      const Tensor labels =
          torch::randint(0, classes, {37}, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
      labels.slice(0, 3, 9).fill_(-1);
      ASSERT_TRUE(cuda_cross_entropy_fits(logits));
      const Tensor loss = cuda_cross_entropy(logits, classes, labels, -1, smoothing);
      (3 * loss).backward();
      const Tensor exact_logits = exact(logits);
      const Tensor expected = torch::cross_entropy_loss(exact_logits.narrow(1, 0, classes), labels,
                                                        {}, torch::Reduction::Mean, -1, smoothing);
      (3 * expected).backward();
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
      EXPECT_LT(distance(logits.grad(), exact_logits.grad()), tolerance()) << classes;
      EXPECT_EQ(logits.grad().slice(0, 3, 9).abs().sum().item<double>(), 0);
    }
  }
}

TEST_P(Cuda, CrossEntropyOfALabelThatIsNoClassIsNotANumber) {
  const Tensor logits = random({4, 64}, type());
  const Tensor labels =
      torch::full({4}, 60, torch::TensorOptions(torch::kLong).device(torch::kCUDA));
  EXPECT_TRUE(std::isnan(cuda_cross_entropy(logits, 50, labels, -1, 0).item<double>()));
}

INSTANTIATE_TEST_SUITE_P(Types, Cuda,
                         testing::Values(torch::kFloat, torch::kBFloat16, torch::kHalf));

class CudaModels : public Cuda {};

// With a norm whose weight is 1 and bias 0 and a skip of 0, the sum's zeros are what was dropped.
TEST_P(CudaModels, DropoutDropsItsShareAndBackwardDropsTheSame) {
  constexpr std::int64_t kWidth = 1024;
  torch::nn::Linear layer(kWidth, kWidth);
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({kWidth}));
  layer->to(torch::kCUDA);
  norm->to(torch::kCUDA);
  const Tensor h = leaf(random({512, kWidth}, type()));
  const Tensor skip = leaf(torch::zeros({512, kWidth}, h.options()));
  {
    torch::NoGradGuard no_grad;
    layer->weight.copy_(torch::eye(kWidth));
    layer->bias.zero_();
  }
  const Fork y = cuda_linear_add_norm(h, *layer, skip, *norm, 0.25);
  // What was dropped has the value that the norm gives to 0, the commonest of its row.
  const Tensor dropped =
      (y.main == std::get<0>(y.main.to(torch::kFloat).mode(-1, true)).to(type()));
  EXPECT_NEAR(dropped.to(torch::kDouble).mean().item<double>(), 0.25, 0.003);
  (y.main * random({512, kWidth}, type())).sum().backward();
  // The weight is the identity, so the gradient of h is 0 exactly where it was dropped.
  const Tensor zero = h.grad() == 0;
  EXPECT_GT((zero == dropped).to(torch::kDouble).mean().item<double>(), 0.995);
  const Fork again = cuda_linear_add_norm(h, *layer, skip, *norm, 0.25);
  EXPECT_FALSE(torch::equal(again.main, y.main));
}

// Batch norm and ReLU magnify rounding on the way through fifty layers; so the measure is how far
// plain operators in float are from the same in double.
TEST_P(CudaModels, ResNetsGradientsAreAsExactAsWithPlainOperators) {
  const ResNetOptions options = ResNetOptions::imagenet(50, 10);
  ResNet ours(options);
  ResNet plain(options);
  ResNet reference(options);
  {
    torch::NoGradGuard no_grad;
    const auto from = ours->named_parameters();
    for (auto& item : plain->named_parameters()) item.value().copy_(from[item.key()]);
    for (auto& item : reference->named_parameters()) item.value().copy_(from[item.key()]);
  }
  reference->to(torch::kDouble);
  ours->to(torch::kCUDA);
  const Tensor x = torch::randn({16, 3, 64, 64});
  const Tensor labels = torch::randint(0, 10, {16}, torch::kLong);
  const Tensor exact_loss =
      torch::cross_entropy_loss(reference->forward(x.to(torch::kDouble)), labels);
  exact_loss.backward();
  torch::cross_entropy_loss(plain->forward(x), labels).backward();
  const Tensor loss = torch::cross_entropy_loss(
      ours->forward(x.to(torch::kCUDA).contiguous(torch::MemoryFormat::ChannelsLast)),
      labels.to(torch::kCUDA));
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), exact_loss.item<double>(), 1e-3);
  const auto of_plain = plain->named_parameters();
  const auto exact_ones = reference->named_parameters();
  for (const auto& item : ours->named_parameters()) {
    const Tensor& truth = exact_ones[item.key()].grad();
    EXPECT_LT(distance(item.value().grad().cpu(), truth),
              3 * distance(of_plain[item.key()].grad(), truth) + 1e-4)
        << item.key();
  }
}

TEST_P(CudaModels, BertLearnsAsWithPlainOperators) {
  BertOptions options = BertOptions::named("tiny");
  options.vocabulary = 1001;
  options.dropout = 0;
  Bert ours(options);
  Bert plain(options);
  {
    torch::NoGradGuard no_grad;
    const auto from = ours->named_parameters();
    for (auto& item : plain->named_parameters()) item.value().copy_(from[item.key()]);
  }
  BertInput input;
  input.tokens = torch::randint(0, 1001, {4, 32}, torch::kLong);
  input.segments = torch::randint(0, 2, {4, 32}, torch::kLong);
  input.picked = torch::randint(0, 128, {20}, torch::kLong);
  const Tensor words = torch::randint(0, 1001, {20}, torch::kLong);
  const Tensor next = torch::randint(0, 2, {4}, torch::kLong);
  const auto loss_of = [](Bert& model, const BertInput& in, const Tensor& w, const Tensor& n) {
    const BertOutput out = model->forward(in);
    return torch::cross_entropy_loss(out.words, w) + torch::cross_entropy_loss(out.next, n);
  };
  const Tensor reference = loss_of(plain, input, words, next);
  reference.backward();
  ours->to(torch::kCUDA);
  BertInput moved;
  moved.tokens = input.tokens.to(torch::kCUDA);
  moved.segments = input.segments.to(torch::kCUDA);
  moved.picked = input.picked.to(torch::kCUDA);
  const Tensor loss = loss_of(ours, moved, words.to(torch::kCUDA), next.to(torch::kCUDA));
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), reference.item<double>(), 1e-4);
  const auto theirs = plain->named_parameters();
  for (const auto& item : ours->named_parameters())
    EXPECT_LT(distance(item.value().grad().cpu(), theirs[item.key()].grad()), 1e-3) << item.key();
}

TEST_P(CudaModels, UpdatesAreThoseOfPlainOperators) {
  for (const std::string method : {"sgd", "adamw"}) {
    torch::manual_seed(3);
    torch::nn::Linear a(33, 65);
    torch::nn::Linear b(33, 65);
    a->to(torch::kCUDA);
    b->to(torch::kCUDA);
    {
      torch::NoGradGuard no_grad;
      b->weight.copy_(a->weight);
      b->bias.copy_(a->bias);
    }
    OptimizerOptions options;
    options.method = method;
    options.weight_decay = 0.1;
    options.nesterov = true;
    FlatParameters ours(*a, false);
    FlatParameters theirs(*b, false);
    Optimizer fused(ours, options);
    options.plain = true;
    Optimizer plain(theirs, options);
    for (int step = 0; step < 5; ++step) {
      const Tensor gradient = torch::randn_like(ours.gradients());
      ours.gradients().copy_(gradient);
      theirs.gradients().copy_(gradient);
      fused.step(0.01, clip_factor(gradient_norm(ours), 1.0, 1));
      plain.step(0.01, clip_factor(gradient_norm(theirs), 1.0, 1));
    }
    // Five steps of float arithmetic in another order.
    EXPECT_LT(distance(ours.values(), theirs.values()), 1e-5) << method;
  }
}

INSTANTIATE_TEST_SUITE_P(Float, CudaModels, testing::Values(torch::kFloat));

}  // namespace
}  // namespace assay::train
