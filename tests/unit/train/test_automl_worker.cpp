// What a worker says, when it ends, and why.
#include <cmath>
#include <stdexcept>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "automl/operations.h"
#include "automl/worker_protocol.h"
#include "automl_worker.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "send_signal.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerTest, SaysWhoItIsAndTrainsATrial) {
  start();
  accept();
  const auto hello = expect<automl::Hello>();
  EXPECT_EQ(hello.protocol, automl::kProtocolVersion);
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.device, "cpu");
  EXPECT_FALSE(hello.host.empty());
  expect<automl::Ready>();
  const Finished finished = run(trial(7));
  ASSERT_EQ(finished.epochs.size(), 2U);
  double best = 0;
  for (int e = 1; e <= 2; ++e) {
    const Epoch& epoch = finished.epochs[static_cast<std::size_t>(e - 1)];
    EXPECT_EQ(epoch.trial, 7);
    EXPECT_EQ(epoch.epoch, e);
    EXPECT_EQ(epoch.trained, 128 * e);
    EXPECT_EQ(epoch.validated, 40 * e);
    // A count of 40 samples.
    EXPECT_NEAR(epoch.accuracy * 40, std::round(epoch.accuracy * 40), 1e-9);
    best = std::max(best, epoch.accuracy);
  }
  EXPECT_TRUE(finished.done.ok) << finished.done.reason;
  EXPECT_EQ(finished.done.trial, 7);
  EXPECT_EQ(finished.done.epochs, 2);
  EXPECT_EQ(finished.done.accuracy, best);
  EXPECT_EQ(finished.done.trained, 256);
  EXPECT_EQ(finished.done.validated, 80);
  EXPECT_GT(finished.done.setup_s, 0);
  EXPECT_GE(finished.done.seconds, finished.epochs.back().at_s);
  EXPECT_THAT(finished.weights, ::testing::StartsWith("assay-weights 1\n"));
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0) << result.err;
  const Json done = last_event(result.out, "FINISHED")["value"];
  EXPECT_EQ(done["trials"], 1);
  EXPECT_EQ(done["num_trained_samples"], 256);
  const Json step = last_event(result.out, "STEP_END");
  EXPECT_EQ(step["step"], 2);
  EXPECT_EQ(step["value"]["samples"], 128);
  const automl::Operations operations = automl::exact_operations(small());
  EXPECT_EQ(step["value"]["flops"],
            128.0 * static_cast<double>(operations.forward + operations.backward));
}

TEST_F(WorkerTest, ADroppedTrialEndsAndSignsOfLifeComeMeanwhile) {
  start();
  welcome();
  send(endless(1));
  while (alive_ == 0) expect<Epoch>();
  send(automl::Drop{1});
  const Finished finished = finish();
  EXPECT_FALSE(finished.done.ok);
  EXPECT_EQ(finished.done.reason, "dropped");
  EXPECT_TRUE(run(trial(2)).done.ok);
  EXPECT_TRUE(run(trial(1)).done.ok) << "another attempt of what was dropped";
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, StopEndsATrialUnderWay) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, ASignalEndsItWithoutAVerdictOnItsTrial) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  send_signal(std::stoi(read_file(pid_file())), SIGTERM);
  try {
    for (;;) EXPECT_TRUE(std::holds_alternative<Epoch>(receive()));
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the worker has closed the connection");
  }
  EXPECT_EQ(end().status.code, 128 + SIGTERM);
}

TEST_F(WorkerTest, ARefusedWorkerSaysWhy) {
  start();
  accept();
  expect<automl::Hello>();
  send(automl::Refuse{"the token is wrong"});
  peer_.reset();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err,
              HasSubstr("coordinator " + address_ + ": refuses this worker: the token is wrong"));
}

TEST_F(WorkerTest, ACoordinatorThatVanishesEndsTheWorker) {
  start("threads: 1\ndevice: cpu\nconnect_timeout_s: 0.3\n");
  welcome();
  send(endless(1));
  expect<Epoch>();
  listener_.reset();
  peer_.reset();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("coordinator " + address_));
}

TEST_F(WorkerTest, ComesBackWhenItsConnectionWasClosed) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  peer_.reset();  // it was silent for too long, and its trial is another's now
  framing_ = {};
  welcome();
  EXPECT_TRUE(run(trial(2)).done.ok);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, SignsOfLifeSayThatATrialGoesOn) {
  start();
  welcome();
  send(endless(1));
  while (alive_ < 2) expect<Epoch>();
  EXPECT_GT(progress_, 0);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, GarbageEndsTheWorkerWithItsText) {
  start();
  welcome();
  send_raw("what is this?\n");
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("a line is not a message: what is this?"));
}

TEST_F(WorkerTest, ATrialThatWasNotAskedForIsAnError) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  send(trial(2));
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("trial 2 was not asked for"));
}

TEST_F(WorkerTest, WaitsForATrialOnlySoLong) {
  start("threads: 1\ndevice: cpu\ntrial_timeout_s: 0.3\n");
  welcome();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("has given no trial for 0.3 s"));
}

TEST_F(WorkerTest, SaysThatNobodyListens) {
  const UniqueFd deaf = bound();  // holds the port, so that nobody else can listen there
  start("threads: 1\ndevice: cpu\nconnect_timeout_s: 0.3\n");
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot be reached within 0.3 s: Connection refused"));
}

TEST_F(WorkerTest, DataThatAreMissingHereEndTheWorker) {
  start();
  welcome();
  Trial missing = trial(1);
  missing.data = {{"data", "cifar10"}, {"path", "/nowhere/at/all"}};
  send(missing);
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, HasSubstr("/nowhere/at/all"));
}

TEST_F(WorkerTest, AWrongDataConfigurationEndsTheWorker) {
  start();
  welcome();
  Trial wrong = trial(1);
  wrong.data["batch_size"] = 3;
  send(wrong);
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("'batch_size' is not for the data of an experiment"));
}

TEST(Worker, NeedsTheEnvironmentOfARun) {
  CommandOptions options;
  options.timeout = kPatience;
  options.env = {{automl::kAddressVariable, ""}};
  const CommandResult result =
      run_command({std::string(ASSAY_BIN_DIR) + "/assay-train", "automl-worker"}, options);
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("ASSAY_AUTOML_ADDRESS is not set"));
}

}  // namespace
}  // namespace assay::train
