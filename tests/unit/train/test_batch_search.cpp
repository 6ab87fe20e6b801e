// The search for a batch size, on devices that are functions; and batches of other sizes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/loop/batch_search.h"
#include "train/loop/image_task.h"
#include "train/loop/task.h"
#include "train/loop/text_task.h"
#include "workload/phase_log.h"

namespace assay::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BatchSearchTest : public ::testing::Test {
 protected:
  // A device that takes `fixed` seconds a step and 1 ms a sample, and has memory for so many rows.
  BatchChoice search(double fixed, std::int64_t memory) {
    tried_.clear();
    return search_batch(
        [&](std::int64_t rows) -> std::optional<BatchTrial> {
          tried_.push_back(rows);
          now_ += trial_seconds_;
          if (rows > memory) return std::nullopt;
          return BatchTrial{fixed + 0.001 * static_cast<double>(rows),
                            static_cast<double>(rows) / static_cast<double>(memory)};
        },
        limits_, [&] { return now_; });
  }

  BatchLimits limits_;
  double trial_seconds_ = 0.1;
  double now_ = 5;
  std::vector<std::int64_t> tried_;
};

TEST_F(BatchSearchTest, GrowsWhileADoublingGains) {
  // 256 → 512 gains 3.8 %, 512 → 1024 gains 1.9 %.
  const BatchChoice choice = search(0.020, 1 << 20);
  EXPECT_EQ(choice.rows, 512);
  EXPECT_THAT(tried_, ElementsAre(32, 64, 128, 256, 512, 1024));
  EXPECT_THAT(choice.why, HasSubstr("1024 are +1.9 % faster"));
}

TEST_F(BatchSearchTest, StopsBeforeTheMemoryIsFull) {
  EXPECT_EQ(search(1, 300).rows, 128);  // 256 would be 85 % of it
  EXPECT_THAT(tried_, ElementsAre(32, 64, 128, 256));
  EXPECT_EQ(search(1, 330).rows, 256);
}

TEST_F(BatchSearchTest, ShrinksUntilItFits) {
  const BatchChoice choice = search(0.02, 10);
  EXPECT_EQ(choice.rows, 8);
  EXPECT_THAT(tried_, ElementsAre(32, 16, 8));
  EXPECT_THAT(choice.why, HasSubstr("16 do not fit"));
}

TEST_F(BatchSearchTest, OneSampleIsTheLeast) {
  EXPECT_EQ(search(0.02, 0).rows, 1);
}

TEST_F(BatchSearchTest, IsNotMoreThanTheDataHold) {
  limits_.most = 100;
  EXPECT_EQ(search(1, 1 << 20).rows, 64);
  limits_.most = 10;
  EXPECT_EQ(search(1, 1 << 20).rows, 10);
  EXPECT_THAT(tried_, ElementsAre(10));
}

TEST_F(BatchSearchTest, TakesNoLongerThanItsTime) {
  trial_seconds_ = 4;
  const BatchChoice choice = search(1, 1 << 20);
  EXPECT_EQ(choice.rows, 64);
  EXPECT_THAT(choice.why, HasSubstr("trials took 6 s"));
}

std::unique_ptr<Task> make_task(const TaskKind& kind, const std::string& workload,
                                const std::string& config) {
  workload::Options options = workload::Options::from_text(config);
  for (const ModelEntry& model : kind.models)
    if (model.workload == workload) options.set_defaults(model.defaults);
  const Settings settings = read_settings(kind, workload, options);
  torch::manual_seed(1);
  perflog::Writer nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC), 0);
  workload::PhaseLog phases(nowhere);
  return settings.make_task(settings, {}, phases);
}

// The same samples twice have the same mean loss.
void expect_same_loss_of_copies(Task& task) {
  task.start({}, 0);
  task.next();
  ASSERT_EQ(task.rows(), 6);
  const double loss = task.loss().item<double>();
  task.resize(12);
  EXPECT_EQ(task.rows(), 12);
  EXPECT_NEAR(task.loss().item<double>(), loss, 1e-4 * loss);
  task.resize(6);
  EXPECT_NEAR(task.loss().item<double>(), loss, 1e-4 * loss);
  task.resize(16);  // not a multiple
  EXPECT_EQ(task.rows(), 16);
  EXPECT_TRUE(std::isfinite(task.loss().item<double>()));
  task.resize(2);
  EXPECT_EQ(task.rows(), 2);
  task.loss().backward();
}

TEST(ResizedBatch, OfImages) {
  const auto task = make_task(image_kind(), "resnet20", "{batch_size: 6, train_size: 64}");
  expect_same_loss_of_copies(*task);
  EXPECT_EQ(task->max_batch_size(), 64);
}

TEST(ResizedBatch, OfText) {
  const auto task =
      make_task(text_kind(), "bert-tiny", "{batch_size: 6, train_size: 64, eval_size: 16}");
  expect_same_loss_of_copies(*task);
}

TEST(ResizedBatch, TheNextStartHasBatchesOfTheNewSize) {
  const auto task = make_task(image_kind(), "resnet20", "{batch_size: auto, train_size: 64}");
  task->set_batch_size(16);
  task->start({}, 0);
  EXPECT_EQ(task->next().samples, 16);
  EXPECT_EQ(task->batches_per_epoch(), 4);
}

}  // namespace
}  // namespace assay::train
