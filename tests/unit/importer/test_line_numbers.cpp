// The number of a line that 'assay init --sample' takes, and what a run then reads. The lines are
// as the programs print them that the tests name.

#include <gmock/gmock.h>

#include "core/pattern.h"
#include "importer/line_numbers.h"
#include "judge/output_reader.h"

namespace assay::importer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  EXPECT_EQ(likely("score 5 of epoch [3]"), "none");
  EXPECT_EQ(likely("step 3"), "none");
  EXPECT_EQ(likely("speed: 12,345.6 tok/s  (1.2e3 it/s)"), "12,345.6");
  EXPECT_EQ(likely("step 12 | 345.6 tok/s | loss 2.3"), "345.6");
  EXPECT_EQ(likely("step 1 loss 1.000 samples/s 3201"), "3201");
  EXPECT_EQ(likely("loss 1.0 (0.35 sec/step)"), "0.35");
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
  EXPECT_EQ(unit("speed: 12.5"), "") << "of what it does not say";
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

// What a run reads with the metric, by the code that reads a run's output.
std::vector<double> measured(const PrintedMetric& metric, std::string_view output) {
  plan::OutputMetric wanted;
  wanted.name = metric.name;
  wanted.pattern = metric.match;
  wanted.unit = metric.unit;
  wanted.kind = metric.bar ? plan::OutputKind::speed : plan::OutputKind::number;
  const std::vector<plan::OutputMetric> metrics{wanted};
  std::vector<judge::OutputValues> found;
  judge::OutputReader reader(metrics, found);
  reader.read(output, 1, /*ends=*/true);
  return found.front().unreadable() == 0 ? found.front().kept() : std::vector<double>{-1};
}

// What is taken of the line, in a few words: "throughput 31.24 samples/s".
struct Taken {
  PrintedMetric metric;
  std::vector<double> values{};
};

Taken taken(std::string_view line) {
  const std::vector<NumberInLine> numbers = numbers_in(line);
  const auto at = likely_metric(numbers);
  if (!at) return {{"none", ""}};
  const PrintedMetric metric = printed_metric(numbers[*at]);
  return {metric, measured(metric, line)};
}

std::string name_and_unit(const Taken& it) {
  return it.metric.name + " " + it.metric.unit + " " + it.metric.better;
}

TEST(SampleLine, OfDeepSpeedIsItsSamplesASecond) {
  const Taken it = taken(
      "[2023-06-05 10:00:00,123] [INFO] [timer.py:199:stop] epoch=0/micro_step=100/"
      "global_step=100, RunningAvgSamplesPerSec=31.24, CurrSamplesPerSec=31.57, "
      "MemAllocated=1.22GB, MaxMemAllocated=5.94GB");
  EXPECT_EQ(name_and_unit(it), "throughput samples/s higher");
  EXPECT_THAT(it.values, ElementsAre(31.24));
}

TEST(SampleLine, OfHuggingFacesTrainerIsItsSamplesASecond) {
  const Taken it = taken(
      "{'train_runtime': 123.4567, 'train_samples_per_second': 81.234, "
      "'train_steps_per_second': 2.539, 'train_loss': 0.5, 'epoch': 3.0}");
  EXPECT_EQ(name_and_unit(it), "throughput samples/s higher");
  EXPECT_THAT(it.values, ElementsAre(81.234));
}

TEST(SampleLine, OfStepsASecondIsNamedSo) {
  const Taken it = taken("{'train_runtime': 123.4, 'train_steps_per_second': 2.539}");
  EXPECT_EQ(name_and_unit(it), "throughput steps/s higher");
  EXPECT_THAT(it.values, ElementsAre(2.539));
}

TEST(SampleLine, OfABarIsTheTimeOfAnIterationAndNotTheTotal) {
  for (const char* line :
       {"500/500 [00:10<00:00, 1.20s/it]", "100%|██████████| 500/500 [10:00<00:00,  1.20s/it]"}) {
    const Taken it = taken(line);
    EXPECT_EQ(name_and_unit(it), "throughput it/s higher") << line;
    ASSERT_THAT(it.values, testing::SizeIs(1)) << line;
    EXPECT_DOUBLE_EQ(it.values[0], 1 / 1.2) << line;
  }
}

TEST(SampleLine, OfABarReadsBothItsForms) {
  for (const char* line : {"Epoch 0: 100%|██████████| 938/938 [00:25<00:00, 36.21it/s, v_num=0]",
                           "938/938 [00:25<00:00, 1.20s/it]", "36.21it/s"}) {
    const PrintedMetric metric = taken(line).metric;
    EXPECT_TRUE(metric.bar) << line;
    EXPECT_THAT(measured(metric, "9/938 [00:25<00:00, 36.21it/s, v_num=0]"), ElementsAre(36.21));
    EXPECT_THAT(measured(metric, "9/938 [00:25<00:00,  2.00s/it]"), ElementsAre(0.5));
    EXPECT_THAT(measured(metric, "0/938 [00:00<?, ?it/s]"), IsEmpty());
  }
}

TEST(SampleLine, OfKerasReadsStepsInEveryUnitOfTime) {
  const PrintedMetric metric = taken("938/938 - 5s - loss: 0.3 - 4ms/step").metric;
  EXPECT_EQ(metric.unit, "step/s");
  EXPECT_THAT(measured(metric, "938/938 - 5s - loss: 0.3 - 2s/step"), ElementsAre(0.5));
}

TEST(SampleLine, KeepsTheLetterOfThousands) {
  const Taken it = taken("tok/s 12.3k | loss 3.2");
  EXPECT_EQ(name_and_unit(it), "throughput tokens/s higher");
  EXPECT_THAT(it.values, ElementsAre(12300));
  EXPECT_THAT(measured(it.metric, "tok/s 999 | loss 3.2"), ElementsAre(999));
  EXPECT_THAT(measured(it.metric, "tok/s 1.2M | loss 3.2"), ElementsAre(1.2e6));
  EXPECT_THAT(taken("loss 3.2, 1.2 M tokens/s").values, ElementsAre(1.2e6));
  EXPECT_THAT(taken("12.3k tok/s").values, ElementsAre(12300));
}

TEST(SampleLine, FindsNothingElseWhereItsLetterIsUnknown) {
  const PrintedMetric metric = taken("tok/s 12.3k | loss 3.2").metric;
  EXPECT_THAT(measured(metric, "tok/s 1.2B | loss 3.2"), ElementsAre(-1)) << "cannot be read";
}

TEST(SampleLine, OfMindFormersIsItsFlopsOfADevice) {
  const Taken it = taken(
      "2024-01-01 10:00:00,123 - INFO - { Epoch:[  1/  2], step:[   10/ 1000], loss: 10.612, "
      "per_step_time: 1234ms, lr: 1e-05, overflow cond: False, loss_scale: 65536, "
      "global_norm: [1.2], train_throughput_per_npu: 162.456T");
  EXPECT_EQ(name_and_unit(it), "throughput FLOP/s/device higher");
  EXPECT_THAT(it.values, ElementsAre(162.456e12));
}

TEST(SampleLine, WithTheTimeOfAStepIsThatTime) {
  const Taken it = taken("step 100/1000, 34.5 ms/step");
  EXPECT_EQ(name_and_unit(it), "step_time ms lower");
  EXPECT_THAT(it.values, ElementsAre(34.5));
  EXPECT_EQ(name_and_unit(taken("step 3: 350 ms per step")), "step_time ms lower");
  EXPECT_EQ(name_and_unit(taken("loss: 10.6, per_step_time: 1234ms, params: 7")),
            "step_time ms lower");
}

constexpr const char* kImageNet =
    "Epoch: [0][  10/5005]\tTime  0.456 ( 0.512)\tData  0.012 ( 0.045)\t"
    "Loss 6.9012e+00 (7.0e+00)\tAcc@1   0.39 (  0.12)\tAcc@5   1.56 (  0.80)";

TEST(SampleLine, OfPyTorchsImageNetExampleDoesNotSayOfWhatItsTimeIs) {
  EXPECT_EQ(taken(kImageNet).metric.name, "none");
}

TEST(SampleLine, OfPyTorchsImageNetExampleIsReadByEveryNameInIt) {
  std::vector<std::string> texts;
  for (const NumberInLine& number : numbers_in(kImageNet)) {
    EXPECT_THAT(measured(printed_metric(number), kImageNet), ElementsAre(std::stod(number.text)));
    texts.push_back(number.text);
  }
  EXPECT_THAT(texts, ElementsAre("0", "0.456", "0.012", "6.9012e+00", "0.39", "1.56"));
}

TEST(SampleLine, IsNotGuessed) {
  for (const char* line :
       {"MaxMemAllocated=5.94GB", "iter 10: loss 3.2, time 350.12ms, mfu 12.3%", "score 5",
        "fan speed 3000 rpm", "throughput: 1.2 GB/s", "eval samples/s: 12", "max tok/s: 12",
        "loss_scale: 65536", "10 samples/s 3201", "1 234 tok/s", "tok/s: 1 234", "tok/s: 3.2万",
        "tok/s: 1'234", "speed: 12m", "345 ± 1.2 img/s", "speed: 3/10", "elapsed: 12 s",
        "12 s/epoch", "12 widgets/s"})
    EXPECT_EQ(taken(line).metric.name, "none") << line;
}

TEST(SampleLine, WhoseWordsSayNothingClaimsNothing) {
  const PrintedMetric metric = printed_metric(numbers_in("score 5").front());
  EXPECT_EQ(metric.name, "value");
  EXPECT_EQ(metric.unit, "");
  EXPECT_EQ(metric.better, "neither");
}

TEST(SampleLine, OfOtherTrainersIsTheirRate) {
  EXPECT_EQ(name_and_unit(taken("Img/sec per GPU: 345.6 +-1.2")),
            "throughput images/s/device higher");
  EXPECT_EQ(name_and_unit(taken("100 images/sec: 345.6 +/- 1.2 (jitter = 3.4)")),
            "throughput images/s higher");
  EXPECT_EQ(name_and_unit(taken("rank 0: 12.5 ktok/s")), "throughput ktokens/s higher");
  EXPECT_EQ(name_and_unit(taken("345.6 tok/s 2.3 loss")), "none  higher") << "whose is tok/s?";
  EXPECT_EQ(name_and_unit(taken("speed 345.6 tok/s 2.3 loss")), "throughput tokens/s higher");
}

TEST(SampleLine, IsReadByAPatternOfItsWholeName) {
  const PrintedMetric metric = taken("speed: 12.5").metric;
  EXPECT_THAT(measured(metric, "max_speed: 99, speed: 12.5"), ElementsAre(12.5));
}

}  // namespace
}  // namespace assay::importer
