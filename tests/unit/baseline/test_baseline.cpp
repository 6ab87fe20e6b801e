#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline/baseline.h"
#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::baseline {
namespace {

using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kText = R"(assay_baseline: 1
assay_version: 0.1.0
cases:
  - case: matmul
    hardware: AMD EPYC, 2 cores, 2 threads
    nodes: 1
    procs: 2
    work: {model: matmul}
    rounds: 5
    runs: [run1, run2]
    metrics:
      achieved_flops: {unit: FLOP/s, better: higher, median: 100, low: 95, high: 105, judged: true,
        values: [99, 100, 101]}
      e2e_time: {unit: s, better: lower, median: 2, low: 1.5, high: 2.5}
)";

std::string with(std::string from, const std::string& to) {
  std::string text = kText;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string fault(const std::string& text) {
  return error_of([&] { return parse(text, "b.yaml"); });
}

TEST(Baseline, IsReadByCaseAndHardware) {
  const Baseline read = parse(kText, "b.yaml");
  const CaseEntry* entry = read.find("matmul", "AMD EPYC, 2 cores, 2 threads");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->procs, 2);
  EXPECT_EQ(entry->rounds, 5);
  EXPECT_EQ(entry->work.at("model"), "matmul");
  EXPECT_EQ(entry->where, "b.yaml:4:5");
  EXPECT_THAT(entry->runs, ElementsAre("run1", "run2"));
  ASSERT_NE(entry->find("achieved_flops"), nullptr);
  EXPECT_TRUE(entry->find("achieved_flops")->judged);
  EXPECT_THAT(entry->find("achieved_flops")->values, ElementsAre(99, 100, 101));
  EXPECT_EQ(entry->find("loss"), nullptr);
  EXPECT_EQ(read.find("matmul", "another"), nullptr);
  EXPECT_THAT(read.hardware_of("matmul"), ElementsAre("AMD EPYC, 2 cores, 2 threads"));
}

TEST(Baseline, WorseAndBetterFollowTheDirection) {
  const Baseline read = parse(kText, "b.yaml");
  const Metric& speed = *read.entries[0].find("achieved_flops");
  EXPECT_TRUE(speed.is_worse(94.9));
  EXPECT_FALSE(speed.is_worse(95));
  EXPECT_TRUE(speed.is_better(106));
  const Metric& time = *read.entries[0].find("e2e_time");
  EXPECT_TRUE(time.is_worse(2.6));
  EXPECT_TRUE(time.is_better(1.4));
  EXPECT_FALSE(time.is_better(2));
}

TEST(Baseline, WhatIsWrittenIsReadBack) {
  Baseline baseline;
  baseline.description = "lab: \"no\" 'tabs'\there";
  baseline.assay_version = "0.2";
  CaseEntry entry;
  entry.name = "a: strange, [name] # of a case";
  entry.hardware = "8 × NVIDIA H200";
  entry.work = {{"model", "yes"}, {"data", ""}};
  entry.rounds = 2;
  entry.runs = {"run1"};
  entry.metrics = {{"no", "1", Better::lower, 1e-300, -1e300, 0.1, true, {0.1, 1.0 / 3}},
                   {"final_acc", "%", Better::higher, 12, 12, 12}};
  baseline.entries.push_back(entry);
  const Baseline read = parse(to_yaml(baseline), "b.yaml");
  ASSERT_EQ(read.entries.size(), 1U);
  const CaseEntry& back = read.entries[0];
  EXPECT_EQ(read.description, baseline.description);
  EXPECT_EQ(back.name, entry.name);
  EXPECT_EQ(back.hardware, entry.hardware);
  EXPECT_EQ(back.work, entry.work);
  ASSERT_EQ(back.metrics.size(), 2U);
  EXPECT_EQ(back.metrics[0].name, "no");
  EXPECT_EQ(back.metrics[0].median, 1e-300);
  EXPECT_EQ(back.metrics[0].values, entry.metrics[0].values);
  EXPECT_EQ(back.metrics[1].unit, "%");
  EXPECT_EQ(to_yaml(read), to_yaml(baseline));
}

TEST(Baseline, OneThatIsTooLargeToBeReadIsNotWritten) {
  Baseline baseline;
  CaseEntry entry{"a", "b"};
  entry.rounds = 1;
  Metric metric{"x_y", "s", Better::lower};
  metric.values.assign(300'000, 0);
  entry.metrics = {metric};
  baseline.entries = {entry};
  EXPECT_THAT(error_of([&] { return to_yaml(baseline); }), HasSubstr("--judged-only"));
}

TEST(Baseline, ErrorsNameThePlace) {
  EXPECT_THAT(fault("cases: []"), AllOf(HasSubstr("b.yaml:1:1"), HasSubstr("not a baseline")));
  EXPECT_THAT(fault("- 1"), HasSubstr("not a baseline"));
  EXPECT_THAT(fault(""), HasSubstr("not a baseline"));
  EXPECT_THAT(fault(with("assay_baseline: 1", "assay_baseline: 2\nnew: 1")),
              AllOf(HasSubstr("b.yaml:1:17"), HasSubstr("format 2"), HasSubstr("up to 1")));
  EXPECT_THAT(fault(with("low: 95", "low: 101")),
              AllOf(HasSubstr("b.yaml:12:"), HasSubstr("does not hold the median")));
  EXPECT_THAT(fault(with("median: 100", "median: .nan")), HasSubstr("b.yaml:12:"));
  EXPECT_THAT(fault(with("median: 100", "median: 1e999")), HasSubstr("b.yaml:12:"));
  EXPECT_THAT(fault(with("high: 105, ", "")), HasSubstr("needs 'high'"));
  EXPECT_THAT(fault(with("judged: true", "jugded: true")), HasSubstr("did you mean 'judged'"));
  EXPECT_THAT(fault(with("better: higher", "better: more")), HasSubstr("higher, lower, neither"));
  EXPECT_THAT(fault(with("better: higher", "better: neither")), HasSubstr("cannot be judged"));
  EXPECT_THAT(fault(with("rounds: 5", "rounds: 0")), HasSubstr("b.yaml:9:13"));
  const std::string twice =
      std::string(kText) + std::string(kText).substr(std::string(kText).find("  - case"));
  EXPECT_THAT(fault(twice), AllOf(HasSubstr("b.yaml:15:5"), HasSubstr("first at b.yaml:4:5")));
  EXPECT_THAT(error_of([] { return load("/nowhere/b.yaml"); }), HasSubstr("/nowhere/b.yaml"));
}

TEST(Baseline, AFileIsKnownByItsFirstKey) {
  const testing::TemporaryFolder folder;
  const auto is = [&](const char* text) {
    write_file_atomic(folder.path() / "f", text);
    return is_baseline_file(folder.path() / "f");
  };
  EXPECT_TRUE(is("# made by\n\nassay_baseline: 1\n"));
  EXPECT_FALSE(is("cases: []\nassay_baseline: 1\n"));
  EXPECT_FALSE(is(""));
  EXPECT_FALSE(is_baseline_file(folder.path()));
  EXPECT_FALSE(is_baseline_file(folder.path() / "none"));
}

}  // namespace
}  // namespace assay::baseline
