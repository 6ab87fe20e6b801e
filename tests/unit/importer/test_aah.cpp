#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/experiment_settings.h"
#include "automl/planner.h"
#include "core/files.h"
#include "error_of.h"
#include "importer/aah.h"
#include "plan/suite.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

// The example of AAH's guide, remarks, tabs and escaped comments included.
constexpr const char* kGuide = R"(authorName: default
experimentName: example_imagenet-network-morphism-test
trialConcurrency: 4		# 1
maxExecDuration: 24h	# 2
maxTrialNum: 6000
trainingServicePlatform: local
useAnnotation: false
tuner:
 \#choice: TPE, Random, Anneal, Evolution, BatchTuner, NetworkMorphism
 \#SMAC (SMAC should be installed through nnictl)
 builtinTunerName: NetworkMorphism
 classArgs:
  optimize_mode: maximize
  task: cv
  input_width: 224
  input_channel: 3
  n_output_node: 1000
  
trial:
 command: CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7  \                                  # 3
       srun -N 1 -n 1 --ntasks-per-node=1 \
       --cpus-per-task=23 \	  # 4
       python3 imagenet_tfkeras_slurm_hpo.py \
       --slave 4 \								  # 5
       --ip 127.0.0.1 \							  # 6
       --batch_size 448 \						  # 7
       --epoch 60 \						          # 8
       --initial_lr 2e-1 \						  # 9
       --final_lr 1e-5 \						  # 10
       --train_data_dir /gdata/ILSVRC2012/ImageNet-Tensorflow/train_tfrecord/ \  # 11
       --val_data_dir /gdata/ILSVRC2012/ImageNet-Tensorflow/validation_tfrecord/ # 12

 codeDir: .
 gpuNum: 0
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

bool says(const AahImport& import, const std::string& text) {
  return std::ranges::any_of(import.diagnostics, [&](const Diagnostic& d) {
    return to_string(d).find(text) != std::string::npos;
  });
}

TEST(ImportAah, TakesEveryKeyOfTheGuidesExample) {
  const AahImport import = import_aah_text(kGuide, "config.yml");
  const plan::Suite suite = plan::parse_suite(import.suite_yaml, "suite.yaml");
  EXPECT_EQ(suite.name, "example_imagenet-network-morphism-test");
  EXPECT_EQ(suite.cluster.launcher(), "slurm");
  EXPECT_EQ(suite.vendor, "nvidia");
  ASSERT_EQ(suite.cases.size(), 1U);
  const plan::SuiteCase& c = suite.cases[0];
  EXPECT_EQ(c.nodes, 4);
  EXPECT_EQ(c.procs, 8);
  const automl::ExperimentSettings& s = c.automl.value();
  EXPECT_EQ(s.start, "resnet50");
  EXPECT_EQ(s.max_duration, std::chrono::hours(24));
  EXPECT_EQ(s.min_duration, std::chrono::hours(24));
  EXPECT_EQ(s.max_trials, 6000);
  EXPECT_EQ(s.epochs, (std::vector{15, 30, 45, 60}));
  EXPECT_EQ(s.hyper.batch_size, 448);
  EXPECT_DOUBLE_EQ(s.hyper.learning_rate, 0.2);
  EXPECT_DOUBLE_EQ(s.hyper.label_smoothing, 0.1);
  EXPECT_EQ(s.precision, "fp16");
  EXPECT_EQ(s.data["data"], "tfrecord");
  EXPECT_EQ(s.data["path"], "/gdata/ILSVRC2012/ImageNet-Tensorflow");
  EXPECT_NEAR(s.data["final_lr_fraction"].get<double>(), 5e-5, 1e-12);
  EXPECT_FALSE(says(import, "is not a key"));
  EXPECT_FALSE(says(import, "side by side")) << "train_tfrecord and validation_tfrecord are known";
}

plan::SuiteCase case_of(const AahImport& import) {
  return plan::parse_suite(import.suite_yaml, "suite.yaml").cases.at(0);
}

// What the coordinator would hand out first.
automl::Planned first_trial(const AahImport& import) {
  automl::Planner planner(case_of(import).automl.value());
  return planner.propose();
}

TEST(ImportAah, TheFirstTrialIsAIPerfsModel) {
  const automl::Planned first = first_trial(import_aah_text(kGuide, "config.yml"));
  EXPECT_EQ(first.per_sample.aiperf_validate, 7'806'583'495);
  EXPECT_EQ(first.per_sample.aiperf_train, 23'053'458'315);
  EXPECT_EQ(first.hyper.batch_size, 448);
  EXPECT_EQ(first.hyper.kernel_size, 0);
  EXPECT_EQ(first.hyper.dropout, 0);
}

TEST(ImportAah, AllDevicesOfANodeTrainOneModel) {
  const plan::SuiteCase c = case_of(import_aah_text(kGuide, "config.yml"));
  EXPECT_EQ(c.procs, 8);
  EXPECT_EQ(c.automl.value().devices_per_trial, 8);
}

TEST(ImportAah, TrialsAtOnceAreMachinesAlsoWithoutSrun) {
  std::string text = kGuide;
  text = replaced(text, "srun -N 1 -n 1 --ntasks-per-node=1", "env");
  text = replaced(text, "--cpus-per-task=23", "");
  const AahImport import = import_aah_text(text, "config.yml");
  EXPECT_TRUE(says(import, "config.yml:3:1: warning: 4 trials at once, each with all 8 devices"))
      << import.suite_yaml;
  EXPECT_NE(import.suite_yaml.find("cluster: {launcher: ssh, hosts: []} # name 4 machines"),
            std::string::npos)
      << import.suite_yaml;
  const plan::SuiteCase c =
      plan::parse_suite(replaced(import.suite_yaml, "hosts: []", "hosts: [a, b, c, d]"), "s.yaml")
          .cases.at(0);
  EXPECT_EQ(c.nodes, 4);
  EXPECT_EQ(c.procs, 8);
  EXPECT_EQ(c.automl.value().devices_per_trial, 8);
}

TEST(ImportAah, SearchesAIPerfsBatchSizes) {
  // 12 to 14 times the memory: 448 are 14 times the 32 GB of a V100.
  const Json space = case_of(import_aah_text(kGuide, "config.yml")).automl.value().space;
  EXPECT_EQ(space["batch_size"]["low"], 384);
  EXPECT_EQ(space["batch_size"]["high"], 448);
  EXPECT_EQ(space["kernel_size"]["options"], Json::parse("[0, 3, 5, 7]"));
}

TEST(ImportAah, CountsAScoreWhenAIPerfDoes) {
  const std::string suite = import_aah_text(kGuide, "config.yml").suite_yaml;
  EXPECT_NE(suite.find("automl-accuracy: {min: 0.7}"), std::string::npos) << suite;
  EXPECT_NE(suite.find("automl-hour: {severity: invalid}"), std::string::npos) << suite;
}

// AIPerf's cifar10/config.yml: its classArgs are ImageNet's, its script is not.
constexpr const char* kCifar = R"(authorName: default
experimentName: example_cifar10-network-morphism-test
trialConcurrency: 1
maxExecDuration: 72h
maxTrialNum: 6000
#choice: local, remote, pai
trainingServicePlatform: local
#searchSpacePath: search_space.json
#choice: true, false
useAnnotation: false
tuner:
  builtinTunerName: NetworkMorphism
  classArgs:
    optimize_mode: maximize
    task: cv
    input_width: 224
    input_channel: 3
    n_output_node: 1000
trial:
  command: CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 srun -N 1 -n 1 --ntasks-per-node=1 --cpus-per-task=24 python3 cifar10_keras_multigpu_ps.py
  codeDir: .
  gpuNum: 0
)";

TEST(ImportAah, CifarsScriptTrainsOn32Pixels) {
  const AahImport import = import_aah_text(kCifar, "config.yml");
  const automl::ExperimentSettings s = case_of(import).automl.value();
  EXPECT_EQ(s.start, "resnet20");
  EXPECT_EQ(s.classes, 10);
  EXPECT_EQ(s.data["data"], "cifar10");
  EXPECT_EQ(s.hyper.batch_size, 128);
  EXPECT_DOUBLE_EQ(s.hyper.learning_rate, 0.1);
  EXPECT_EQ(s.epochs, (std::vector{2, 2, 2, 2}));
  EXPECT_EQ(s.patience, (automl::Patience{10, 0.001}));
  EXPECT_TRUE(says(import, "not 224 and 1000 as classArgs say"));
  EXPECT_TRUE(says(import, "`data.path` must be the folder of its binary files"));
}

TEST(ImportAah, ReadsTheSearchSpaceBesideTheFile) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "config.yml", kCifar);
  write_file_atomic(folder.path() / "search_space.json",
                    R"({"dropout_rate": {"_type": "uniform", "_value": [0.2, 0.8]},
                        "kernel_size": {"_type": "choice", "_value": [2, 3, 4, 5]},
                        "batch_size": {"_type": "uniform", "_value": [2, 8]}})");
  const AahImport import = import_aah(folder.path() / "config.yml");
  const Json space = case_of(import).automl.value().space;
  EXPECT_EQ(space["kernel_size"]["options"], Json::parse("[0, 3, 5]"));
  EXPECT_EQ(space["batch_size"]["low"], 32);
  EXPECT_EQ(space["batch_size"]["high"], 128);
  EXPECT_EQ(space["dropout"]["high"], 0.8);
  EXPECT_TRUE(says(import, "a kernel of 2 is left out"));
  EXPECT_EQ(first_trial(import).hyper.dropout, 0) << "AAH's first trial has none";
  write_file_atomic(folder.path() / "search_space.json", R"({"batch_size": 7})");
  EXPECT_NE(testing::error_of([&] {
              return import_aah(folder.path() / "config.yml");
            }).find("search_space.json: 'batch_size'"),
            std::string::npos);
}

TEST(ImportAah, NpusAreDevicesOfAscend) {
  const AahImport import = import_aah_text(
      replaced(replaced(kGuide, "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7", "NPU_NUM=8"),
               "--batch_size 448", "--batch_size 256"),
      "config.yml");
  const plan::Suite suite = plan::parse_suite(import.suite_yaml, "suite.yaml");
  EXPECT_EQ(suite.vendor, "ascend");
  EXPECT_EQ(suite.cases[0].procs, 8);
  EXPECT_EQ(suite.cases[0].automl.value().precision, "fp16");
  EXPECT_EQ(suite.cases[0].automl.value().devices_per_trial, 8);
  EXPECT_TRUE(says(import, "for ascend it needs a libtorch that has them"));
  EXPECT_EQ(first_trial(import).per_sample.aiperf_validate, 7'806'583'495);
}

TEST(ImportAah, SaysWhenTheDataWouldNotBeFound) {
  const AahImport import = import_aah_text(
      replaced(kGuide, "ImageNet-Tensorflow/train_tfrecord/", "records/train/"), "c");
  EXPECT_TRUE(says(import, "have to lie side by side"));
}

TEST(ImportAah, NamesUnknownKeysWithTheirLine) {
  const AahImport import =
      import_aah_text(replaced(kGuide, "maxTrialNum", "maxTrailNum"), "config.yml");
  EXPECT_TRUE(says(import, "config.yml:5:1: warning: 'maxTrailNum'"));
  EXPECT_TRUE(says(import, "did you mean 'maxTrialNum'?"));
  EXPECT_TRUE(says(import_aah_text(replaced(kGuide, "--final_lr", "--final_rl"), "c"),
                   "did you mean '--final_lr'?"));
}

TEST(ImportAah, RunsOnThisMachineWithoutSrun) {
  std::string text = replaced(kGuide, "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7", "");
  text = replaced(text, "srun -N 1 -n 1 --ntasks-per-node=1", "");
  text = replaced(text, "--cpus-per-task=23", "");
  const AahImport import = import_aah_text(text, "config.yml");
  const plan::Suite suite = plan::parse_suite(import.suite_yaml, "suite.yaml");
  EXPECT_EQ(suite.cluster.launcher(), "local");
  EXPECT_EQ(suite.vendor, "cpu");
  EXPECT_EQ(suite.cases[0].nodes, 1);
  EXPECT_EQ(suite.cases[0].procs, 4);
}

TEST(ImportAah, KeepsWhichDevicesAreMeant) {
  const auto env = [](const std::string& devices) {
    const AahImport import =
        import_aah_text(replaced(kGuide, "0,1,2,3,4,5,6,7", devices), "config.yml");
    return plan::parse_suite(import.suite_yaml, "suite.yaml").cases[0].env.json();
  };
  EXPECT_EQ(env("4,5,6,7"), (Json{{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}));
  EXPECT_EQ(env("1,0"), (Json{{"CUDA_VISIBLE_DEVICES", "1,0"}}));
  EXPECT_EQ(env("0,1,2,3"), Json());
}

TEST(ImportAah, WrongValuesAreErrorsAtTheirPlace) {
  const auto error = [](const std::string& from, const std::string& to) {
    return testing::error_of(
        [&] { return import_aah_text(replaced(kGuide, from, to), "config.yml"); });
  };
  EXPECT_NE(error("24h", "24").find("config.yml:4:"), std::string::npos);
  EXPECT_NE(error("trialConcurrency: 4", "trialConcurrency: 0").find("config.yml:3:"),
            std::string::npos);
  EXPECT_NE(error("NetworkMorphism\n classArgs", "TPE\n classArgs").find("config.yml:11:"),
            std::string::npos);
  EXPECT_NE(error("input_width: 224", "input_width: 100").find("no start model"),
            std::string::npos);
  EXPECT_NE(error("--batch_size 448", "--batch_size many").find("--batch_size"), std::string::npos);
  EXPECT_NE(error("trial:\n", "trail:\n").find("no 'trial'"), std::string::npos);
}

TEST(Aah, WhatCannotBeMeantIsAnError) {
  const auto error = [](const std::string& from, const std::string& to) {
    return testing::error_of(
        [&] { return import_aah_text(replaced(kGuide, from, to), "config.yml"); });
  };
  EXPECT_THAT(error("--epoch 60", "--epoch 60 --warmup_1 99"),
              ::testing::HasSubstr("--warmup_1 99 is more than its --warmup_2 30"));
  EXPECT_THAT(error("--epoch 60", "--epoch 40 --warmup_2 30 --warmup_3 45"),
              ::testing::HasSubstr("--warmup_3 45 is more than its --epoch 40"));
  EXPECT_THAT(error("0,1,2,3,4,5,6,7", "0,0,0"),
              ::testing::HasSubstr("CUDA_VISIBLE_DEVICES=0,0,0 does not name every device once"));
  EXPECT_THAT(error("0,1,2,3,4,5,6,7", "0,,1"),
              ::testing::HasSubstr("does not name every device once"));
  EXPECT_THAT(error("validation_tfrecord/ # 12", "validation_tfrecord/ 'x"),
              ::testing::HasSubstr("the command has a ' that is not closed"));
  EXPECT_THAT(error("command: CUDA", "command: \"CUDA"),
              ::testing::HasSubstr("a quotation mark is not closed"));
  EXPECT_EQ(error("--epoch 60", "--epoch 60 --warmup_1 20 --warmup_2 30"), "no error");
}

}  // namespace
}  // namespace assay::importer
