#include <chrono>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/output_reader.h"
#include "perflog/parser.h"

namespace assay::judge {
namespace {

using plan::OutputKind;
using plan::OutputMetric;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

OutputMetric output(const std::string& pattern, const std::string& unit = "1",
                    OutputKind kind = OutputKind::number) {
  return {"x", pattern, unit, Better::higher, "last", "mean", kind};
}

// What the metric finds in a log, which comes in pieces of `piece` bytes.
OutputValues find_output(const OutputMetric& wanted, std::string_view log,
                         std::size_t piece = std::string_view::npos) {
  const std::vector<OutputMetric> metrics{wanted};
  std::vector<OutputValues> found;
  OutputReader reader(metrics, found);
  perflog::Parser parser(
      [&](const perflog::Event& event) {
        reader.passed({event.mono_us, event.time_ms});
        if (event.kind == perflog::EventKind::step_end) reader.passed_step(event.step);
      },
      [&](std::string_view text, std::uint64_t line, bool ends) { reader.read(text, line, ends); });
  for (std::size_t at = 0; at < log.size(); at += std::min(piece, log.size()))
    parser.feed(log.substr(at, piece));
  parser.finish();
  return found.at(0);
}

std::vector<double> numbers_in(const OutputMetric& wanted, std::string_view log) {
  const std::vector<double> whole = find_output(wanted, log).kept();
  for (const std::size_t piece : {1, 2, 7})
    EXPECT_EQ(find_output(wanted, log, piece).kept(), whole) << "in pieces of " << piece;
  return whole;
}

TEST(OutputLines, EndAtCarriageReturns) {
  EXPECT_THAT(numbers_in(output("it/s=([0-9]+)"), "it/s=1\rit/s=2\rit/s=3\n"),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers_in(output("^([0-9]+)$"), "1\r2\r\n3\n4"), ElementsAre(1, 2, 3, 4));
}

TEST(OutputLines, HoldSeveralMatches) {
  EXPECT_THAT(numbers_in(output("loss=([0-9.]+)"), "loss=1.5 loss=2.5, loss=3.5\n"),
              ElementsAre(1.5, 2.5, 3.5));
}

TEST(OutputLines, HaveNoColors) {
  EXPECT_THAT(numbers_in(output("^loss: ([0-9.]+)$"),
                         "\x1b[1;32mloss\x1b[0m: \x1b[38;5;208m1.5\x1b[K\n"
                         "\x1b]0;title\aloss: 2.5\n\x1b]8;;http://x\x1b\\loss: 3.5\x1b]8;;\x1b\\\n"
                         "\x1b(Bloss: \x1b[?25l4.5\n"),
              ElementsAre(1.5, 2.5, 3.5, 4.5));
}

TEST(OutputLines, EndWhereTheCursorMovesAway) {
  // Nested bars of tqdm: down, draw, up again.
  EXPECT_THAT(numbers_in(output("^n=([0-9]+)"), "n=1\x1b[An=2\x1b[1Gn=3\x1b[2Jn=4\x1b[5;1Hn=5\n"),
              ElementsAre(1, 2, 3, 4, 5));
}

TEST(OutputLines, LoseWhatBackspacesTakeBack) {
  EXPECT_THAT(numbers_in(output("loss: ([0-9.]+)$"), "loss: 1.25\b\b\b\b1.75\n"),
              ElementsAre(1.25, 1.75));
  EXPECT_THAT(numbers_in(output("done ([0-9]+)%"), "done  5%\b\b\b\b 12%\x1b[4D 99%\n"),
              ElementsAre(12, 99));
  EXPECT_THAT(numbers_in(output("([0-9]+)…"), "7…\b\b8…\n"), ElementsAre(7, 8));
}

TEST(OutputLines, CountWhatBackspacesLeaveOnce) {
  EXPECT_THAT(numbers_in(output("step ([0-9]+) "), "step 5 |\b/\b-\b\\\b|\nstep 6 |\b/\n"),
              ElementsAre(5, 6));
}

TEST(OutputLines, MayHoldAnyBytes) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(numbers_in(output("rate=([0-9]+)"), "\xff\xfe rate=1 \xc3(\n\0\0rate=2\0\0 3\n"sv),
              ElementsAre(1, 2));
  // A hole in a file must not join two numbers.
  EXPECT_THAT(numbers_in(output("rate=([0-9]+)"),
                         "rate=1\0\0\0"
                         "2\n"sv),
              ElementsAre(1));
}

TEST(OutputLines, EndAnEscapeThatDoesNotEnd) {
  EXPECT_THAT(
      numbers_in(output("a=([0-9]+)"), "\x1b]0;endless a=1\na=2\n\x1b[12\na=3\n\x1b\na=4\n"),
      ElementsAre(2, 3, 4));
}

TEST(OutputLines, AreTextBesidePerfLogEvents) {
  EXPECT_THAT(numbers_in(output("([0-9.]+)it/s"),
                         "1.5it/s\r[PerfLog] {\"event\": \"X\", \"rate\": \"9it/s\"}\n2.5it/s\n"),
              ElementsAre(1.5, 2.5));
}

TEST(LongOutputLines, AreSearchedAsAWholeUpToAMebibyte) {
  EXPECT_THAT(
      find_output(output("rate(?:a|b)*c([0-9]+)"), "rate" + std::string(900'000, 'a') + "c17\n")
          .kept(),
      ElementsAre(17));
  EXPECT_THAT(
      find_output(output("rate(a|b)*c([0-9]+)"), "rate" + std::string(900'000, 'a') + "\n").kept(),
      IsEmpty());
  EXPECT_THAT(find_output(output("(a+)+b"), std::string(100'000, 'a') + "\n").kept(), IsEmpty());
}

TEST(LongOutputLines, HaveEveryShortMatchOnce) {
  std::string log;
  std::vector<double> expected;
  for (int i = 0; log.size() < 3 * OutputReader::kWindow; ++i) {
    log += "it/s=" + std::to_string(i) + std::string(static_cast<std::size_t>(i % 97), '.') + ' ';
    expected.push_back(i);
  }
  for (const std::size_t piece : {std::string::npos, std::size_t{1000}, std::size_t{262144}}) {
    EXPECT_EQ(find_output(output("it/s=([0-9]+)"), log, piece).kept(), expected);
    EXPECT_EQ(find_output(output("it/s=([0-9]+)"), log + "\n", piece).kept(), expected);
  }
}

TEST(LongOutputLines, HaveOneBeginningAndOneEnd) {
  const std::string fill(3 * OutputReader::kWindow / 2, 'x');
  const auto found = [&](const char* pattern) {
    return find_output(output(pattern), "a=1 " + fill + " a=2 " + fill + " a=3\n", 1 << 16).kept();
  };
  EXPECT_THAT(found("a=([0-9])"), ElementsAre(1, 2, 3));
  EXPECT_THAT(found("^a=([0-9])"), ElementsAre(1));
  EXPECT_THAT(found("a=([0-9])$"), ElementsAre(3));
  EXPECT_THAT(found("\\bx*([0-9])"), ElementsAre(1, 2, 3));
}

TEST(LongOutputLines, KeepAMatchAcrossWindows) {
  const std::string log = std::string(OutputReader::kWindow - 10, ' ') +
                          "rate=" + std::string(OutputReader::kOverlap / 2, ' ') + "1234567890 " +
                          std::string(OutputReader::kWindow, ' ');
  EXPECT_THAT(find_output(output("rate= *([0-9]+)"), log, 4096).kept(), ElementsAre(1234567890));
}

TEST(OutputLines, GiveTheSameHoweverTheyAreCut) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kBytes = "a=123 45,.k\r\b\b\n\x1b[2KmAD]0;\a\0\xe2\x96\x88 a="sv;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string log;
    for (int i = 0; i < 400; ++i) log += kBytes[random() % kBytes.size()];
    const OutputValues whole = find_output(output("a=([0-9,.k]+)"), log);
    for (const std::size_t piece : {1, 3, 64}) {
      const OutputValues cut = find_output(output("a=([0-9,.k]+)"), log, piece);
      ASSERT_EQ(cut.kept(), whole.kept()) << ::testing::PrintToString(log);
      ASSERT_EQ(cut.unreadable(), whole.unreadable()) << ::testing::PrintToString(log);
    }
  }
}

// A gigabyte of this would take minutes if a line were searched again for every backspace.
TEST(LongOutputLines, OfBackspacesTakeLinearTime) {
  std::string log(OutputReader::kWindow, 'x');
  for (int i = 0; i < 200'000; ++i) log += "y\b";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(find_output(output("z([0-9]+)"), log).kept(), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(OutputHoles, HideTheHalvesOfLinesAroundThem) {
  const std::vector<OutputMetric> metrics{output("rate=([0-9]+)")};
  for (const char* end : {"\r", "\n"}) {
    std::vector<OutputValues> found;
    OutputReader reader(metrics, found);
    perflog::Parser parser({}, [&](std::string_view text, std::uint64_t line, bool ends) {
      reader.read(text, line, ends);
    });
    parser.feed(std::string("rate=1") + end + "rate=23");
    parser.cut();
    reader.hole();
    parser.feed(std::string("4 rate=5") + end + "rate=6" + end);
    parser.finish();
    EXPECT_THAT(found[0].kept(), ElementsAre(1, 6));
  }
}

TEST(OutputNumbers, ThatCannotBeReadAreCountedWithTheirPlace) {
  const OutputValues found =
      find_output(output("rate: (\\S+)"), "rate: 5\n\nrate: 1,5\nrate: n/a\n");
  EXPECT_THAT(found.kept(), ElementsAre(5));
  EXPECT_EQ(found.unreadable(), 2U);
  EXPECT_EQ(found.first_unreadable_line(), 3U);
  EXPECT_EQ(found.first_unreadable(), "1,5");
}

TEST(OutputNumbers, InPercentAreHundredthsUnlessThatIsTheUnit) {
  EXPECT_THAT(numbers_in(output("mfu ([0-9.]+%)"), "mfu 42.5%\n"), ElementsAre(0.425));
  EXPECT_THAT(numbers_in(output("mfu ([0-9.]+%)", "%"), "mfu 42.5%\n"), ElementsAre(42.5));
  EXPECT_THAT(numbers_in(output("mfu ([0-9.]+)%", "%"), "mfu 42.5%\n"), ElementsAre(42.5));
}

TEST(OutputSteps, ComeFromTheLineOrFromPerfLog) {
  const OutputValues own =
      find_output(output("iteration +(?P<step>[0-9,]+)/.*loss: (?P<value>[0-9.]+)"),
                  "iteration 1,100/ 2000 | loss: 2.5\niteration 1,200/ 2000 | loss: 2.25\n");
  EXPECT_THAT(own.kept(), ElementsAre(2.5, 2.25));
  EXPECT_EQ(own.points()[0].step, 1100);
  EXPECT_EQ(own.last_step(), 1200);
  EXPECT_FALSE(own.points()[0].at.known());

  const OutputValues beside = find_output(
      output("loss ([0-9.]+)"),
      "loss 3\n[PerfLog] {\"event\": \"STEP_END\", \"step\": 7, \"metadata\": {\"time_ms\": 5}}\n"
      "loss 2\n");
  EXPECT_EQ(beside.points()[0].step, kNoTime);
  EXPECT_EQ(beside.points()[1].step, 7);
  EXPECT_EQ(beside.points()[1].at.wall_ms, 5);
}

// As trainers print.

TEST(Trainers, TqdmOfASlowAndAFastLoop) {
  const OutputMetric speed = output(R"(([0-9.?]+[kM]?(?:it/s|s/it)))", "it/s", OutputKind::speed);
  EXPECT_THAT(numbers_in(speed,
                         "  0%|          | 0/1000 [00:00<?, ?it/s]\r"
                         "  1%|▏         | 12/1000 [00:24<32:56,  2.00s/it, loss=2.31]\r"
                         " 45%|████▌     | 450/1000 [05:10<02:12, 44.50it/s, loss=0.71]\r"
                         "100%|██████████| 1000/1000 [05:20<00:00, 1.25kit/s, loss=0.5]\n"),
              ElementsAre(0.5, 44.5, 1250));
}

TEST(Trainers, Megatron) {
  const std::string log =
      " [2024-05-01 10:00:05] iteration      100/    5000 | consumed samples:        25600 | "
      "elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 123.4 | "
      "learning rate: 1.500E-04 | global batch size:   256 | lm loss: 6.512345E+00 | "
      "number of nan iterations:   0 |\n"
      " [2024-05-01 10:02:08] iteration      200/    5000 | consumed samples:        51200 | "
      "elapsed time per iteration (ms): 1230.0 | throughput per GPU (TFLOP/s/GPU): 124.0 | "
      "learning rate: 1.500E-04 | global batch size:   256 | lm loss: 5.912345E+00 | "
      "number of nan iterations:   0 |\n";
  EXPECT_THAT(numbers_in(output(R"(elapsed time per iteration \(ms\): ([0-9.]+))"), log),
              ElementsAre(1234.5, 1230));
  EXPECT_THAT(numbers_in(output(R"(throughput per GPU \(TFLOP/s/GPU\): ([0-9.]+))"), log),
              ElementsAre(123.4, 124));
  EXPECT_THAT(numbers_in(output(R"(lm loss: ([0-9.Ee+-]+))"), log),
              ElementsAre(6.512345, 5.912345));
}

TEST(Trainers, HuggingFace) {
  const std::string log =
      "{'loss': 1.2345, 'grad_norm': 2.5, 'learning_rate': 4.5e-05, 'epoch': 0.1}\n"
      " 10%|█         | 100/1000 [00:10<01:30, 10.00it/s]\r"
      "{'loss': 0.9876, 'grad_norm': 1.5, 'learning_rate': 4e-05, 'epoch': 0.2}\n"
      "{'train_runtime': 812.4, 'train_samples_per_second': 12.3, 'train_loss': 1.01}\n";
  EXPECT_THAT(numbers_in(output("'loss': ([0-9.e-]+)"), log), ElementsAre(1.2345, 0.9876));
  EXPECT_THAT(numbers_in(output("'train_samples_per_second': ([0-9.e-]+)"), log),
              ElementsAre(12.3));
}

TEST(Trainers, KerasWithBackspaces) {
  const std::string bar1 = " 16/100 [===>..........] - ETA: 1s - loss: 0.6931";
  const std::string bar2 = " 32/100 [======>.......] - ETA: 1s - loss: 0.5000";
  const std::string log = bar1 + std::string(bar1.size(), '\b') + bar2 +
                          std::string(bar2.size(), '\b') +
                          "100/100 [==============] - 2s 12ms/step - loss: 0.2500\n";
  EXPECT_THAT(numbers_in(output("loss: ([0-9.]+)"), log), ElementsAre(0.6931, 0.5, 0.25));
  EXPECT_THAT(numbers_in(output("([0-9.]+[mun]?s/step)", "step/s", OutputKind::speed), log),
              ElementsAre(1 / 0.012));
}

TEST(Trainers, PytorchImagenet) {
  const std::string log =
      "Epoch: [0][  10/5005]\tTime  0.345 ( 0.512)\tData  0.001 ( 0.120)\t"
      "Loss 6.9e+00 (7.0e+00)\tAcc@1   0.39 (  0.28)\tAcc@5   0.78 (  0.71)\n"
      "Epoch: [0][  20/5005]\tTime  0.340 ( 0.430)\tData  0.001 ( 0.060)\t"
      "Loss 6.8e+00 (6.9e+00)\tAcc@1   0.78 (  0.40)\tAcc@5   1.17 (  0.90)\n"
      " * Acc@1 76.130 Acc@5 92.862\n";
  EXPECT_THAT(numbers_in(output(R"(Time +([0-9.]+))"), log), ElementsAre(0.345, 0.34));
  EXPECT_THAT(numbers_in(output(R"(Time +[0-9.]+ \( *([0-9.]+)\))"), log),
              ElementsAre(0.512, 0.43));
  EXPECT_THAT(numbers_in(output(R"(^ \* Acc@1 ([0-9.]+))"), log), ElementsAre(76.13));
}

TEST(OutputValues, KeepWhatCountsHoweverManyThereAre) {
  OutputValues found;
  constexpr int kMany = 10'000'000;
  for (int i = 1; i <= kMany; ++i) found.add(i);
  EXPECT_EQ(found.count(), static_cast<std::uint64_t>(kMany));
  EXPECT_EQ(found.reduced("first"), 1);
  EXPECT_EQ(found.reduced("last"), kMany);
  EXPECT_EQ(found.reduced("min"), 1);
  EXPECT_EQ(found.reduced("max"), kMany);
  EXPECT_EQ(found.reduced("sum"), kMany * (kMany + 1.0) / 2);
  EXPECT_EQ(found.reduced("mean"), (kMany + 1.0) / 2);
  EXPECT_NEAR(*found.reduced("median"), (kMany + 1.0) / 2, 10);
  EXPECT_LE(found.kept().size(), std::size_t{1} << 22);
  EXPECT_LE(found.points().size(), OutputValues::kMaxPoints);
}

}  // namespace
}  // namespace assay::judge
