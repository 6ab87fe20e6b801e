// assay-train as a launcher starts it: small trainings, what they log, and how they fail.
#include <cmath>
#include <set>
#include <string_view>

#include <gmock/gmock.h>

#include "core/files.h"
#include "needs.h"
#include "program_test.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

// 8×8 pixels.
std::string grey_jpeg() {
  constexpr std::string_view hex =
      "ffd8ffe000104a46494600010100000100010000ffdb00430050373c463c32504641465a55505f78c882786e"
      "6e78f5afb991c8ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
      "ffffc0000b080008000801011100ffc40014000100000000000000000000000000000000ffc4001410010000"
      "0000000000000000000000000000ffda0008010100003f003fffd9";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST_F(ProgramTest, LogsEveryStepAndTheEvaluations) {
  const CommandResult result =
      train("resnet20", std::string(kImages) + "max_steps: 4\neval_every: 2\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  const auto steps = events(result, "STEP_END");
  ASSERT_EQ(steps.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& value = steps[i].at("value");
    EXPECT_EQ(steps[i].at("step"), i + 1);
    EXPECT_EQ(value.at("samples"), 16);
    EXPECT_NEAR(value.at("flops").get<double>() / 16, 3 * 2 * 40.55e6, 2e6);
    for (const char* name : {"loss", "lr", "data_s", "compute_s", "comm_s", "optimizer_s"})
      EXPECT_TRUE(value.at(name).is_number()) << name;
  }
  const auto evaluations = events(result, "EVALUATE");
  ASSERT_EQ(evaluations.size(), 2);
  // Every sample once: accuracies are whole 66ths.
  const double right = evaluations[0].at("value").at("eval_acc1").get<double>() * 66;
  EXPECT_NEAR(right, std::round(right), 1e-9);
  for (const char* name : {"INIT_START", "INIT_END", "TRAIN_START", "TRAIN_END", "FINISHED"})
    EXPECT_EQ(events(result, name).size(), 1) << name;
  // Nothing was to be reached.
  EXPECT_FALSE(events(result, "FINISHED")[0].at("value").contains("converged"));
}

TEST_F(ProgramTest, AnAutomaticBatchSizeIsInTheLog) {
  const CommandResult result =
      train("resnet20",
            "train_size: 256\neval_size: 66\nbatch_size: auto\nthreads: 1\nmax_steps: 2\n"
            "device: cpu\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_EQ(events(result, "FINISHED")[0].at("value").at("batch_size"), 32);
  EXPECT_EQ(events(result, "STEP_END")[0].at("value").at("samples"), 32);
  EXPECT_THAT(result.err, HasSubstr("batch_size auto is 32"));

  // Less data than that.
  const CommandResult little =
      train("resnet20",
            "train_size: 20\neval_size: 16\nbatch_size: auto\nthreads: 1\nmax_steps: 2\n"
            "device: cpu\n");
  ASSERT_TRUE(little.status.ok()) << little.err;
  EXPECT_EQ(events(little, "FINISHED")[0].at("value").at("batch_size"), 20);
}

TEST_F(ProgramTest, ATrainingDoesNotGoOnWithAnotherBatchSize) {
  const CommandResult result =
      train("resnet20", "batch_size: auto\nresume: true\ncheckpoint: " + folder_.path().string());
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("the batch size that it began with"));
}

TEST_F(ProgramTest, SaysWhichDevicesItCanUseAndWhyNot) {
  const CommandResult result = run({"--devices"});
  ASSERT_TRUE(result.status.ok()) << result.err;
  const Json said = parse_json(result.out, "devices");
  EXPECT_TRUE(said.at("devices").is_array());
  if (!said.at("devices").empty()) {
    EXPECT_FALSE(said.at("precisions").empty());
    return;
  }
  EXPECT_FALSE(said.at("problem").get<std::string>().empty());
  EXPECT_FALSE(said.at("advice").get<std::string>().empty());
}

TEST_F(ProgramTest, AProductInAPrecisionThatTheDeviceLacksIsRefused) {
  for (const char* precision : {"tf32", "fp16", "fp8"}) {
    const CommandResult result =
        train("gemm", "device: cpu\nsize: 64\ndtype: " + std::string(precision) + "\n");
    EXPECT_EQ(result.status.code, 2) << precision;
    EXPECT_THAT(result.err, HasSubstr("no matrix products in " + std::string(precision)));
    EXPECT_THAT(result.err, HasSubstr("use one of: fp64, fp32, bf16"));
  }
  const CommandResult odd = train("gemm", "device: cpu\nsize: 40\ndtype: fp8\n");
  EXPECT_THAT(odd.err, HasSubstr("multiple of 16"));
}

TEST_F(ProgramTest, ProductsAreCheckedAtColumnsAllOverThem) {
  for (const char* size : {"8", "72", "700"}) {
    const CommandResult result =
        train("gemm", "device: cpu\nseconds: 0.05\nstep_ms: 1\nsize: " + std::string(size) + "\n");
    EXPECT_TRUE(result.status.ok()) << size << result.err;
  }
}

TEST_F(ProgramTest, StopsAtTheTargetAndSaysWhenItWasNotReached) {
  const CommandResult early =
      train("resnet20", std::string(kImages) + "max_steps: 6\neval_every: 2\ntarget: 0.0001\n");
  ASSERT_TRUE(early.status.ok()) << early.err;
  EXPECT_EQ(events(early, "STEP_END").size(), 2);
  EXPECT_EQ(events(early, "FINISHED")[0].at("value").at("converged"), true);
  const CommandResult never = train("resnet20", std::string(kImages) + "max_steps: 2\ntarget: 1\n");
  EXPECT_TRUE(never.status.ok());
  EXPECT_EQ(events(never, "FINISHED")[0].at("value").at("converged"), false);
}

// Momentum, dropout's random numbers, data order, norm statistics: all of it must go on.
TEST_F(ProgramTest, AResumedTrainingGivesTheSameLosses) {
  for (const auto& [workload, base, extra] :
       {std::tuple{"resnet20", kImages, "ema_decay: 0.9\n"},
        std::tuple{"bert-tiny", kText, "dropout: 0.1\n"},
        std::tuple{"llama-tiny", kTokens, "batch_size: 16\n"}}) {
    const std::string text =
        std::string(base) + extra + "max_steps: 20\nepochs: 0\ndeterministic: true\n";
    const CommandResult whole = train(workload, text);
    ASSERT_TRUE(whole.status.ok()) << whole.err;
    const std::string there =
        "checkpoint: " + (folder_.path() / workload).string() + "\nresume: true\n";
    // 17 is within the second epoch. The schedule must be the same, so the first part is ended by
    // a checkpoint at 17 and thrown away after it.
    const CommandResult first = train(workload, text + there + "checkpoint_every: 17\n");
    ASSERT_TRUE(first.status.ok()) << first.err;
    std::ofstream(folder_.path() / workload / "latest") << "17\n";
    const CommandResult second = train(workload, text + there);
    ASSERT_TRUE(second.status.ok()) << second.err;
    const std::vector<double> expected = losses(whole);
    const std::vector<double> resumed = losses(second);
    ASSERT_EQ(expected.size(), 20);
    ASSERT_EQ(resumed.size(), 3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(resumed[i], expected[17 + i]) << workload << i;
    EXPECT_EQ(events(second, "EVALUATE").back().at("value").at("eval_loss"),
              events(whole, "EVALUATE").back().at("value").at("eval_loss"));
    EXPECT_EQ(events(second, "STEP_END").front().at("step"), 18);
  }
}

TEST_F(ProgramTest, ACheckpointOfAnotherModelIsAnError) {
  const std::string there = "checkpoint: " + (folder_.path() / "c").string() + "\n";
  ASSERT_TRUE(train("resnet20", kImages + there + "max_steps: 1\n").status.ok());
  const CommandResult other = train("resnet32", kImages + there + "max_steps: 2\nresume: true\n");
  EXPECT_EQ(other.status.code, 2);
  EXPECT_THAT(other.err, HasSubstr("of the workload resnet20, not resnet32"));
  std::ofstream(folder_.path() / "c" / "step1" / "model.pt") << "rubbish";
  const CommandResult damaged = train("resnet20", kImages + there + "max_steps: 2\nresume: true\n");
  EXPECT_EQ(damaged.status.code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("damaged"));
}

TEST_F(ProgramTest, ALossThatIsNotFiniteEndsTheTrainingWithTheLastGoodCheckpoint) {
  const std::string text = std::string(kImages) + "epochs: 0\noptimizer: adamw\ncheckpoint: " +
                           (folder_.path() / "c").string() + "\n";
  ASSERT_TRUE(train("resnet20", text + "max_steps: 1\n").status.ok());
  const CommandResult result =
      train("resnet20", text + "max_steps: 40\nlearning_rate: 1000000\nresume: true\n");
  EXPECT_EQ(result.status.code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the loss of step "));
  EXPECT_THAT(result.err, HasSubstr("last good checkpoint: step 1 "));
  EXPECT_TRUE(events(result, "FINISHED").empty());
}

// The loss of a step is that of the parameters before it, and says nothing of those after it.
TEST_F(ProgramTest, ATrainingThatDivergedIsResumedFromParametersThatAreGood) {
  const std::string text = std::string(kImages) + "max_steps: 40\nepochs: 0\ncheckpoint: " +
                           (folder_.path() / "c").string() + "\n";
  for (const char* optimizer : {"sgd", "adamw"}) {
    const std::string method = std::string("optimizer: ") + optimizer + "\n";
    const CommandResult diverged =
        train("resnet20", text + method + "learning_rate: 1000000\ncheckpoint_every: 1\n");
    EXPECT_EQ(diverged.status.code, 5) << diverged.err;
    const CommandResult resumed =
        train("resnet20", text + method + "learning_rate: 0\nresume: true\n");
    ASSERT_FALSE(events(resumed, "STEP_END").empty()) << resumed.err;
    const Json step = events(resumed, "STEP_END")[0];
    EXPECT_TRUE(step.at("value").at("loss").is_number());
    EXPECT_THAT(diverged.err, HasSubstr("last good checkpoint: step " +
                                        std::to_string(step.at("step").get<int>() - 1) + " "));
  }
}

TEST_F(ProgramTest, ADiskWithoutRoomForACheckpointIsAnErrorThatLeavesTheOldOne) {
  const std::string text = std::string(kImages) +
                           "epochs: 0\ncheckpoint: " + (folder_.path() / "c").string() +
                           "\nresume: true\n";
  ASSERT_TRUE(train("resnet20", text + "max_steps: 1\n").status.ok());
  // A file may have 1 MiB; without the trap the signal would end the process.
  const CommandResult full = command({"bash", "-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"",
                                      "bash", std::string(ASSAY_BIN_DIR) + "/assay-train",
                                      "resnet20", "--config", config(text + "max_steps: 2\n")});
  EXPECT_EQ(full.status.code, 3) << full.err;
  EXPECT_THAT(full.err, HasSubstr("model.pt: a checkpoint cannot be written: File too large"));
  const CommandResult resumed = train("resnet20", text + "max_steps: 2\n");
  EXPECT_TRUE(resumed.status.ok()) << resumed.err;
  EXPECT_EQ(events(resumed, "STEP_END")[0].at("step"), 2);
}

TEST_F(ProgramTest, AFolderThatCheckpointsCannotGoToIsAnErrorBeforeTheFirstStep) {
  std::ofstream(folder_.path() / "file") << "x";
  const CommandResult result = train(
      "resnet20", std::string(kImages) +
                      "max_steps: 1\ncheckpoint: " + (folder_.path() / "file/c").string() + "\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, HasSubstr("file/c"));
  EXPECT_TRUE(events(result, "STEP_END").empty());
}

TEST_F(ProgramTest, ATrainingResumedOftenKeepsTwoCheckpoints) {
  const std::filesystem::path there = folder_.path() / "c";
  for (int steps = 2; steps <= 6; steps += 2)
    ASSERT_TRUE(train("resnet20", std::string(kImages) + "epochs: 0\nresume: true\nmax_steps: " +
                                      std::to_string(steps) +
                                      "\ncheckpoint_every: 1\ncheckpoint: " + there.string() + "\n")
                    .status.ok());
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(there))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"latest", "lock", "step5", "step6"}));
}

TEST_F(ProgramTest, TextIsTrainedInBf16OnTheCpu) {
  const CommandResult result =
      train("bert-tiny", std::string(kText) + "max_steps: 2\nprecision: bf16\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_EQ(events(result, "STEP_END").size(), 2);
}

TEST_F(ProgramTest, DamagedSamplesAreCounted) {
  for (const char* split : {"train", "val"})
    for (int i = 0; i < 8; ++i) {
      const std::filesystem::path path =
          folder_.path() / split / "class" / (std::to_string(i) + ".jpg");
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << (i == 3 ? "" : grey_jpeg());
    }
  const CommandResult result =
      train("resnet20", "data: folder\npath: " + folder_.path().string() +
                            "\nimage_size: 32\nbatch_size: 4\nthreads: 1\nepochs: 1\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_EQ(events(result, "FINISHED")[0].at("value").at("damaged_samples"), 2);
}

TEST_F(ProgramTest, ABatchLargerThanTheDataIsAnError) {
  const CommandResult result =
      train("resnet20", std::string(kImages) + "max_steps: 1\n" + "accumulation: 2\n");
  EXPECT_TRUE(result.status.ok()) << result.err;
  const CommandResult large = train("resnet20", "train_size: 100\nbatch_size: 101\n");
  EXPECT_EQ(large.status.code, 2);
  EXPECT_THAT(large.err, HasSubstr("101"));
  const CommandResult many =
      train("resnet20", std::string(kImages) + "max_steps: 1\naccumulation: 17\n");
  EXPECT_EQ(many.status.code, 2);
  EXPECT_THAT(many.err, HasSubstr("a step of 17 batches is more than the 16 of the data"));
}

TEST_F(ProgramTest, MoreThreadsThanTheProcessorsCanUseAreRefused) {
  const CommandResult result = train("resnet20", "max_steps: 1\nthreads: 4096\n");
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("4096 threads are too many for"));
}

// It starts itself again, and would be called as the file that it is started from.
TEST_F(ProgramTest, TheProcessHasTheNameOfTheProgram) {
  const CommandResult result = command(
      {"bash", "-c",
       "log=$1; shift; \"$@\" > $log & "
       "for i in {1..300}; do grep -q STEP_END $log && break; sleep 0.1; done; "
       "cat /proc/$!/comm; kill -TERM $!; wait $!",
       "bash", (folder_.path() / "log").string(), std::string(ASSAY_BIN_DIR) + "/assay-train",
       "resnet20", "--config",
       config(std::string(kImages) + "epochs: 0\nmax_steps: 100000\neval_every: 100000\n")});
  EXPECT_EQ(result.out, "assay-train\n") << result.err;
}

TEST_F(ProgramTest, TwoRanksTrainTheSameModelOnHalfTheDataEach) {
  // Without norms over the batch, two halves are the whole: BERT with layer norms.
  const std::string text = std::string(kText) + "max_steps: 6\neval_every: 3\n";
  const CommandResult alone = train("bert-tiny", text);
  ASSERT_TRUE(alone.status.ok()) << alone.err;
  std::string half = text;
  half.replace(half.find("batch_size: 16"), 14, "batch_size: 8");
  const std::vector<CommandResult> ranks = train_ranks("bert-tiny", half, 2);
  for (const CommandResult& rank : ranks) ASSERT_TRUE(rank.status.ok()) << rank.err;
  const auto quality = [](const CommandResult& result) {
    return events(result, "EVALUATE").back().at("value");
  };
  // Both ranks have counted all of the evaluation data.
  EXPECT_EQ(quality(ranks[0]).at("eval_loss"), quality(ranks[1]).at("eval_loss"));
  EXPECT_NEAR(quality(ranks[0]).at("eval_loss").get<double>(),
              quality(alone).at("eval_loss").get<double>(), 0.02);
  EXPECT_EQ(events(ranks[1], "STEP_END").size(), 6);
  EXPECT_EQ(events(ranks[1], "STEP_END")[0].at("value").at("samples"), 8);
}

TEST_F(ProgramTest, ALanguageModelLogsTokensAndTheBestLossThereIs) {
  const CommandResult result =
      train("llama-tiny", std::string(kTokens) + "epochs: 0\nbatch_size: 8\nmax_steps: 3\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  const Json step = events(result, "STEP_END")[0].at("value");
  EXPECT_EQ(step.at("samples"), 8);
  EXPECT_EQ(step.at("tokens"), 8 * 32);
  const double per_token =
      6.0 * (2 * (256 * 128 + 128 * 128 + 3 * 128 * 384) + 64 * 128) + 6.0 * 2 * 128 * 32;
  EXPECT_DOUBLE_EQ(step.at("flops").get<double>(), 8 * 32 * per_token);
  EXPECT_NEAR(step.at("loss").get<double>(), std::log(64.0), 0.2);  // nothing is learnt yet
  const Json finished = events(result, "FINISHED")[0].at("value");
  EXPECT_EQ(finished.at("parameters"), 402'048);
  EXPECT_NEAR(finished.at("best_reachable").get<double>(), 1.87, 0.1);
  EXPECT_GT(finished.at("final_eval_loss").get<double>(), 1.8);
}

TEST_F(ProgramTest, ALossIsATargetThatIsReachedFromAbove) {
  const std::string text =
      std::string(kTokens) + "epochs: 0\nbatch_size: 8\nmax_steps: 4\neval_every: 2\n";
  const CommandResult early = train("llama-tiny", text + "target: 100\n");
  ASSERT_TRUE(early.status.ok()) << early.err;
  EXPECT_EQ(events(early, "STEP_END").size(), 2);
  const CommandResult never = train("llama-tiny", text + "target: 0.01\n");
  EXPECT_EQ(events(never, "FINISHED")[0].at("value").at("converged"), false);
}

// The same samples in each step, so the same losses but for rounding: sums in another order differ
// by some ulps (6e-8) of a loss of 5, and AdamW's division keeps that about the same from step to
// step. 1e-4 is a hundred times what is seen, and a thousandth of what a wrong gradient does.
TEST_F(ProgramTest, ALanguageModelHasTheSameLossesHoweverItsBatchIsSharedOut) {
  const std::string text = std::string(kTokens) + "epochs: 0\nmax_steps: 6\n";
  const CommandResult alone = train("llama-tiny", text + "batch_size: 8\n");
  ASSERT_TRUE(alone.status.ok()) << alone.err;
  const std::vector<double> expected = losses(alone);
  const auto expect_same = [&](const std::string& how, const std::vector<CommandResult>& ranks) {
    std::vector<std::vector<double>> all;
    for (const CommandResult& rank : ranks) {
      ASSERT_TRUE(rank.status.ok()) << how << rank.err;
      all.push_back(losses(rank));
    }
    const std::vector<double> mean = mean_losses(all);
    ASSERT_EQ(mean.size(), expected.size());
    for (std::size_t i = 0; i < mean.size(); ++i)
      EXPECT_NEAR(mean[i], expected[i], 1e-4) << how << " step " << i + 1;
  };
  expect_same("accumulation", {train("llama-tiny", text + "batch_size: 4\naccumulation: 2\n")});
  expect_same("recompute", {train("llama-tiny", text + "batch_size: 8\nrecompute: full\n")});
  expect_same("two ranks", train_ranks("llama-tiny", text + "batch_size: 4\n", 2));
  expect_same("shared optimizer", train_ranks("llama-tiny", text + "batch_size: 4\nzero: 1\n", 2));
}

TEST_F(ProgramTest, ALanguageModelTrainsWithMomentsInBf16AndGoesOn) {
  const std::string text = std::string(kTokens) + "epochs: 0\nbatch_size: 8\n";
  const CommandResult exact = train("llama-tiny", text + "max_steps: 8\n");
  ASSERT_TRUE(exact.status.ok()) << exact.err;
  const std::string small = text + "optimizer_state: bf16\ncheckpoint_every: 5\ncheckpoint: " +
                            (folder_.path() / "small").string() + "\n";
  const CommandResult whole = train("llama-tiny", small + "max_steps: 8\n");
  ASSERT_TRUE(whole.status.ok()) << whole.err;
  const std::vector<double> expected = losses(exact);
  const std::vector<double> rounded = losses(whole);
  ASSERT_EQ(rounded.size(), expected.size());
  EXPECT_EQ(rounded[0], expected[0]);
  EXPECT_NE(rounded.back(), expected.back());
  EXPECT_NEAR(rounded.back(), expected.back(), 0.01 * expected.back());
  // From where the moments are, in either type.
  for (const auto& [state, steps] : {std::pair{"bf16", "10"}, std::pair{"fp32", "12"}}) {
    const CommandResult more = train(
        "llama-tiny", text + "max_steps: " + steps + "\nresume: true\noptimizer_state: " + state +
                          "\ncheckpoint: " + (folder_.path() / "small").string() + "\n");
    ASSERT_TRUE(more.status.ok()) << more.err;
    EXPECT_EQ(losses(more).size(), 2U) << state;
  }
}

TEST_F(ProgramTest, WhatFp8AndMomentsInBf16AreNotForIsRefused) {
  const auto refused = [&](const char* workload, const std::string& text, const char* why) {
    const CommandResult result = train(workload, text);
    EXPECT_EQ(result.status.code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(why)) << text;
  };
  refused("llama-tiny", "device: cpu\nprecision: fp8\n", "the CPU does not train in fp8");
  refused("bert-tiny", "precision: fp8\n", "bert-tiny does not train in fp8");
  refused("llama-tiny", "deterministic: true\nproduct_trials: true\n", "product_trials");
  refused("llama-tiny", "optimizer: sgd\noptimizer_state: bf16\n", "only adamw");
  refused("llama-tiny", "device: cpu\ngradients: bf16\n", "gradients cannot be kept in bf16");
}

TEST_F(ProgramTest, ATrainingGoesOnWithAnotherNumberOfRanks) {
  const std::string text =
      std::string(kTokens) + "epochs: 0\nmax_steps: 16\ncheckpoint_every: 13\n";
  const auto there = [&](const char* name) {
    return "resume: true\ncheckpoint: " + (folder_.path() / name).string() + "\n";
  };
  const CommandResult alone = train("llama-tiny", text + "batch_size: 8\n" + there("one"));
  ASSERT_TRUE(alone.status.ok()) << alone.err;
  const std::vector<double> expected = losses(alone);
  std::ofstream(folder_.path() / "one" / "latest") << "13\n";  // in the second epoch

  // One rank's checkpoint, by two that share the optimizer's state, and theirs by one again.
  const auto two = train_ranks("llama-tiny", text + "batch_size: 4\nzero: 1\n" + there("one"), 2);
  for (const CommandResult& rank : two) ASSERT_TRUE(rank.status.ok()) << rank.err;
  const std::vector<double> went_on = mean_losses({losses(two[0]), losses(two[1])});
  ASSERT_EQ(went_on.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(went_on[i], expected[13 + i], 1e-4);

  const std::string longer = std::string(kTokens) + "epochs: 0\nmax_steps: 18\nbatch_size: 8\n";
  const CommandResult back = train("llama-tiny", longer + there("one"));
  ASSERT_TRUE(back.status.ok()) << back.err;
  EXPECT_EQ(events(back, "STEP_END").front().at("step"), 17);
  const CommandResult other =
      train("llama-tiny",
            std::string(kTokens) + "epochs: 0\nmax_steps: 20\nbatch_size: 4\n" + there("one"));
  EXPECT_EQ(other.status.code, 2);
  EXPECT_THAT(other.err, HasSubstr("8 samples a step, not 4"));
}

TEST_F(ProgramTest, AnOptimizerThatNeedsWholeTensorsIsNotSharedOut) {
  const auto ranks = train_ranks(
      "llama-tiny",
      std::string(kTokens) + "epochs: 0\nbatch_size: 4\nmax_steps: 1\nzero: 1\noptimizer: lamb\n",
      2);
  for (const CommandResult& rank : ranks) {
    EXPECT_EQ(rank.status.code, 2) << rank.err;
    EXPECT_THAT(rank.err, HasSubstr("use 'optimizer: adamw' or 'zero: 0'"));
  }
}

TEST_F(ProgramTest, SaysWhatTheBatchSizeWouldBeAndTrainsNothing) {
  const std::string path = config("batch_size: auto\ntrain_size: 64\nthreads: 1\ndevice: cpu\n");
  const CommandResult result = run({"resnet20", "--config", path, "--find-batch"});
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_TRUE(events(result, "STEP_END").empty());
  const Json found = events(result, "FINISHED").at(0).at("value");
  EXPECT_GT(found.at("batch_size").get<int>(), 0);
  EXPECT_FALSE(found.at("why").get<std::string>().empty());
}

TEST_F(ProgramTest, ATraceShowsBucketsThatAreReducedDuringBackward) {
  const std::string trace = (folder_.path() / "trace").string();
  const std::string text =
      std::string(kText) + "max_steps: 8\nbucket_mb: 0.05\ntrace_step: 4\ntrace: " + trace + "\n";
  for (const CommandResult& rank : train_ranks("bert-tiny", text, 2))
    ASSERT_TRUE(rank.status.ok()) << rank.err;
  for (const char* rank : {"0", "1"}) {
    const Json read = Json::parse(read_file(trace + "." + rank + ".json"));
    EXPECT_GT(read.at("otherData").at("overlap").get<double>(), 0);
    std::map<std::string, int> spans;
    for (const Json& event : read.at("traceEvents"))
      if (event.at("ph") == "X") {
        ++spans[event.at("name").get<std::string>()];
        EXPECT_GE(event.at("dur").get<double>(), 0) << event.dump();
      }
    EXPECT_EQ(spans["forward and backward"], 3);
    EXPECT_GT(spans["all-reduce"], 3 * 5);
  }
}

TEST_F(ProgramTest, ATraceAfterTheLastStepIsAnError) {
  const CommandResult result =
      train("bert-tiny", std::string(kText) + "max_steps: 3\ntrace: somewhere\n");
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("trace_step"));
}

TEST_F(ProgramTest, TwoRanksShareACudaDeviceOverGloo) {
  if (!std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << needs::gpu();
  const std::string trace = (folder_.path() / "trace").string();
  const std::string text = std::string(kText) + "max_steps: 12\neval_every: 6\ndevice: cuda\n";
  const CommandResult alone = train("bert-tiny", text);
  ASSERT_TRUE(alone.status.ok()) << alone.err;
  std::string half = text + "collectives: gloo\nbucket_mb: 0.05\ntrace: " + trace + "\n";
  half.replace(half.find("batch_size: 16"), 14, "batch_size: 8");
  for (const CommandResult& rank : train_ranks("bert-tiny", half, 2)) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    EXPECT_NEAR(events(rank, "EVALUATE").back().at("value").at("eval_loss").get<double>(),
                events(alone, "EVALUATE").back().at("value").at("eval_loss").get<double>(), 0.02);
  }
  const Json read = Json::parse(read_file(trace + ".0.json"));
  EXPECT_EQ(read.at("otherData").at("device"), "cuda:0");
  EXPECT_GT(read.at("otherData").at("overlap").get<double>(), 0);
}

// Signals come between any two steps, and the first to stop ends the others' all-reduce.
TEST_F(ProgramTest, RanksThatAreToldToStopOneAfterTheOtherSayTheSignal) {
  const CommandResult both = command(
      {"bash", "-c",
       "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$1; log=$2; shift 2; "
       "RANK=0 \"$@\" > /dev/null & zero=$!; RANK=1 \"$@\" > $log & one=$!; "
       "for i in {1..300}; do grep -q STEP_END $log && break; sleep 0.1; done; "
       "kill -TERM $one; wait $one; echo \"rank 1: $?\"; "
       "kill -TERM $zero; wait $zero; echo \"rank 0: $?\"",
       "bash", free_port(), (folder_.path() / "log").string(),
       std::string(ASSAY_BIN_DIR) + "/assay-train", "resnet20", "--config",
       config(std::string(kImages) + "epochs: 0\nmax_steps: 100000\neval_every: 100000\n")});
  EXPECT_EQ(both.out, "rank 1: 143\nrank 0: 143\n") << both.err;
}

// Its number would be given to a connection between the ranks.
TEST_F(ProgramTest, AClosedStandardOutputDoesNotHarmTheOtherRank) {
  const CommandResult both = command(
      {"bash", "-c",
       "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$1; shift; "
       "RANK=0 \"$@\" >&- & RANK=1 \"$@\"; echo \"rank 1: $?\"; wait $!; echo \"rank 0: $?\"",
       "bash", free_port(), std::string(ASSAY_BIN_DIR) + "/assay-train", "resnet20", "--config",
       config(std::string(kImages) + "max_steps: 2\n")});
  EXPECT_THAT(both.out, HasSubstr("rank 1: 0\n")) << both.err;
  EXPECT_THAT(both.out, HasSubstr("rank 0: 1\n"));
  EXPECT_THAT(both.err, HasSubstr("log lines could not be written"));
}

TEST_F(ProgramTest, MeasuresTheInputPipelineAlone) {
  const CommandResult result =
      run({"resnet20", "--data-only", "--config", config(std::string(kImages) + "epochs: 2\n")});
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_EQ(events(result, "STEP_END").size(), 32);
  EXPECT_GT(events(result, "FINISHED")[0].at("value").at("samples_per_second").get<double>(), 0);
}

TEST_F(ProgramTest, MicroBenchmarksReportRates) {
  const CommandResult gemm = train("gemm", "size: 64\nseconds: 0.1\nthreads: 1\n");
  ASSERT_TRUE(gemm.status.ok()) << gemm.err;
  EXPECT_GT(events(gemm, "FINISHED")[0].at("value").at("peak_flops").get<double>(), 1e8);
  const Json step = events(gemm, "STEP_END")[0].at("value");
  EXPECT_EQ(step.at("flops").get<double>(), step.at("samples").get<double>() * 2 * 64 * 64 * 64);
  const CommandResult memory = train("membw", "megabytes: 1\nseconds: 0.1\nthreads: 1\n");
  ASSERT_TRUE(memory.status.ok()) << memory.err;
  for (const char* name : {"copy_bytes_per_s", "scale_bytes_per_s", "triad_bytes_per_s"})
    EXPECT_GT(events(memory, "FINISHED")[0].at("value").at(name).get<double>(), 1e7) << name;
  std::vector<double> triads;
  for (const Json& event : events(memory, "STEP_END"))
    if (const Json& value = event.at("value"); value.at("op") == "triad")
      triads.push_back(value.at("bytes").get<double>() / value.at("compute_s").get<double>());
  std::ranges::sort(triads);
  const Json finished = events(memory, "FINISHED")[0].at("value");
  const double middle = (triads.at(triads.size() / 2) + triads.at((triads.size() - 1) / 2)) / 2;
  EXPECT_NEAR(finished.at("triad_bytes_per_s").get<double>(), middle, 1e-6 * middle);
  EXPECT_NEAR(finished.at("triad_best_bytes_per_s").get<double>(), triads.back(),
              1e-6 * triads.back());
  const CommandResult huge = train("membw", "megabytes: 1000000\nthreads: 1\n");
  EXPECT_EQ(huge.status.code, 3);
  EXPECT_THAT(huge.err, HasSubstr("of memory, the machine has"));
  const CommandResult transfer = train("transfer", "device: cpu\n");
  EXPECT_EQ(transfer.status.code, 3);
  EXPECT_THAT(transfer.err, HasSubstr("CUDA"));
}

TEST_F(ProgramTest, AllReduceReportsAlgorithmAndBusBandwidth) {
  const std::string text = "sizes: [4096, 262144]\nseconds: 0.2\nstep_ms: 10\nthreads: 1\n";
  for (const CommandResult& rank : train_ranks("allreduce", text, 3)) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    const Json value = events(rank, "FINISHED")[0].at("value");
    EXPECT_NEAR(value.at("busbw_256KiB").get<double>(),
                value.at("algbw_256KiB").get<double>() * 4 / 3, 1);
    EXPECT_LE(value.at("busbw_bytes_per_s").get<double>(),
              value.at("busbw_best_bytes_per_s").get<double>());
  }
  for (const CommandResult& rank : train_ranks("allreduce", "sizes: [64, 64]\n", 2))
    EXPECT_THAT(rank.err, HasSubstr("'sizes' holds a size twice"));
  const CommandResult alone = train("allreduce", text);
  EXPECT_EQ(alone.status.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("two ranks"));
}

TEST_F(ProgramTest, UnknownWorkloadsAndOptionsAreErrors) {
  EXPECT_EQ(run({"resnet5"}).status.code, 2);
  EXPECT_THAT(run({"resnet5"}).err, HasSubstr("did you mean"));
  EXPECT_EQ(run({}).status.code, 2);
  EXPECT_EQ(run({"resnet20", "--config", "/nowhere"}).status.code, 2);
  EXPECT_EQ(run({"resnet20", "--config", ""}).status.code, 2);
  EXPECT_EQ(train("resnet20", "device: cuda\nmax_steps: 1\n").status.code, 3);
  const CommandResult list = run({"--list"});
  EXPECT_TRUE(list.status.ok());
  EXPECT_THAT(list.out, HasSubstr("bert-large\n"));
  EXPECT_THAT(run({"--version"}).out, HasSubstr("libtorch"));
}

}  // namespace
}  // namespace assay::train
