#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "demo.h"
#include "report/axis.h"
#include "report/chart.h"
#include "report/findings.h"
#include "report/present.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Present, ScalesUnits) {
  EXPECT_EQ(show(16932.4, "samples/s").text(), "16,932 samples/s");
  EXPECT_EQ(show(0.0139, "s").text(), "13.9 ms");
  EXPECT_EQ(show(206.3, "s").text(), "3 min 26 s");
  EXPECT_EQ(show(0.4183, "ratio").text(), "41.83 %");
  EXPECT_EQ(show(1.0246e6, "J").text(), "1.025 MJ");
  EXPECT_EQ(show(612, "W").text(), "612 W");
  EXPECT_EQ(show(4.2e14, "FLOP/s").text(), "420 TFLOP/s");
  EXPECT_EQ(show(1073741824, "bytes").text(), "1.00 GiB");
  EXPECT_EQ(show(1.31, "1").text(), "1.31");
  EXPECT_EQ(show(std::nan(""), "W").text(), "–");
}

TEST(Present, ANumberHasTheDigitsThatItsUncertaintyAllows) {
  const auto text = [](double value, const char* unit, double half) {
    return show(value, unit, half).text();
  };
  EXPECT_EQ(text(8118.4437, "samples/s", 12.3), "8,118 ± 12 samples/s");
  EXPECT_EQ(text(8118.4437, "samples/s", 1.26), "8,118.4 ± 1.3 samples/s");
  EXPECT_EQ(text(4664, "samples/s", 2845), "4,700 ± 2,800 samples/s");
  EXPECT_EQ(text(7.22416e14, "FLOP/s", 1.2e12), "722.4 ± 1.2 TFLOP/s");
  EXPECT_EQ(text(0.41834, "ratio", 0.0031), "41.83 ± 0.31 %");
  EXPECT_EQ(text(0.0315, "s", 0.00016), "31.50 ± 0.16 ms");
  EXPECT_EQ(text(13.2281, "s", 0.45), "13.23 ± 0.45 s");
  EXPECT_EQ(text(206.3, "s", 4.21), "3 min 26 s ± 4.2 s");
  EXPECT_EQ(text(7260, "s", 130), "2 h 01 min ± 2 min 10 s");
  EXPECT_EQ(text(-12.3456, "1", 0.5), "-12.35 ± 0.50");
  EXPECT_EQ(text(0, "1", 0.5), "0.00 ± 0.50");
  EXPECT_EQ(text(-0.001, "1", 5), "0.0 ± 5.0");
  EXPECT_EQ(text(99.97, "W", 0.996), "100.0 ± 1.0 W");
}

TEST(Present, ExtremeUncertaintiesGiveNoNonsense) {
  EXPECT_EQ(show(12345.678, "samples/s", 1e-5).text(), "12,345.7 ± 0.1 samples/s");
  EXPECT_EQ(show(8118.4437, "samples/s", 0).text(), "8,118 ± 0 samples/s");
  EXPECT_EQ(show(8118.4437, "samples/s", std::nullopt).text(), "8,118 samples/s");
  EXPECT_EQ(show(8118.4437, "samples/s", std::nan("")).text(), "8,118 samples/s");
  EXPECT_EQ(show(8118.4437, "samples/s", 1e300).text(), "8,118 samples/s");
  EXPECT_EQ(show(std::nan(""), "samples/s", 1).text(), "–");
}

TEST(Present, SpreadIsTheConfidenceIntervalWhereThereIsOne) {
  judge::CaseResult result;
  judge::Summary summary;
  summary.mean = 100;
  EXPECT_FALSE(spread_of(result, summary));
  summary.cv = 0.02;
  EXPECT_DOUBLE_EQ(spread_of(result, summary)->ratio, 0.02);
  EXPECT_DOUBLE_EQ(spread_of(result, summary)->half, 2);
  EXPECT_EQ(spread_of(result, summary)->kind, Spread::Kind::deviation);
  summary.ci95_low = 95;
  summary.ci95_high = 105;
  EXPECT_DOUBLE_EQ(spread_of(result, summary)->ratio, 0.05);
  EXPECT_EQ(spread_of(result, summary)->kind, Spread::Kind::rounds);
  summary.mean = 0;
  EXPECT_FALSE(spread_of(result, summary));
}

TEST(Present, SpreadOfOneRoundIsThatOfItsSteps) {
  judge::RunResult run = small_result();
  judge::CaseResult& one = run.cases[0];
  const judge::Summary* summary = find_summary(one, "p_whole");
  EXPECT_FALSE(spread_of(one, *summary));
  one.rounds[0].metrics[0].ci95_low = 24576 - 12;
  one.rounds[0].metrics[0].ci95_high = 24576 + 12;
  EXPECT_EQ(show(one, *summary).text(), "24,576 ± 12 samples/s");
  EXPECT_EQ(spread_legend(run),
            "±: of one round, half of the 95 % confidence interval over its steps");
}

TEST(Axis, TicksAreRoundAndCoverTheValues) {
  const Axis axis = nice_axis(0, 18700, 4);
  EXPECT_THAT(axis.ticks, ElementsAre(0, 5000, 10000, 15000, 20000));
  EXPECT_EQ(tick_text(15000, axis), "15,000");
  const Axis small = nice_axis(0.31, 0.39, 4);
  EXPECT_LE(small.low, 0.31);
  EXPECT_GE(small.high, 0.39);
  EXPECT_EQ(tick_text(small.ticks[1], small), "0.32");
  const Axis negative = nice_axis(-3, 2, 4);
  EXPECT_LE(negative.low, -3);
  EXPECT_NE(std::ranges::find(negative.ticks, 0.0), negative.ticks.end());
}

TEST(Axis, DegenerateRangesStillGiveAnAxis) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 0}, {5, 5}, {-5, -5}, {-inf, inf}, {std::nan(""), 1}, {1e300, 1e308}, {0, 1e-300}}) {
    const Axis axis = nice_axis(low, high, 4);
    EXPECT_LT(axis.low, axis.high) << low << " " << high;
    EXPECT_GE(axis.ticks.size(), 2U);
    EXPECT_LE(axis.ticks.size(), 64U);
  }
}

TEST(Axis, TimeTicksReadWell) {
  EXPECT_THAT(time_axis(206, 5).ticks, ElementsAre(0, 60, 120, 180));
  EXPECT_THAT(time_axis(12.5, 5).ticks, ElementsAre(0, 5, 10));
  EXPECT_EQ(time_text(150, time_axis(300, 12)), "2:30 min");
  EXPECT_EQ(time_text(10, time_axis(60, 5)), "10 s");
  EXPECT_EQ(time_text(7200, time_axis(36000, 5)), "2 h");
  EXPECT_EQ(time_text(0.02, time_axis(0.1, 5)), "20 ms");
  EXPECT_LE(time_axis(1e9, 5).ticks.size(), 7U);
}

TEST(Chart, ThinningKeepsSpikesAndTheOrder) {
  std::vector<judge::Point> points;
  for (int i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), 1});
  points[7777].value = 99;
  points[1234].value = std::nan("");
  const auto kept = thin(points, 100);
  EXPECT_LE(kept.size(), 100U);
  EXPECT_EQ(kept.front().t_s, 0);
  EXPECT_EQ(kept.back().t_s, 9999);
  EXPECT_TRUE(std::ranges::any_of(kept, [](const judge::Point& p) { return p.value == 99; }));
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &judge::Point::t_s));
}

TEST(Chart, FewPointsAreAllKept) {
  EXPECT_EQ(thin({{0, 1}, {1, 2}}, 100).size(), 2U);
  EXPECT_TRUE(thin({}, 100).empty());
}

judge::Series line(const std::string& label, std::vector<judge::Point> points) {
  return {"power", label, "W", std::move(points)};
}

TEST(Chart, ManySeriesBecomeABandWithTheMedian) {
  std::vector<judge::Series> series;
  for (int i = 0; i < 9; ++i) {
    const double value = i == 8 ? 900 : 100 + i;
    series.push_back(line("dev" + std::to_string(i), {{0, value}, {10, value}}));
  }
  Chart chart{"Power", "W", {}, {}, 10, 100};
  for (const judge::Series& one : series) chart.series.push_back(&one);
  const std::string svg = render_chart(chart).str();
  EXPECT_THAT(svg, HasSubstr("median of 9"));
  // The axis ends at 1000 W and the median is 104 W: 896 units from the top.
  EXPECT_THAT(svg, HasSubstr("data-label=\"median\" d=\"M10,896 990,896\""));
  EXPECT_THAT(svg, Not(HasSubstr("dev3")));
}

TEST(Chart, BreaksALineAtPointsWithoutAValue) {
  const double none = std::nan("");
  const judge::Series one{"throughput",
                          "all ranks",
                          "samples/s",
                          {{0, 5}, {1, 5}, {2, none}, {3, none}, {4, 5}, {5, 5}}};
  const std::string svg = render_chart({"Throughput", "samples/s", {&one}, {}, 5, 100}).str();
  const auto path = svg.find(" d=\"M");
  ASSERT_NE(path, std::string::npos);
  const std::string d = svg.substr(path, svg.find('"', path + 4) - path);
  EXPECT_EQ(std::ranges::count(d, 'M'), 2) << d;
  EXPECT_THAT(svg, HasSubstr("mean 5"));
}

TEST(Thin, KeepsABreakAmongManyPoints) {
  std::vector<judge::Point> points;
  for (int i = 0; i < 10'000; ++i)
    points.push_back({static_cast<double>(i), i / 100 == 50 ? std::nan("") : 1.0 + i % 7});
  const auto kept = thin(points, 100);
  EXPECT_LE(kept.size(), 100U);
  EXPECT_EQ(std::ranges::count_if(kept, [](const auto& p) { return std::isnan(p.value); }), 1);
}

TEST(Chart, GapInTheSamplesBreaksTheLine) {
  judge::Series one = line("a", {});
  for (int i = 0; i < 20; ++i) one.points.push_back({i < 10 ? i * 1.0 : i + 60.0, 100});
  const std::string svg = render_chart({"Power", "W", {&one}, {}, 80, 100}).str();
  const std::string path = svg.substr(svg.find("data-label=\"a\""));
  EXPECT_EQ(std::ranges::count(path.substr(0, path.find("/>")), 'M'), 2);
}

TEST(Chart, SinglePointIsADot) {
  const judge::Series one = line("a", {{5, 100}});
  EXPECT_THAT(render_chart({"Power", "W", {&one}, {}, 10, 100}).str(), HasSubstr("h0\""));
}

TEST(Chart, NothingFiniteIsNoChart) {
  const judge::Series one = line("a", {{0, std::nan("")}});
  EXPECT_EQ(render_chart({"Power", "W", {&one}, {}, 10, 100}).str(), "");
}

TEST(Chart, PhasesAreShadedAndNamed) {
  const judge::Series one = line("a", {{0, 1}, {100, 2}});
  const std::vector<judge::Phase> phases{{"init", 0, 25}, {"train", 25, 100}};
  const std::string svg = render_chart({"Power", "W", {&one}, phases, 100, 100}).str();
  EXPECT_THAT(svg, HasSubstr("<rect class=\"ph ph-train\" x=\"25%\" width=\"75%\""));
  EXPECT_THAT(svg, HasSubstr(">init</text>"));
}

TEST(Chart, NoNonsenseNumbersForExtremeSeries) {
  const judge::Series one = line("a", {{0, -1e300}, {1e-9, 1e300}, {1e12, 0}});
  const std::string svg = render_chart({"Power", "W", {&one}, {}, 10, 100}).str();
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Findings, PlacesAreJoined) {
  EXPECT_EQ(places_text({}), "");
  EXPECT_EQ(places_text({"round 2"}), "round 2");
  EXPECT_EQ(places_text({"round 1", "round 2", "round 3"}), "rounds 1, 2 and 3");
  EXPECT_EQ(places_text({"a", "b", "c", "d"}), "4 places, first: a");
}

TEST(Findings, WhatTheReasonSaysIsNotRepeated) {
  const auto merged = merged_findings(demo_result().cases[2]);
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_THAT(merged[0].places, ElementsAre("round 1"));
}

TEST(Findings, ANumberOfTheReasonTakesNoRankAway) {
  judge::CaseResult lost;
  lost.findings = {{"round-lost", judge::Severity::incomplete,
                    "the agent on n1 was lost: ended with exit 255", "",
                    "round 1, ranks 0, 2, 3 on n1, n12"}};
  const auto merged = merged_findings(lost);
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_THAT(merged[0].places, ElementsAre("round 1, ranks 0, 2, 3 on n1, n12"));
}

}  // namespace
}  // namespace assay::report
