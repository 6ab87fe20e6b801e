#include <cmath>
#include <limits>
#include <regex>

#include <gtest/gtest.h>

#include "demo.h"
#include "golden.h"
#include "report/html.h"
#include "report/html_rounds.h"
#include "sound_page.h"

namespace assay::report {
namespace {

using testing::has;

void expect_sound(const judge::RunResult& run) {
  testing::expect_sound_page(render_html(run));
}

judge::RunResult hostile_result() {
  judge::RunResult run = demo_result();
  const std::string evil =
      "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\xff\x1b[31m\u202e\u2066";
  run.suite = evil;
  run.run_id = evil;
  judge::CaseResult& one = run.cases[1];
  one.name = one.model = one.framework = one.hardware = one.headline = evil;
  for (judge::RoundResult& round : one.rounds) {
    round.reason = round.started = round.ended = evil;
    round.status = RoundStatus::failed;
    for (judge::Metric& metric : round.metrics)
      metric.info.name = metric.info.unit = metric.info.description = metric.note = evil;
    for (judge::Finding& finding : round.findings)
      finding.rule = finding.reason = finding.advice = finding.where = evil;
    for (judge::RankResult& rank : round.ranks) rank.host = rank.log = rank.ended_by = evil;
    for (judge::Phase& phase : round.phases) phase.name = evil;
    for (judge::Series& series : round.series) series.label = series.unit = evil;
  }
  for (judge::Summary& summary : one.summary)
    summary.info.name = summary.info.unit = summary.note = evil;
  run.system = {{evil, evil},
                {"nodes", {{{"host", evil}, {"cpu", {{"model", evil}}}, {evil, {evil, {evil}}}}}}};
  run.provenance = {{"assay", evil}, {evil, {{evil, evil}}}};
  return run;
}

TEST(Html, SameResultGivesTheSameBytes) {
  EXPECT_EQ(render_html(demo_result()), render_html(demo_result()));
}

TEST(Html, MatchesTheGoldenFile) {
  // Without style and script, which change more often than what the page says.
  std::string page = render_html(small_result());
  page.erase(page.find("<style>"), page.find("</style>") - page.find("<style>"));
  page.erase(page.find("<script>"), page.find("</script>") - page.find("<script>"));
  const auto hash = page.find("sha256-");
  page.erase(hash, page.find('\'', hash) - hash);
  expect_golden(page, "small.report.html");
}

TEST(Html, IsWellFormedAndLoadsNothing) {
  expect_sound(demo_result());
  expect_sound(small_result());
  expect_sound(wide_result(64));
  expect_sound(judge::RunResult{});
}

TEST(Html, HostileTextStaysText) {
  const judge::RunResult run = hostile_result();
  expect_sound(run);
  const std::string page = render_html(run);
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "\x1b"));
  EXPECT_FALSE(has(page, "\xff"));
  EXPECT_FALSE(has(page, "\u202e") || has(page, "\u2066")) << "turns the text that follows around";
}

TEST(Html, ShowsVerdictsFindingsAndAdvice) {
  const std::string page = render_html(demo_result());
  for (const char* text :
       {"Of 4 cases, 1 is invalid, 1 is incomplete, 2 are valid.",
        "aria-label=\"Verdict: INVALID\"",
        "the final MLM accuracy is 0.412, below the target of 0.67",
        "<b>What to do</b> train longer", "Round 1 failed: rank 3 on node2: SIGSEGV",
        "2 nodes · 2 × AMD EPYC 9654 96-Core Processor · 192 cores · 1.48 TiB · 4 × NVIDIA H200"})
    EXPECT_TRUE(has(page, text)) << text;
}

TEST(Html, OpensAtTheRoundWithTheProblemAndSaysWhy) {
  const std::string page = render_html(demo_result());
  EXPECT_TRUE(has(page, "id=\"c2r2\" checked"));
  EXPECT_TRUE(has(page, "Round 2 is open first: it is the first that is not valid."));
  EXPECT_TRUE(has(page, "its result is the nearest to the median of the rounds"));
}

judge::CaseResult case_of(const std::vector<double>& values) {
  judge::CaseResult one;
  one.name = "case";
  one.headline = "p_whole";
  one.validity = judge::Validity::valid;
  for (std::size_t i = 0; i < values.size(); ++i) {
    judge::RoundResult round;
    round.round = static_cast<int>(i) + 1;
    round.status = RoundStatus::completed;
    round.validity = judge::Validity::valid;
    round.metrics.push_back(
        {{"p_whole", "samples/s", Better::higher, ""}, values[i], judge::Origin::measured, ""});
    round.series.push_back({"throughput", "all ranks", "samples/s", {{0, values[i]}, {9, 1}}});
    one.rounds.push_back(round);
  }
  return one;
}

TEST(OddRound, IsTheOneFarFromTheOthers) {
  const auto odd = html::odd_round(case_of({8118, 8120, 4664}));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->index, 2U);
  EXPECT_EQ(odd->why, "43 % below the median");
  EXPECT_EQ(html::odd_round(case_of({100, 100, 100, 107}))->index, 3U);
}

TEST(OddRound, RoundsThatDifferAlikeOrLittleHaveNone) {
  EXPECT_FALSE(html::odd_round(case_of({100, 103, 107}))) << "all of them differ";
  EXPECT_FALSE(html::odd_round(case_of({100, 100, 101.5}))) << "not worth naming";
  EXPECT_FALSE(html::odd_round(case_of({100, 200}))) << "of two, which one?";
  EXPECT_FALSE(html::odd_round(case_of({0, 0, 5}))) << "no percentage of nothing";
  judge::CaseResult failed = case_of({100, 100, 100, 20});
  failed.rounds[3].status = RoundStatus::failed;
  EXPECT_FALSE(html::odd_round(failed)) << "it does not count";
}

TEST(Html, RoundsShareTheirChartsAndTheOddOneIsNamed) {
  judge::RunResult run;
  run.cases = {case_of({8118, 8120, 4664})};
  const std::string page = render_html(run);
  EXPECT_TRUE(has(page, "<h3>All 3 rounds</h3>"));
  EXPECT_TRUE(has(page, "class=\"s odd\" data-label=\"round 3, 43 % below the median\""));
  EXPECT_TRUE(has(page, "class=\"s calm\" data-label=\"round 1\""));
  EXPECT_TRUE(has(page, "Round 3 is open first: it is the odd one, 43 % below the median."));
}

TEST(Html, TheSteadyStepsAreShadedInTheThroughputAlone) {
  judge::RunResult run;
  run.cases = {case_of({100})};
  judge::RoundResult& round = run.cases[0].rounds[0];
  round.steady = judge::Phase{"steady", 3, 9};
  round.series.push_back({"loss", "rank 0", "1", {{0, 3}, {9, 1}}});
  const std::string page = render_html(run);
  const auto shaded = page.find("<rect class=\"ph ph-steady\"");
  ASSERT_NE(shaded, std::string::npos);
  EXPECT_EQ(page.find("<rect class=\"ph ph-steady\"", shaded + 1), std::string::npos);
  EXPECT_LT(page.find("<b>Throughput</b>"), shaded);
  EXPECT_LT(shaded, page.find("<b>Loss</b>"));
}

TEST(Html, TheMetricBesideTheHeadlineIsTheSecondCard) {
  judge::RunResult run = small_result();
  run.cases[0].beside = "e2e_time";
  run.cases[0].headline = "final_accuracy";
  const std::string page = render_html(run);
  EXPECT_LT(page.find("<dt>Final accuracy"), page.find("<dt>End-to-end time"));
  EXPECT_LT(page.find("<dt>End-to-end time"), page.find("<dt>Throughput, whole run"));
}

TEST(Html, QualityIsDrawnWithItsTargetAndTheBestThatCanBeReached) {
  judge::RunResult run;
  run.cases = {case_of({100})};
  judge::RoundResult& round = run.cases[0].rounds[0];
  round.series.push_back({"mlm_acc", "evaluation", "1", {{1, 0.2}, {2, 0.5}}});
  round.levels = {{"mlm_acc", "target", 0.67}, {"mlm_acc", "best reachable", 0.8773}};
  const std::string page = render_html(run);
  EXPECT_TRUE(has(page, "<b>MLM accuracy</b>"));
  EXPECT_TRUE(has(page, "<i class=\"level target\"></i>target 0.67</li>"));
  EXPECT_TRUE(has(page, "<i class=\"level\"></i>best reachable 0.8773</li>"));
  EXPECT_TRUE(has(page, "data-y0=\"0\" data-y1=\"1\"")) << "the axis reaches the best";
}

TEST(Html, FindingsOfOneRuleAreOneWithTheOthersBelow) {
  judge::RunResult run;
  run.cases = {case_of({100, 100})};
  for (judge::RoundResult& round : run.cases[0].rounds)
    round.findings.push_back(
        {"load", judge::Severity::invalid, "a load of " + std::to_string(round.round), "wait", ""});
  const std::string page = render_html(run);
  EXPECT_TRUE(has(page, "round 1; alike in round 2"));
  EXPECT_TRUE(
      has(page, "<summary>1 more like it</summary><ul><li>a load of 2 (round 2)</li></ul>"));
}

TEST(Html, RanksWithAProblemComeFirst) {
  const std::string page = render_html(wide_result(512));
  const auto table = page.find("<details class=\"ranks\"");
  EXPECT_EQ(page.compare(page.find("<tr class=\"odd\"><td class=\"n\">256<", table), 4, "<tr "), 0);
  EXPECT_TRUE(has(page, "512 ranks · 1 slow"));
  EXPECT_TRUE(has(page, "96 of 512 ranks"));
}

TEST(Html, SizeIsBounded) {
  EXPECT_LT(render_html(wide_result(512)).size(), 2'000'000U);
  // Many cases and rounds with many lines each: fewer points a line, not a larger file.
  judge::RunResult run = demo_result();
  run.cases.resize(1);
  for (int i = 0; i < 4; ++i) run.cases.push_back(run.cases[0]);
  for (judge::CaseResult& one : run.cases)
    for (int i = 0; i < 2; ++i) one.rounds.insert(one.rounds.end(), one.rounds[0]);
  EXPECT_LT(render_html(run).size(), 3'000'000U);
}

TEST(Html, NumbersThatAreNotFiniteDoNotShow) {
  judge::RunResult run = demo_result();
  const double inf = std::numeric_limits<double>::infinity();
  run.cases[0].rounds[0].metrics[0].value = std::nan("");
  run.cases[0].rounds[0].series[0].points[3].value = inf;
  run.cases[0].rounds[0].phases[0].end_s = inf;
  run.cases[0].summary[0].median = -inf;
  run.cases[0].rounds[0].ranks[0].relative_speed = inf;
  const std::string page = render_html(run);
  EXPECT_FALSE(std::regex_search(page, std::regex("[^a-z]nan[^a-z]")));
  EXPECT_FALSE(std::regex_search(page, std::regex("[^a-z]inf[^a-z]")));
}

TEST(Html, ShowsWhereTheTimeOfEveryRoundWent) {
  const std::string page = render_html(demo_result());
  EXPECT_TRUE(has(page, "Where the time of round 3 went"));
  EXPECT_TRUE(has(page, "<title>Data opening: 12.60 s (6.1 %)</title>"));
  judge::RunResult without = demo_result();
  for (judge::CaseResult& one : without.cases)
    for (judge::RoundResult& round : one.rounds) round.time_shares.clear();
  EXPECT_FALSE(has(render_html(without), "<h3>Where the time went"));
}

TEST(Html, ShowsRoundsThatDoNotCountAndWhyThereAreNoMore) {
  judge::RunResult run = demo_result();
  judge::CaseResult& one = run.cases[0];
  one.warmup_rounds = {one.rounds[0]};
  one.warmup_rounds[0].warmup = true;
  one.repeats_ended = "it is certain";
  const std::string page = render_html(run);
  EXPECT_TRUE(has(page, "Round 1 was for warm-up and does not count: completed."));
  EXPECT_TRUE(has(page, "No round after 3 rounds: it is certain."));
  EXPECT_TRUE(has(page, "<span>Warm-up 1</span>"));
  expect_sound(run);
}

TEST(Html, RunThatDidNothingSaysSo) {
  judge::RunResult run;
  run.run_id = "run1";
  EXPECT_TRUE(has(render_html(run), "No case was run."));
  EXPECT_TRUE(has(render_html(run), "Verdict: INCOMPLETE"));
}

TEST(Html, MachineIsSummedUpFromWhatIsKnown) {
  judge::RunResult run = small_result();
  run.system = {{"nodes",
                 {{{"host", "n1"},
                   {"cpu", {{"model", "Xeon"}, {"sockets", 1}, {"threads", 8}}},
                   {"memory", {{"total_bytes", 8589934592}}},
                   {"accelerators",
                    {{{"vendor", "nvidia"}}, {{"vendor", "nvidia"}}, {{"vendor", "aspeed"}}}}}}}};
  EXPECT_TRUE(
      has(render_html(run), "<dd>n1 · Xeon · 8 threads · 8.00 GiB · 2 × nvidia device</dd>"));
  run.system = Json::object();
  EXPECT_FALSE(has(render_html(run), "<dt>Machine</dt>"));
}

TEST(Html, DevicesAreComparedBeforeAndAfterTheRun) {
  judge::RunResult run = small_result();
  const Json before = {{"index", 0},
                       {"uuid", "GPU-1"},
                       {"name", "H200"},
                       {"ecc", true},
                       {"ecc_uncorrected", 0},
                       {"pcie_generation", 4},
                       {"pcie_width", 8},
                       {"pcie_generation_max", 5},
                       {"pcie_width_max", 16},
                       {"power_limit_w", 700},
                       {"power_limit_default_w", 700},
                       {"temp_c", 31}};
  Json after = before;
  after["ecc_uncorrected"] = 2;
  after["temp_c"] = 64;
  run.system = {{"nodes",
                 {{{"host", "n1"},
                   {"device_state", {{"devices", {before}}}},
                   {"device_state_after", {{"devices", {after}}}}}}}};
  std::string page = render_html(run);
  EXPECT_TRUE(has(page, "<h3>Devices, before the first round → after the last</h3>"));
  EXPECT_TRUE(has(page,
                  "<tr class=\"odd\"><td><span translate=\"no\">n1</span></td><td>0 "
                  "H200</td><td>on</td><td>0 → 2</td>"));
  EXPECT_TRUE(has(page, "<td>gen 4 of 5 × 8 of 16</td>"));
  EXPECT_TRUE(has(page, "<td>700 W</td>"));
  EXPECT_TRUE(has(page, "<td>31 °C → 64 °C</td>"));
  EXPECT_FALSE(has(page, "device state")) << "not again as a tree";

  after["ecc_uncorrected"] = 0;
  run.system["nodes"][0]["device_state_after"]["devices"] = {after};
  page = render_html(run);
  EXPECT_FALSE(has(page, "<tr class=\"odd\"><td>n1")) << "warmer is not odd";
  run.system["nodes"][0]["device_state"] = {{"devices", {7, "x", {{"error", "fell off"}}}}};
  EXPECT_TRUE(has(render_html(run), "fell off"));
}

TEST(Html, SystemOfAnyShapeIsShown) {
  judge::RunResult run = small_result();
  Json deep = 1;
  for (int i = 0; i < 50; ++i) deep = {{"deeper", deep}};
  run.system = {{"deep", deep},
                {"list", Json::array({1, "two", nullptr, true})},
                {"empty", Json::object()},
                {"mixed", Json::array({Json::object({{"a", 1}}), 2})}};
  expect_sound(run);
  run.system = Json::array({1, 2});
  expect_sound(run);
  run.system = nullptr;
  expect_sound(run);
}

}  // namespace
}  // namespace assay::report
