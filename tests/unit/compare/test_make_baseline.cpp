#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/make_baseline.h"
#include "error_of.h"

namespace assay::compare {
namespace {

using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MetricInfo kRate{"steady_throughput", "samples/s", Better::higher, ""};
const MetricInfo kTime{"e2e_time", "s", Better::lower, ""};
const MetricInfo kCount{"steps", "1", Better::neither, ""};

void add(judge::CaseResult& result, const MetricInfo& info, const std::vector<double>& values) {
  judge::Summary summary;
  summary.info = info;
  result.summary.push_back(summary);
  result.rounds.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.rounds[i].status = RoundStatus::completed;
    judge::Metric metric;
    metric.info = info;
    metric.value = values[i];
    result.rounds[i].metrics.push_back(metric);
  }
}

judge::RunResult run_of(const std::string& id, const std::vector<double>& rates,
                        const std::string& cpu = "AMD EPYC") {
  judge::CaseResult result;
  result.name = "resnet:assay:cpu:1:2:" + std::to_string(rates.size());
  result.model = "resnet";
  result.framework = "assay";
  result.hardware = "cpu";
  result.procs = 2;
  result.validity = judge::Validity::valid;
  result.headline = kRate.name;
  result.configuration = {{"model", "resnet", "", ""}, {"config.lr", 0.1, "", ""}};
  add(result, kRate, rates);
  add(result, kTime, std::vector<double>(rates.size(), 2.0));
  add(result, kCount, std::vector<double>(rates.size(), 7.0));
  judge::RunResult run;
  run.run_id = id;
  run.validity = judge::Validity::valid;
  run.cases = {result};
  run.system = {
      {"nodes", {{{"node", 0}, {"cpu", {{"model", cpu}, {"cores", 2}, {"threads", 2}}}}}}};
  return run;
}

std::string refusal(const std::vector<judge::RunResult>& runs,
                    const BaselineOptions& options = {}) {
  return error_of([&] { return make_baseline(runs, options); });
}

TEST(MakeBaseline, RoundsOfSeveralRunsOnTheSameHardwareCountTogether) {
  const auto made = make_baseline(std::vector{run_of("a", {100, 102, 98}), run_of("b", {101, 99})},
                                  BaselineOptions{});
  ASSERT_EQ(made.baseline.entries.size(), 1U);
  const baseline::CaseEntry& entry = made.baseline.entries[0];
  EXPECT_EQ(entry.name, "resnet:assay:cpu:1:2");
  EXPECT_EQ(entry.hardware, "AMD EPYC, 2 cores, 2 threads");
  EXPECT_EQ(entry.rounds, 5);
  EXPECT_THAT(entry.runs, ElementsAre("a", "b"));
  const baseline::Metric& rate = *entry.find("steady_throughput");
  EXPECT_TRUE(rate.judged);
  EXPECT_EQ(rate.median, 100);
  EXPECT_THAT(rate.values, ElementsAre(100, 102, 98, 101, 99));
  // t(0.995, 4) · 1.581 · √1.2
  EXPECT_NEAR(rate.high - 100, 4.604 * 1.5811 * 1.0954, 0.01);
  EXPECT_FALSE(entry.find("e2e_time")->judged);
  EXPECT_EQ(entry.find("e2e_time")->low, 2 * 0.98);
  EXPECT_EQ(entry.find("steps"), nullptr);  // neither more nor less is better
  EXPECT_THAT(made.notes, ElementsAre());
}

TEST(MakeBaseline, OtherHardwareHasAnEntryOfItsOwn) {
  const auto made =
      make_baseline(std::vector{run_of("a", {100, 101, 99}), run_of("b", {50, 51, 49}, "Xeon")},
                    BaselineOptions{});
  ASSERT_EQ(made.baseline.entries.size(), 2U);
  EXPECT_EQ(made.baseline.find("resnet:assay:cpu:1:2", "Xeon, 2 cores, 2 threads")
                ->find("steady_throughput")
                ->median,
            50);
}

TEST(MakeBaseline, FewRoundsHaveAWideRangeAndSaySo) {
  const auto one = make_baseline(std::vector{run_of("a", {100})}, BaselineOptions{});
  EXPECT_EQ(one.baseline.entries[0].find("steady_throughput")->low, 90);
  EXPECT_THAT(one.notes, ElementsAre(HasSubstr("1 round says nothing certain")));
  EXPECT_EQ(tolerated_half_width(std::vector<double>{100, 130}, 0.02), 30);
  const auto noisy = make_baseline(std::vector{run_of("a", {80, 100, 120})}, BaselineOptions{});
  EXPECT_EQ(noisy.baseline.entries[0].find("steady_throughput")->low, 0);
  EXPECT_THAT(noisy.notes, ElementsAre(HasSubstr("more rounds, or a quieter machine")));
}

TEST(MakeBaseline, EqualValuesLeaveTheToleranceThatWasAskedFor) {
  EXPECT_EQ(tolerated_half_width(std::vector<double>{50, 50, 50, 50}, 0.1), 5);
  EXPECT_EQ(tolerated_half_width(std::vector<double>{0, 0, 0}, 0.1), 0);
  EXPECT_NEAR(tolerated_half_width(std::vector<double>{-50, -50, -50}, 0.1), 5, 1e-12);
}

TEST(MakeBaseline, FurtherMetricsAreJudgedWhenAskedFor) {
  BaselineOptions options;
  options.metrics = {"e2e_time"};
  options.judged_only = true;
  const auto made = make_baseline(std::vector{run_of("a", {100, 101, 99})}, options);
  EXPECT_TRUE(made.baseline.entries[0].find("e2e_time")->judged);
  EXPECT_EQ(made.baseline.entries[0].metrics.size(), 2U);
  options.metrics = {"steps"};
  EXPECT_THAT(refusal({run_of("a", {100, 101, 99})}, options), HasSubstr("no case has the metric"));
}

TEST(MakeBaseline, WhatIsNotValidIsRefusedUnlessAskedFor) {
  judge::RunResult run = run_of("a", {100, 101, 99});
  run.cases[0].validity = run.validity = judge::Validity::invalid;
  EXPECT_THAT(refusal({run}),
              AllOf(HasSubstr("a: the run is INVALID"),
                    HasSubstr("resnet:assay:cpu:1:2:3 is INVALID"), HasSubstr("--invalid-too")));
  BaselineOptions options;
  options.invalid_too = true;
  EXPECT_EQ(make_baseline(std::vector{run}, options).baseline.entries.size(), 1U);
  run.cases[0].rounds[0].status = run.cases[0].rounds[1].status = run.cases[0].rounds[2].status =
      RoundStatus::failed;
  EXPECT_THAT(refusal({run}, options), HasSubstr("no case of these runs has a round"));
}

TEST(MakeBaseline, RunsThatDoNotBelongTogetherAreRefused) {
  judge::RunResult other = run_of("b", {100, 101, 99});
  other.cases[0].configuration[0].value = "resnet50";
  EXPECT_THAT(
      refusal({run_of("a", {100, 101, 99}), other}),
      AllOf(HasSubstr("b: "), HasSubstr("same work as in a: model is resnet and resnet50")));
  judge::RunResult tokens = run_of("b", {100, 101, 99});
  tokens.cases[0].rounds[1].metrics[0].info.unit = "tokens/s";
  EXPECT_THAT(refusal({run_of("a", {100, 101, 99}), tokens}), HasSubstr("in tokens/s, in a it is"));
  EXPECT_THAT(refusal({run_of("a", {100}), run_of("a", {100})}), HasSubstr("given twice"));
  judge::RunResult unknown = run_of("c", {100, 101, 99});
  unknown.system = Json::object();
  EXPECT_THAT(refusal({unknown}), HasSubstr("on which hardware"));
}

}  // namespace
}  // namespace assay::compare
