// Steps as CUDA graphs against the same steps run plainly.
#include <gtest/gtest.h>

#include "needs.h"
#include "train/loop/device.h"
#include "train/loop/step_graph.h"
#include "train/models/bert.h"
#include "train/optim/optimizer.h"

namespace assay::train {
namespace {

class StepGraphs : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << needs::gpu();
    prepare_device(device_, Precision::fp32, 1, workload::Place{});
  }
  torch::Device device_{torch::kCUDA, 0};
};

// Trains a small BERT on batches that differ from step to step.
class Training {
 public:
  Training(torch::Device device, bool graph, double dropout) : graph_(device, graph) {
    torch::manual_seed(1);
    options_.vocabulary = 128;
    options_.dropout = dropout;
    model_ = Bert(options_);
    model_->to(device);
    parameters_ = std::make_unique<FlatParameters>(*model_, false);
    OptimizerOptions optimizer;
    optimizer.method = "adamw";
    optimizer_ = std::make_unique<Optimizer>(*parameters_, optimizer);
    torch::manual_seed(2);
  }

  double step(std::int64_t rows, double scale = 1) {
    // Drawn on the host, so that the device's generator serves the model alone.
    ++steps_;
    const auto numbers = [&](std::int64_t end, std::vector<std::int64_t> shape, std::int64_t salt) {
      std::int64_t count = 1;
      for (const std::int64_t size : shape) count *= size;
      return ((torch::arange(count) * 7919 + steps_ * 104729 + salt) % end)
          .view(shape)
          .to(parameters_->values().device());
    };
    input_.tokens = numbers(128, {rows, 32}, 1);
    input_.segments = numbers(2, {rows, 32}, 2);
    input_.picked = numbers(rows * 32, {rows * 4}, 3);
    words_ = numbers(128, {rows * 4}, 4);
    parameters_->zero_gradients();
    const torch::Tensor loss =
        graph_.run({&input_.tokens, &input_.segments, &input_.mask, &input_.picked, &words_}, scale,
                   [this](double factor) {
                     const torch::Tensor mean =
                         torch::cross_entropy_loss(model_->forward(input_).words, words_);
                     (mean * factor).backward();
                     return mean.detach();
                   });
    parameters_->check_views();
    last_gradients_ = parameters_->gradients().clone();
    optimizer_->step(1e-3, {});
    return loss.item<double>();
  }
  [[nodiscard]] StepGraph& graph() { return graph_; }
  [[nodiscard]] torch::Tensor gradients() const { return last_gradients_; }

 private:
  BertOptions options_ = BertOptions::named("tiny");
  Bert model_{nullptr};
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  StepGraph graph_;
  BertInput input_;
  torch::Tensor words_;
  torch::Tensor last_gradients_;
  std::int64_t steps_ = 0;
};

TEST_F(StepGraphs, ReplayedStepsTrainAsPlainOnesDo) {
  for (const double dropout : {0.0, 0.1}) {
    std::vector<double> plain;
    {
      Training training(device_, false, dropout);
      for (int i = 0; i < 10; ++i) plain.push_back(training.step(4));
      EXPECT_FALSE(training.graph().replayed());
    }
    Training training(device_, true, dropout);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double loss = training.step(4);
      EXPECT_EQ(training.graph().replayed(), i >= 3) << i;
      EXPECT_NEAR(loss, plain[i], 1e-4 * plain[i]) << "step " << i << ", dropout " << dropout;
    }
  }
}

TEST_F(StepGraphs, BatchesOfAnotherShapeRunPlainly) {
  Training training(device_, true, 0);
  Training plain(device_, false, 0);
  for (const std::int64_t rows : {4, 4, 4, 4, 4, 2, 4}) {
    EXPECT_NEAR(training.step(rows), plain.step(rows), 1e-3);
    if (rows == 2) {
      EXPECT_FALSE(training.graph().replayed());
    }
  }
  EXPECT_TRUE(training.graph().replayed());
}

TEST_F(StepGraphs, AnotherScaleOfTheLossIsCapturedAnew) {
  Training training(device_, true, 0);
  for (int i = 0; i < 5; ++i) training.step(4);
  const double before = training.gradients().norm().item<double>();
  for (int i = 0; i < 5; ++i) {
    training.step(4, 1024);
    EXPECT_GT(training.gradients().norm().item<double>(), 100 * before) << i;
  }
  EXPECT_TRUE(training.graph().replayed());
}

TEST_F(StepGraphs, ReleasedGraphsAreNotUsedAgain) {
  Training training(device_, true, 0);
  Training plain(device_, false, 0);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(training.step(4), plain.step(4), 1e-3);
  EXPECT_TRUE(training.graph().release());
  EXPECT_NEAR(training.step(4), plain.step(4), 1e-3);
  EXPECT_FALSE(training.graph().replayed());
  EXPECT_FALSE(training.graph().release());
}

}  // namespace
}  // namespace assay::train
