#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "train/loop/step_loop.h"

namespace assay::train {
namespace {

// One weight that starts at 0 and is to be the mean of the numbers in a batch: the gradient of
// (w - x)² is 2(w - x).
class MeanTask final : public Task {
 public:
  explicit MeanTask(std::vector<double> numbers) : numbers_(std::move(numbers)) {
    weight_ = model_.register_parameter("weight", torch::zeros({1}));
  }

  torch::nn::Module& model() override { return model_; }
  void start(const data::Position&, std::int64_t) override {}
  std::int64_t batches_per_epoch() const override {
    return static_cast<std::int64_t>(numbers_.size());
  }
  data::Position position() const override { return {0, taken}; }
  BatchWork next() override {
    x_ = torch::full({1}, numbers_[static_cast<std::size_t>(taken++) % numbers_.size()]);
    return {1, 0, 10};
  }
  std::vector<torch::Tensor*> inputs() override { return {&x_}; }
  torch::Tensor loss() override { return (weight_ - x_).square().mean(); }
  std::int64_t rows() const override { return 1; }
  void resize(std::int64_t) override {}
  void set_batch_size(std::int64_t) override {}
  std::int64_t max_batch_size() const override { return 1; }
  Evaluation evaluate() override { return {}; }
  Qualities qualities(const Evaluation&) const override { return {}; }
  double best_quality() const override { return 0; }
  std::int64_t damaged() const override { return 0; }
  double flops_per_sample() const override { return 10; }
  bool skip(BatchWork&) override { return false; }

  std::int64_t taken = 0;

 private:
  std::vector<double> numbers_;
  torch::nn::Module model_;
  torch::Tensor weight_;
  torch::Tensor x_;
};

class StepLoopTest : public ::testing::Test {
 protected:
  StepLoopTest() {
    settings_.optimizer.momentum = 0;
    settings_.schedule.shape = "constant";
    settings_.schedule.base = 0.25;
  }
  // The weight after so many steps.
  double train(MeanTask& task, int steps) {
    losses_.clear();
    Communicator alone({}, torch::kCPU, {}, {});
    StepLoop loop(settings_, task, alone, torch::kCPU, nullptr,
                  [this](std::int64_t, double loss) { losses_.push_back(loss); });
    loop.plan(steps, task.batches_per_epoch());
    for (int i = 0; i < steps; ++i) loop.step();
    EXPECT_EQ(loop.steps(), steps);
    samples_ = loop.samples();
    return loop.parameters().values()[0].item<double>();
  }

  Settings settings_;
  std::vector<double> losses_;
  double samples_ = 0;
};

TEST_F(StepLoopTest, AStepIsTheOptimizersOnTheLossOfItsBatch) {
  MeanTask task({4});
  EXPECT_DOUBLE_EQ(train(task, 1), 0.25 * 2 * 4);
  EXPECT_EQ(losses_, (std::vector<double>{16}));
}

TEST_F(StepLoopTest, AccumulationIsOneStepOnTheMeanOfItsBatches) {
  settings_.accumulation = 2;
  MeanTask task({2, 6});
  EXPECT_DOUBLE_EQ(train(task, 1), 0.25 * 2 * 4);
  EXPECT_EQ(losses_, (std::vector<double>{(4 + 36) / 2.0}));
  EXPECT_EQ(samples_, 2);
}

TEST_F(StepLoopTest, ARepeatedBatchIsTakenOnce) {
  settings_.repeat_batch = true;
  MeanTask task({4, 100});
  static_cast<void>(train(task, 3));
  EXPECT_EQ(task.taken, 1);
  EXPECT_EQ(samples_, 3);
  EXPECT_EQ(losses_, (std::vector<double>{16, 4, 1}));
}

TEST_F(StepLoopTest, TheAverageFollowsTheParameters) {
  settings_.ema_decay = 0.5;
  MeanTask task({4});
  Communicator alone({}, torch::kCPU, {}, {});
  StepLoop loop(settings_, task, alone, torch::kCPU, nullptr, [](std::int64_t, double) {});
  loop.plan(1, 1);
  loop.step();
  ASSERT_NE(loop.average(), nullptr);
  loop.average()->swap();
  EXPECT_LT(loop.parameters().values()[0].item<double>(), 2);
}

TEST_F(StepLoopTest, WhatTheLossFunctionThrowsEndsTheStep) {
  MeanTask task({4});
  Communicator alone({}, torch::kCPU, {}, {});
  StepLoop loop(settings_, task, alone, torch::kCPU, nullptr, [](std::int64_t, double) {
    throw Error(ErrorKind::round_failed, "the loss is not finite");
  });
  loop.plan(1, 1);
  EXPECT_THROW(loop.step(), Error);
  EXPECT_EQ(loop.samples(), 1) << "what was trained on before counts";
}

TEST_F(StepLoopTest, GradientsThatAreNotFiniteEndTheTrainingAndLeaveTheParametersAsTheyWere) {
  settings_.clip_norm = 1;
  MeanTask task({std::nan("")});
  Communicator alone({}, torch::kCPU, {}, {});
  StepLoop loop(settings_, task, alone, torch::kCPU, nullptr, [&](std::int64_t, double loss) {
    EXPECT_TRUE(std::isnan(loss));
    EXPECT_FALSE(loop.gradients_finite());
  });
  loop.plan(1, 1);
  EXPECT_THROW(loop.step(), Error);
  EXPECT_EQ(loop.parameters().values()[0].item<double>(), 0);
}

}  // namespace
}  // namespace assay::train
