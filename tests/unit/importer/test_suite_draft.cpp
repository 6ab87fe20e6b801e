#include <fstream>

#include <gmock/gmock.h>

#include "core/pattern.h"
#include "importer/suite_draft.h"
#include "plan/suite.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

plan::Suite loaded(const SuiteDraft& draft) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "s.yaml";
  std::ofstream(file) << to_yaml(draft);
  return plan::load_suite(file);
}

TEST(SuiteDraft, OfACommandIsASuite) {
  SuiteDraft draft;
  draft.name = "it's mine";
  draft.command = "python3 -u train.py --lr 1e-4";
  draft.metric = PrintedMetric{"printed_tokens", "Tokens: *([0-9.]+)", "tokens/s"};
  const plan::Suite suite = loaded(draft);
  EXPECT_EQ(suite.name, "it's mine");
  EXPECT_THAT(suite.cases, SizeIs(1));
}

TEST(SuiteDraft, OfAWorkloadOnHostsIsASuite) {
  SuiteDraft draft;
  draft.launcher = DraftLauncher::ssh;
  draft.hosts = {"n1", "n2"};
  draft.user = "bench";
  draft.workload = "resnet20";
  draft.framework = "libtorch";
  draft.nodes = 2;
  EXPECT_THAT(loaded(draft).cases, SizeIs(1));
  EXPECT_THAT(to_yaml(draft), HasSubstr("hosts: ['n1', 'n2']"));
}

TEST(SuiteDraft, OfSlurmIsASuite) {
  SuiteDraft draft;
  draft.launcher = DraftLauncher::slurm;
  draft.partition = "gpu";
  draft.command = "echo $RANK | cat";
  EXPECT_THAT(loaded(draft).cases, SizeIs(1));
  EXPECT_THAT(to_yaml(draft), HasSubstr("shell: true"));
}

std::vector<std::string> values(std::string_view line) {
  std::vector<std::string> out;
  for (const NumberInLine& number : numbers_in(line)) out.push_back(number.text);
  return out;
}

TEST(NumbersInLine, HaveANameBeforeThem) {
  EXPECT_THAT(values("step 10 loss 2.1 Tokens/p/s: 345.6"), ElementsAre("10", "2.1", "345.6"));
  EXPECT_THAT(values("12:30 resnet50 speed=1,234.5 img/s"), ElementsAre("1,234.5"));
  EXPECT_THAT(values("no number"), ElementsAre());
  EXPECT_THAT(values(""), ElementsAre());
  EXPECT_THAT(values("ends with 5."), ElementsAre("5"));
}

TEST(NumbersInLine, HaveTheirExponent) {
  EXPECT_THAT(values("loss=1e-3 lr 2.5E+4"), ElementsAre("1e-3", "2.5E+4"));
  EXPECT_THAT(values("loss 3 epochs 4else"), ElementsAre("3", "4"));
}

TEST(NumbersInLine, HaveASign) {
  EXPECT_THAT(values("reward -3.5 delta=-.25 gain .5"), ElementsAre("-3.5", "-.25", ".5"));
  EXPECT_THAT(values("2026-11-18 run-3 resnet-50 loss 2"), ElementsAre("3", "50", "2"));
}

TEST(NumbersInLine, AreNamedByTheirRate) {
  EXPECT_THAT(values("step 12 | 345.6 tok/s | loss 2.3"), ElementsAre("12", "345.6", "2.3"));
  EXPECT_THAT(values("345.6 tok/s"), ElementsAre("345.6"));
  EXPECT_THAT(values("345.6 apples"), ElementsAre());
}

TEST(NumbersInLine, HaveNamesInOtherScripts) {
  EXPECT_THAT(values("第 3 步 吞吐率：345.6 样本/秒"), ElementsAre("3", "345.6"));
}

std::string likely(std::string_view line) {
  const std::vector<NumberInLine> numbers = numbers_in(line);
  const auto at = likely_metric(numbers);
  return at ? numbers[*at].text : "none";
}

TEST(LikelyMetric, IsARateBeforeALossAndNeverAStep) {
  EXPECT_EQ(likely("Tokens/p/s: 345.6 at step 3"), "345.6");
  EXPECT_EQ(likely("step 10 loss 2.1 Tokens/p/s: 345.6"), "345.6");
  EXPECT_EQ(likely("epoch 2, loss: 0.5, iteration 7"), "0.5");
  EXPECT_EQ(likely("speed=99 img/s, loss 1e-3"), "99");
  EXPECT_EQ(likely("score 5 of epoch [3]"), "5");
  EXPECT_EQ(likely("step 3"), "none");
  EXPECT_EQ(likely("speed: 12,345.6 tok/s  (1.2e3 it/s)"), "12,345.6");
  EXPECT_EQ(likely("step 12 | 345.6 tok/s | loss 2.3"), "345.6");
  EXPECT_EQ(likely("step 1 loss 1.000 samples/s 3201"), "3201");
  EXPECT_EQ(likely("loss 1.0 (0.35 sec/step)"), "1.0");
  EXPECT_EQ(likely("elapsed time per iteration (ms): 12345.6 | lm loss: 1.2E+01"), "12345.6");
  EXPECT_EQ(likely("step time: 0.3 s, 99 img/s"), "99");
  EXPECT_EQ(likely("loss 2.5 elapsed 350 s"), "2.5");
  EXPECT_EQ(likely("步 3 损失 2.1 吞吐率：345.6 样本/秒"), "345.6");
}

TEST(LikelyMetric, IsFoundBetweenMarksOfChinese) {
  EXPECT_EQ(likely("训练吞吐率：345.6 样本/秒，损失 0.5"), "345.6");
  EXPECT_EQ(likely("训练速度 1,234.5 tok/s，剩余 12:34"), "1,234.5");
  EXPECT_EQ(likely("损失：0.5；吞吐率＝345.6 样本/秒（第 3 步）"), "345.6");
  EXPECT_EQ(likely("【第 3 步】损失 0.5、每步 350 毫秒"), "350");
  EXPECT_EQ(likely("第 3 步，345.6 样本/秒"), "345.6");
}

TEST(PrintedMetric, HasTheUnitOfItsWords) {
  const auto unit = [](std::string_view line) {
    const std::vector<NumberInLine> numbers = numbers_in(line);
    return printed_metric(numbers[*likely_metric(numbers)]).unit;
  };
  EXPECT_EQ(unit("Tokens/p/s: 345.6"), "tokens/s/device");
  EXPECT_EQ(unit("speed: 12 img/s"), "images/s");
  EXPECT_EQ(unit("throughput (TFLOP/s/GPU): 12.5"), "TFLOP/s/device");
  EXPECT_EQ(unit("speed: 12.5"), "samples/s");
  EXPECT_EQ(unit("speed: 12,345.6 tok/s  (1.2e3 it/s)"), "tokens/s");
  EXPECT_EQ(unit("12.5 it/s"), "steps/s");
  EXPECT_EQ(unit("elapsed time per iteration (ms): 12345.6 | lm loss: 1.2E+01"), "ms");
  EXPECT_EQ(unit("训练吞吐率：345.6 样本/秒，损失 0.5"), "samples/s");
  EXPECT_EQ(unit("每步耗时 350 毫秒，损失 0.5"), "ms");
  const PrintedMetric time = printed_metric(numbers_in("step time: 350 ms").front());
  EXPECT_EQ(time.name, "step_time");
  EXPECT_EQ(time.unit, "ms");
  EXPECT_EQ(time.better, "lower");
  const PrintedMetric loss = printed_metric(numbers_in("loss=1e-3").front());
  EXPECT_EQ(loss.name, "loss");
  EXPECT_EQ(loss.better, "lower");
}

TEST(PatternFor, FindsTheNumberAgain) {
  for (const std::string line :
       {"step 10 loss 2.1 Tokens/p/s: 345.6", "throughput (TFLOP/s/GPU): 12.5 |",
        "iter 5, 1.5 s, speed=99 img/s", "loss=1e-3", "speed: 12,345.6 tok/s  (1.2e3 it/s)",
        "step 12 | 345.6 tok/s | loss 2.3", "reward -3.5 gain .5", "吞吐率：345.6 样本/秒",
        "训练吞吐率：345.6 样本/秒，损失 0.5", "训练速度 1,234.5 tok/s，剩余 12:34",
        "elapsed time per iteration (ms): 12345.6 | lm loss: 1.2E+01"}) {
    for (const NumberInLine& number : numbers_in(line)) {
      const auto found = Pattern(pattern_for(number)).search(line);
      ASSERT_TRUE(found.has_value()) << line << " " << pattern_for(number);
      EXPECT_EQ(*(*found)[1], number.text) << pattern_for(number);
    }
  }
}

}  // namespace
}  // namespace assay::importer
