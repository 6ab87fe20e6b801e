// AIPerf's own configurations, imported and run on this machine with a little data in their
// formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/experiment_journal.h"
#include "automl/score.h"
#include "automl/start_models.h"
#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "unit/train/data/helpers.h"
#include "unit/train/data/tfrecord_writer.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;

// What all of AIPerf's files have in common; the commands are theirs.
std::string aiperf_config(const std::string& command) {
  return "authorName: default\n"
         "experimentName: example-network-morphism-test\n"
         "trialConcurrency: 1\n"
         "maxExecDuration: 12h\n"
         "maxTrialNum: 6000\n"
         "trainingServicePlatform: local\n"
         "useAnnotation: false\n"
         "tuner:\n"
         "  builtinTunerName: NetworkMorphism\n"
         "  classArgs:\n"
         "    optimize_mode: maximize\n"
         "    task: cv\n"
         "    input_width: 224\n"
         "    input_channel: 3\n"
         "    n_output_node: 1000\n"
         "trial:\n"
         "  command: " +
         command + "\n  codeDir: .\n  gpuNum: 0\n";
}

class AIPerfConfigs : public AssayTest {
 protected:
  // Records in the folders `train` and `validation` of the test.
  void write_records(const std::string& train, const std::string& validation) const {
    using namespace train::data::testing;
    std::string images;
    for (int i = 0; i < 4; ++i)
      images += tfrecord::record(
          tfrecord::example(encode_jpeg(picture(240, 230, 1 + i), 240, 230), 7 * i + 1));
    fs::create_directories(folder_ / train);
    fs::create_directories(folder_ / validation);
    write_file_atomic(folder_ / train / "train-00000-of-00001", images);
    write_file_atomic(folder_ / validation / "validation-00000-of-00001", images);
  }
  void write_cifar() const {
    fs::create_directories(folder_ / "cifar");
    std::string images;
    for (int i = 0; i < 16; ++i)
      images += static_cast<char>(i % 10) + std::string(3072, static_cast<char>(15 * i));
    for (const char* file : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                             "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
      write_file_atomic(folder_ / "cifar" / file, images);
  }
  // One trial of one epoch of it on a CPU; everything else as it was imported.
  automl::ExperimentRecord run_first_trial(const std::string& command,
                                           const std::vector<std::string>& more = {}) {
    const fs::path config = write("config.yml", aiperf_config(command));
    const CommandResult imported = assay({"import", "aah", config.string()});
    EXPECT_EQ(imported.status.code, 0) << imported.err;
    const fs::path suite = write("suite.yaml", imported.out);
    std::vector<std::string> args{"run", suite.string()};
    std::vector<std::string> set{"vendor=cpu",
                                 "cluster.launcher=local",
                                 "cases.aah.procs=1",
                                 "cases.aah.automl.devices_per_trial=1",
                                 "cases.aah.automl.precision=fp32",
                                 "cases.aah.automl.hyper.batch_size=2",
                                 "cases.aah.automl.space.batch_size.low=2",
                                 "cases.aah.automl.epochs=1",
                                 "cases.aah.automl.max_trials=1",
                                 "cases.aah.automl.min_duration=off",
                                 "cases.aah.rules.automl-accuracy=off",
                                 "cases.aah.rules.automl-hour=off",
                                 "telemetry.enabled=false"};
    set.insert(set.end(), more.begin(), more.end());
    for (const std::string& one : set) args.insert(args.end(), {"--set", one});
    const CommandResult run = assay(args, 240s);
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    return automl::record_of(
        automl::ExperimentJournal::read(latest() / "aah/round1/automl/journal.jsonl"));
  }
  static void expect_resnet50(const automl::ExperimentRecord& record) {
    ASSERT_EQ(record.trials.size(), 1U);
    EXPECT_EQ(record.trials[0].status, automl::TrialStatus::ok) << record.trials[0].reason;
    EXPECT_EQ(record.trials[0].per_sample.aiperf_validate, 7'806'583'495);
    EXPECT_EQ(record.trials[0].per_sample.aiperf_train, 23'053'458'315);
    EXPECT_EQ(record.trials[0].trained, 4);
    EXPECT_EQ(record.trials[0].validated, 4);
  }
};

TEST_F(AIPerfConfigs, TheGuidesExample) {
  write_records("train_tfrecord", "validation_tfrecord");
  expect_resnet50(run_first_trial(
      "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 srun -N 1 -n 1 --ntasks-per-node=1 --cpus-per-task=23 "
      "python3 imagenet_tfkeras_slurm_hpo.py --slave 1 --ip 127.0.0.1 --batch_size 448 --epoch 60 "
      "--initial_lr 1e-1 --final_lr 0 --train_data_dir " +
      (folder_ / "train_tfrecord/").string() + " --val_data_dir " +
      (folder_ / "validation_tfrecord/").string()));
}

TEST_F(AIPerfConfigs, ImageNetOnGpus) {
  write_records("train", "val");
  expect_resnet50(run_first_trial(
      "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 srun -N 1 -n 1 --ntasks-per-node=1 --cpus-per-task=30 "
      "python3 imagenet_train.py --slave 1 --ip 127.0.0.1 --batch_size 448 --epochs 60 "
      "--warmup_1 15 --warmup_2 30 --warmup_3 45 --initial_lr 0.1 --train_data_dir " +
      (folder_ / "train/").string() + " --val_data_dir " + (folder_ / "val/").string()));
}

TEST_F(AIPerfConfigs, ImageNetOnNpus) {
  write_records("train", "val");
  expect_resnet50(run_first_trial(
      "NPU_NUM=8 srun -N 1 -n 1 --ntasks-per-node=1 --cpus-per-task=192 python3 imagenet_train.py "
      "--slave 1 --ip 127.0.0.1 --batch_size 256 --train_data_dir " +
      (folder_ / "train/").string() + " --val_data_dir " + (folder_ / "val/").string() +
      " --epochs 60 --warmup_1 15 --warmup_2 30 --warmup_3 45"));
}

TEST_F(AIPerfConfigs, Cifar10) {
  write_cifar();
  const automl::ExperimentRecord record = run_first_trial(
      "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 srun -N 1 -n 1 --ntasks-per-node=1 --cpus-per-task=24 "
      "python3 cifar10_keras_multigpu_ps.py",
      {"cases.aah.automl.data.path=" + (folder_ / "cifar").string()});
  ASSERT_EQ(record.trials.size(), 1U);
  EXPECT_EQ(record.trials[0].status, automl::TrialStatus::ok) << record.trials[0].reason;
  EXPECT_EQ(record.trials[0].per_sample, automl::count_operations(automl::resnet20(10)));
  EXPECT_EQ(record.trials[0].trained, 80);
}

}  // namespace
}  // namespace assay::e2e
