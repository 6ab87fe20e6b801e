// What a worker makes of a trial.
#include <chrono>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/morphism.h"
#include "automl/operations.h"
#include "automl/start_models.h"
#include "automl/trained_graph.h"
#include "automl/worker_protocol.h"
#include "automl_worker.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerTest, TheWaitBetweenTwoTrialsIsMeasured) {
  start();
  welcome();
  run(trial(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_GE(run(trial(2)).done.wait_s, 0.4);
  // The answer to `ready` goes out before the weights have been read.
  send(trial(3));
  while (!std::holds_alternative<automl::Ready>(receive())) {
  }
  send(trial(4));
  (void)bytes(expect<automl::Weights>().bytes);
  EXPECT_EQ(expect<Done>().trial, 3);
  const Done done = finish().done;
  EXPECT_EQ(done.trial, 4);
  RecordProperty("wait_us", static_cast<int>(1e6 * done.wait_s));
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, AChildInheritsWithoutAskingForWhatWasTrainedHere) {
  start();
  welcome();
  ASSERT_TRUE(run(trial(1)).done.ok);
  const auto operation = automl::places(small(), automl::Operation::Kind::wider).front();
  Trial child = trial(2, automl::apply(small(), operation));
  child.parent = automl::Parent{1, automl::to_json(small()), {operation}};
  const Finished finished = run(child);  // a fetch would not be an epoch
  EXPECT_TRUE(finished.done.ok) << finished.done.reason;
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, AParentsWeightsAreFetchedWhenTheyAreNotHere) {
  start("threads: 1\ndevice: cpu\ncached_weights: 0\n");
  welcome();
  const std::string weights = run(trial(1)).weights;
  const auto operation = automl::places(small(), automl::Operation::Kind::deeper).front();
  Trial child = trial(2, automl::apply(small(), operation));
  child.parent = automl::Parent{1, automl::to_json(small()), {operation}};
  send(child);
  EXPECT_EQ(expect<automl::Fetch>().trial, 1);
  send(automl::Weights{1, static_cast<std::int64_t>(weights.size())});
  send_raw(weights);
  const Finished inherited = finish();
  EXPECT_TRUE(inherited.done.ok) << inherited.done.reason;

  send(child);
  expect<automl::Fetch>();
  send(automl::Weights{1, 0});
  const Finished fresh = finish();
  EXPECT_TRUE(fresh.done.ok) << fresh.done.reason;
  EXPECT_NE(inherited.epochs.front().loss, fresh.epochs.front().loss);

  send(child);
  expect<automl::Fetch>();
  send(automl::Weights{1, static_cast<std::int64_t>(weights.size()) - 1});
  send_raw(weights.substr(0, weights.size() - 1));
  const Finished damaged = finish();
  EXPECT_FALSE(damaged.done.ok);
  EXPECT_THAT(damaged.done.reason, HasSubstr("weights of trial 1: the weights are damaged"));
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, ATrialThatCannotBeTrainedFailsAndTheWorkerGoesOn) {
  start();
  welcome();
  const auto reason = [&](const Trial& wrong) {
    const Finished finished = run(wrong);
    EXPECT_FALSE(finished.done.ok);
    EXPECT_TRUE(finished.weights.empty());
    return finished.done.reason;
  };
  Trial wrong = trial(1);
  wrong.graph["layer_list"] = Json::array();
  EXPECT_THAT(reason(wrong), HasSubstr("the graph"));
  EXPECT_THAT(reason(trial(2, automl::basic_resnet({32, 32, 3, false}, 1, 1, 4, 7))),
              HasSubstr("7 values, 'glyphs' has 10 classes"));
  EXPECT_THAT(reason(trial(3, automl::basic_resnet({16, 16, 3, false}, 1, 1, 4, 10))),
              HasSubstr("reads 16×16×3"));
  wrong = trial(4);
  wrong.hyper.learning_rate = 1e6;
  wrong.epochs = 20;
  EXPECT_THAT(reason(wrong), HasSubstr("the loss"));
  wrong = trial(5);
  wrong.hyper.batch_size = 1000;
  EXPECT_THAT(reason(wrong), HasSubstr("batch"));
  wrong = trial(6);
  wrong.parent = automl::Parent{1,
                                automl::to_json(small()),
                                {automl::places(small(), automl::Operation::Kind::wider).front()}};
  send(wrong);
  EXPECT_EQ(expect<automl::Fetch>().trial, 1);
  send(automl::Weights{1, 3});
  send_raw("???");
  EXPECT_THAT(finish().done.reason, HasSubstr("damaged"));
  EXPECT_TRUE(run(trial(8)).done.ok);
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0) << result.err;
  EXPECT_EQ(last_event(result.out, "FINISHED")["value"]["failed_trials"], 6);
}

TEST_F(WorkerTest, ATrialThatNeedsTooMuchMemoryFailsAndTheWorkerGoesOn) {
  start("threads: 1\ndevice: cpu\n", 6'000'000);
  welcome();
  using enum automl::LayerKind;
  constexpr int kUnits = 1'000'000;  // 12 GB of weights
  const Graph large({32, 32, 3, false},
                    {automl::plain_layer(flatten, 0, 1), automl::dense_layer(1, 2, 3072, kUnits),
                     automl::dense_layer(2, 3, kUnits, 10)});
  const Finished finished = run(trial(1, large));
  EXPECT_FALSE(finished.done.ok);
  EXPECT_THAT(finished.done.reason, HasSubstr("out of memory with batch_size 32"));
  EXPECT_TRUE(run(trial(2)).done.ok);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, PatienceEndsATrialEarly) {
  start();
  welcome();
  Trial stubborn = trial(1);
  stubborn.epochs = 50;
  stubborn.patience = {2, 1000};  // no epoch is better by so much
  const Finished finished = run(stubborn);
  EXPECT_TRUE(finished.done.ok);
  EXPECT_EQ(finished.done.epochs, 3);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, EveryHyperParameterChangesWhatIsTrained) {
  start();
  welcome();
  const auto first_loss = [&](const Trial& changed) {
    const Finished finished = run(changed);
    EXPECT_TRUE(finished.done.ok) << finished.done.reason;
    return finished.epochs.back().loss;
  };
  Trial base = trial(1);
  base.hyper.weight_decay = 0;
  const double loss = first_loss(base);
  EXPECT_EQ(first_loss(base), loss) << "the same trial gives the same";
  Trial changed = base;
  changed.hyper.learning_rate = 0.06;
  EXPECT_NE(first_loss(changed), loss) << "learning_rate";
  changed = base;
  changed.hyper.weight_decay = 0.01;
  EXPECT_NE(first_loss(changed), loss) << "weight_decay";
  changed = base;
  changed.hyper.label_smoothing = 0.1;
  EXPECT_NE(first_loss(changed), loss) << "label_smoothing";
  changed = base;
  changed.hyper.dropout = 0.5;
  EXPECT_NE(first_loss(changed), loss) << "dropout";
  changed = base;
  changed.seed = 2;
  EXPECT_NE(first_loss(changed), loss) << "seed";

  changed = base;
  changed.hyper.batch_size = 48;
  EXPECT_EQ(run(changed).done.trained, 2 * 96) << "whole batches";

  changed = base;
  changed.hyper.kernel_size = 5;
  const Json tensors = header_of(run(changed).weights)["tensors"];
  EXPECT_EQ(tensors[0][2], Json::array({4, 3, 5, 5}));
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0);
  const automl::Operations operations =
      automl::exact_operations(automl::with_kernel_size(small(), 5));
  EXPECT_EQ(last_event(result.out, "STEP_END")["value"]["flops"],
            128.0 * static_cast<double>(operations.forward + operations.backward));
}

}  // namespace
}  // namespace assay::train
