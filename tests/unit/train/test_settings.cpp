#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "train/loop/device.h"
#include "train/loop/image_task.h"
#include "train/loop/parameter_update.h"
#include "train/loop/task_kinds.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

Settings read(const std::string& name, const std::string& text) {
  workload::Options options = workload::Options::from_text(text);
  for (const TaskKind& kind : task_kinds())
    for (const ModelEntry& model : kind.models) {
      if (model.workload != name) continue;
      options.set_defaults(model.defaults);
      return read_settings(kind, name, options);
    }
  throw std::invalid_argument(name);
}

data::ImageSetOptions read_images(const std::string& text) {
  workload::Options options = workload::Options::from_text(text);
  return read_image_set(options);
}

std::string error_of(const std::string& workload, const std::string& text) {
  try {
    static_cast<void>(read(workload, text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(SettingsTest, EveryWorkloadHasDefaults) {
  EXPECT_EQ(training_workloads().size(), 18);
  for (const workload::Workload& known : training_workloads()) {
    const Settings settings = read(known.name, "{}");
    EXPECT_EQ(settings.workload, known.name);
    EXPECT_TRUE(settings.make_task);
    EXPECT_GT(settings.batch_size, 0);
    EXPECT_GT(settings.epochs, 0);
  }
}

TEST(SettingsTest, ReadsJsonAsItIsWritten) {
  const Settings settings =
      read("resnet50",
           R"({"batch_size": 256, "learning_rate": 1e-1, "precision": "bf16", "nesterov": true,
          "milestones": [0.3, 0.6], "schedule": "step", "epochs": 5.0, "path": "/data"})");
  EXPECT_EQ(settings.batch_size, 256);
  EXPECT_DOUBLE_EQ(settings.schedule.base, 0.1);
  EXPECT_EQ(settings.precision, Precision::bf16);
  EXPECT_TRUE(settings.optimizer.nesterov);
  EXPECT_EQ(settings.schedule.milestones, (std::vector<double>{0.3, 0.6}));
}

TEST(SettingsTest, AnUnknownKeyIsAnErrorThatNamesTheNearest) {
  const std::string error = error_of("resnet20", "batch_size: 3\nlearing_rate: 1\n");
  EXPECT_THAT(error, HasSubstr("learing_rate"));
  EXPECT_THAT(error, HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(error, HasSubstr(":2:1"));
}

TEST(SettingsTest, AKeyOfAnotherKindOfWorkloadIsUnknown) {
  EXPECT_THAT(error_of("resnet20", "sequence: 64"), HasSubstr("unknown key 'sequence'"));
  EXPECT_THAT(error_of("bert-tiny", "label_noise: 0.1"), HasSubstr("unknown key 'label_noise'"));
  // Models of tokens have no smoothing in their loss.
  for (const char* const workload : {"llama-tiny", "moe-tiny"})
    EXPECT_THAT(error_of(workload, "label_smoothing: 0.1"),
                HasSubstr("unknown key 'label_smoothing'"));
}

TEST(SettingsTest, ValuesOutOfRangeAreErrorsAtTheirPlace) {
  EXPECT_THAT(error_of("resnet20", "batch_size: 0"), HasSubstr("whole number from 1"));
  EXPECT_THAT(error_of("resnet20", "batch_size: 1.5"), HasSubstr("whole number"));
  EXPECT_THAT(error_of("resnet20", "batch_size: many"), HasSubstr(":1:13"));
  EXPECT_THAT(error_of("resnet20", "precision: fp8"), HasSubstr("fp8"));
  EXPECT_THAT(error_of("resnet20", "milestones: [0.5, 0.2]"), HasSubstr("ascend"));
  EXPECT_THAT(error_of("resnet20", "[1, 2]"), HasSubstr("not a mapping"));
  EXPECT_THAT(error_of("resnet20", "{epochs: 0, max_steps: 0}"), HasSubstr("nothing to train"));
  EXPECT_THAT(error_of("resnet20", "resume: true"), HasSubstr("need 'checkpoint'"));
}

TEST(SettingsTest, TheFirstLabelOfRecordsCanBeGiven) {
  EXPECT_EQ(read_images("data: tfrecord\n").label_base, 1);
  EXPECT_EQ(read_images("data: tfrecord\nlabel_base: 0\n").label_base, 0);
}

TEST(SettingsTest, APathForGeneratedDataIsAnError) {
  EXPECT_THAT(error_of("resnet20", "path: /data/cifar"), HasSubstr("glyphs is generated"));
  EXPECT_THAT(error_of("bert-tiny", "path: /data/text"), HasSubstr("grammar is generated"));
  EXPECT_EQ(read_images("path: ''").path, "");
  EXPECT_EQ(read_images("{data: folder, path: /data}").path, "/data");
}

TEST(SettingsTest, RangesAreThoseOfTheDataSets) {
  EXPECT_THAT(error_of("bert-base", "mask_probability: 0.6"), HasSubstr("from 0.01 to 0.5"));
  EXPECT_THAT(error_of("bert-base", "vocabulary_size: 99"), HasSubstr("from 100 to 1000000"));
}

TEST(SettingsTest, RanksNeedTheSameTermsButNotTheSamePaths) {
  const auto terms = [](const std::string& text) {
    return read("resnet50", text).communicator.membership.terms;
  };
  const std::string plain = terms("{}");
  EXPECT_THAT(plain, HasSubstr("workload: resnet50\n"));
  EXPECT_THAT(plain, HasSubstr("\nbatch_size: 32\n"));
  EXPECT_EQ(terms("batch_size: 32"), plain);
  EXPECT_NE(terms("batch_size: 33"), plain);
  EXPECT_NE(terms("milestones: [0.5]"), plain);
  EXPECT_EQ(terms("path: /elsewhere\nthreads: 3\nloader_threads: 2\ncheckpoint: c\n"), plain);
}

TEST(SettingsTest, OfAWarmUpInStepsAndInEpochsTheStepsCount) {
  const Settings both = read("resnet50", "{warmup_steps: 7, warmup_epochs: 1}");
  EXPECT_EQ(schedule_over(both, 1000, 100).warmup_steps, 7);
  const Settings epochs = read("resnet50", "{warmup_steps: 0, warmup_epochs: 1}");
  EXPECT_EQ(schedule_over(epochs, 1000, 100).warmup_steps, 100);
  const Settings none = read("resnet50", "warmup_steps: 0");
  EXPECT_EQ(schedule_over(none, 1000, 100).warmup_steps, 0);
}

TEST(SettingsTest, WarmUpStepsReplaceWarmUpEpochs) {
  EXPECT_GT(read("resnet20", "{}").warmup_epochs, 0);
  const Settings settings = read("resnet20", "warmup_steps: 7");
  EXPECT_EQ(settings.warmup_epochs, 0);
  EXPECT_EQ(settings.schedule.warmup_steps, 7);
}

TEST(SettingsTest, ThreadsAreBoundByTheProcessors) {
  EXPECT_EQ(most_threads(1), 16);
  EXPECT_EQ(most_threads(2), 16);
  EXPECT_EQ(most_threads(64), 256);
}

}  // namespace
}  // namespace assay::train
