#include <algorithm>

#include <gtest/gtest.h>

#include "automl/experiment_settings.h"
#include "error_of.h"
#include "importer/aah.h"
#include "plan/suite.h"

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

}  // namespace
}  // namespace assay::importer
