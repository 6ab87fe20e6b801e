#include <cmath>

#include <gtest/gtest.h>

#include "core/error.h"
#include "train/optim/optimizer.h"
#include "train/optim/update_kernels.h"

namespace assay::train {
namespace {

// A matrix (decayed) and a bias (not), with gradients that differ from step to step.
struct Problem {
  torch::nn::Linear layer{torch::nn::LinearOptions(37, 1000)};
  FlatParameters flat;

  Problem() : flat((seed(), *layer), false) {
    torch::NoGradGuard no_grad;
    torch::manual_seed(11);
    layer->weight.normal_();
    layer->bias.normal_();
  }
  static void seed() { torch::manual_seed(10); }
  void set_gradients(int step) {
    torch::manual_seed(100 + step);
    for (const FlatParameters::Entry& entry : flat.entries())
      FlatParameters::part(flat.gradients(), entry).normal_();
  }
};

// The same gradients for both, as bf16 has them.
void set_rounded_gradients(Problem& rounded, Problem& floats, int step) {
  floats.set_gradients(step);
  for (const FlatParameters::Entry& entry : floats.flat.entries()) {
    torch::Tensor gradient = floats.flat.gradient(entry);
    gradient.copy_(gradient.to(torch::kBFloat16));
    rounded.flat.gradient(entry).copy_(gradient);
  }
}

OptimizerOptions method(const std::string& name) {
  OptimizerOptions options;
  options.method = name;
  options.weight_decay = 0.1;
  return options;
}

class OptimizerTest : public ::testing::TestWithParam<bool> {
 protected:
  // 5 steps with ours and with libtorch's optimizer in two groups; gives the largest difference.
  template <typename TorchOptimizer, typename Options>
  static double difference(OptimizerOptions ours, Options decayed, Options plain) {
    ours.plain = GetParam();
    Problem a;
    Problem b;
    Optimizer mine(a.flat, ours);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<torch::Tensor>{b.layer->weight},
                        std::make_unique<Options>(decayed));
    groups.emplace_back(std::vector<torch::Tensor>{b.layer->bias},
                        std::make_unique<Options>(plain));
    TorchOptimizer theirs(std::move(groups), decayed);
    for (int step = 0; step < 5; ++step) {
      a.set_gradients(step);
      b.set_gradients(step);
      mine.step(0.05);
      theirs.step();
    }
    return (a.flat.values() - b.flat.values()).abs().max().template item<double>();
  }
};

TEST_P(OptimizerTest, SgdEqualsLibtorchs) {
  using Options = torch::optim::SGDOptions;
  EXPECT_LT((difference<torch::optim::SGD, Options>(method("sgd"),
                                                    Options(0.05).momentum(0.9).weight_decay(0.1),
                                                    Options(0.05).momentum(0.9))),
            1e-5);
}

TEST_P(OptimizerTest, SgdWithNesterovEqualsLibtorchs) {
  using Options = torch::optim::SGDOptions;
  OptimizerOptions ours = method("sgd");
  ours.nesterov = true;
  EXPECT_LT((difference<torch::optim::SGD, Options>(
                ours, Options(0.05).momentum(0.9).weight_decay(0.1).nesterov(true),
                Options(0.05).momentum(0.9).nesterov(true))),
            1e-5);
}

TEST_P(OptimizerTest, AdamWEqualsLibtorchs) {
  using Options = torch::optim::AdamWOptions;
  EXPECT_LT((difference<torch::optim::AdamW, Options>(
                method("adamw"), Options(0.05).weight_decay(0.1), Options(0.05).weight_decay(0))),
            1e-5);
}

INSTANTIATE_TEST_SUITE_P(OwnKernelsAndPlainOperators, OptimizerTest, ::testing::Bool());

// The formulas of the paper, in double precision and with loops.
TEST(LarsTest, FollowsItsDefinition) {
  Problem problem;
  Optimizer optimizer(problem.flat, method("lars"));
  const auto weight = [&] { return problem.layer->weight.detach().to(torch::kDouble).clone(); };
  const auto bias = [&] { return problem.layer->bias.detach().to(torch::kDouble).clone(); };
  torch::Tensor w = weight();
  torch::Tensor b = bias();
  torch::Tensor vw = torch::zeros_like(w);
  torch::Tensor vb = torch::zeros_like(b);
  for (int step = 0; step < 3; ++step) {
    problem.set_gradients(step);
    const torch::Tensor gw = problem.layer->weight.grad().to(torch::kDouble).clone();
    const torch::Tensor gb = problem.layer->bias.grad().to(torch::kDouble).clone();
    optimizer.step(2.0);
    const double pn = w.norm().item<double>();
    const double local = 0.001 * pn / (gw.norm().item<double>() + 0.1 * pn);
    vw = 0.9 * vw + local * (gw + 0.1 * w);
    vb = 0.9 * vb + gb;
    w = w - 2.0 * vw;
    b = b - 2.0 * vb;
  }
  EXPECT_TRUE(torch::allclose(weight(), w, 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(bias(), b, 1e-5, 1e-5));
}

TEST(LambTest, FollowsItsDefinition) {
  Problem problem;
  OptimizerOptions options = method("lamb");
  options.epsilon = 1e-6;
  Optimizer optimizer(problem.flat, options);
  const auto copy = [](const torch::Tensor& t) { return t.detach().to(torch::kDouble).clone(); };
  std::vector<torch::Tensor> values{copy(problem.layer->weight), copy(problem.layer->bias)};
  std::vector<torch::Tensor> m{torch::zeros_like(values[0]), torch::zeros_like(values[1])};
  std::vector<torch::Tensor> v{torch::zeros_like(values[0]), torch::zeros_like(values[1])};
  for (int step = 0; step < 3; ++step) {
    problem.set_gradients(step);
    const std::vector<torch::Tensor> g{copy(problem.layer->weight.grad()),
                                       copy(problem.layer->bias.grad())};
    optimizer.step(0.01);
    for (std::size_t i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      torch::Tensor u = (m[i] / (1 - std::pow(0.9, step + 1))) /
                        ((v[i] / (1 - std::pow(0.999, step + 1))).sqrt() + 1e-6);
      double trust = 1;
      if (i == 0) {
        u = u + 0.1 * values[i];
        trust = (values[i].norm() / u.norm()).item<double>();
      }
      values[i] = values[i] - 0.01 * trust * u;
    }
  }
  EXPECT_TRUE(torch::allclose(copy(problem.layer->weight), values[0], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(copy(problem.layer->bias), values[1], 1e-4, 1e-5));
}

TEST(OptimizerFactorTest, MultipliesTheGradientsFirst) {
  for (const std::string& name : optimizer_methods()) {
    Problem scaled;
    Problem plain;
    Optimizer a(scaled.flat, method(name));
    Optimizer b(plain.flat, method(name));
    scaled.set_gradients(0);
    plain.set_gradients(0);
    plain.flat.gradients().mul_(0.25);
    a.step(0.01, torch::scalar_tensor(0.25, torch::kDouble));
    b.step(0.01);
    EXPECT_TRUE(torch::allclose(scaled.flat.values(), plain.flat.values(), 1e-6, 1e-6)) << name;
  }
}

TEST(OptimizerFactorTest, AnUnknownMethodIsAnErrorThatNamesTheNearest) {
  Problem problem;
  try {
    Optimizer optimizer(problem.flat, method("adamW"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("adamw"), std::string::npos);
  }
}

TEST(SumOfSquaresTest, IsTheSameForAnyNumberOfThreads) {
  const torch::Tensor x = torch::randn({200'003});
  const double expected = x.to(torch::kDouble).square().sum().item<double>();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const double one = sum_of_squares(x.numel(), x.data_ptr<float>());
  at::set_num_threads(2);
  const double two = sum_of_squares(x.numel(), x.data_ptr<float>());
  at::set_num_threads(threads);
  EXPECT_EQ(one, two);
  EXPECT_NEAR(one, expected, 1e-9 * expected);
}

TEST(SmallStateTest, KeepsMomentsInHalfTheBytesAndTrainsAlike) {
  Problem a;
  Problem b;
  OptimizerOptions small = method("adamw");
  small.small_state = true;
  Optimizer exact(a.flat, method("adamw"));
  Optimizer rounded(b.flat, small);
  for (const auto& [name, moment] : rounded.state()) EXPECT_EQ(moment.element_size(), 2) << name;
  const torch::Tensor begin = a.flat.values().clone();
  for (int step = 0; step < 50; ++step) {
    a.set_gradients(step);
    b.set_gradients(step);
    exact.step(0.01);
    rounded.step(0.01);
  }
  const torch::Tensor moved = a.flat.values() - begin;
  EXPECT_LT(((b.flat.values() - a.flat.values()).norm() / moved.norm()).item<double>(), 0.01);
}

// Changes by a thousandth: rounding to the nearest would never make them.
TEST(SmallStateTest, SmallChangesOfAMomentAreNotLost) {
  Problem problem;
  OptimizerOptions small = method("adamw");
  small.small_state = true;
  small.beta1 = 0.999;
  Optimizer optimizer(problem.flat, small);
  problem.flat.gradients().fill_(1);
  for (int step = 0; step < 1000; ++step) optimizer.step(0);
  const double expected = 1 - std::pow(0.999, 1000);
  EXPECT_NEAR(optimizer.state()[0].second.to(torch::kFloat).mean().item<double>(), expected,
              0.002 * expected);
}

TEST(SmallStateTest, IsTheSameForAnyNumberOfThreads) {
  const auto trained = [](int threads) {
    at::set_num_threads(threads);
    Problem problem;
    OptimizerOptions small = method("adamw");
    small.small_state = true;
    Optimizer optimizer(problem.flat, small);
    for (int step = 0; step < 3; ++step) {
      problem.set_gradients(step);
      optimizer.step(0.01);
    }
    return problem.flat.values().clone();
  };
  const int before = at::get_num_threads();
  const torch::Tensor one = trained(1);
  EXPECT_TRUE(torch::equal(one, trained(2)));
  at::set_num_threads(before);
}

TEST(SmallStateTest, IsOfAdamWAlone) {
  Problem problem;
  OptimizerOptions small = method("sgd");
  small.small_state = true;
  EXPECT_THROW(Optimizer(problem.flat, small), Error);
}

TEST(RoundedGradients, GiveTheSameStepAsInFloat) {
  for (const torch::Tensor& factor : {torch::Tensor(), torch::scalar_tensor(0.25)}) {
    Problem rounded;
    rounded.flat.expect_overwritten("weight");
    rounded.flat.round_gradients(torch::kBFloat16);
    Problem floats;
    Optimizer a(rounded.flat, method("adamw"));
    Optimizer b(floats.flat, method("adamw"));
    for (int step = 0; step < 3; ++step) {
      set_rounded_gradients(rounded, floats, step);
      a.step(0.05, factor);
      b.step(0.05, factor);
    }
    EXPECT_LT((rounded.flat.values() - floats.flat.values()).abs().max().item<double>(), 1e-5);
  }
}

TEST(RoundedGradients, AreRefusedByMethodsThatNeedOneBuffer) {
  Problem problem;
  problem.flat.expect_overwritten("weight");
  problem.flat.round_gradients(torch::kBFloat16);
  Optimizer optimizer(problem.flat, method("lamb"));
  EXPECT_THROW(optimizer.step(0.05), Error);
}

}  // namespace
}  // namespace assay::train
