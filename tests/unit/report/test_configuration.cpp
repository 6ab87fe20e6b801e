#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo.h"
#include "report/console.h"
#include "report/html.h"
#include "report/json_report.h"
#include "report/markdown.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

catalog::RuleDifference wider_spread() {
  catalog::Rule standard;
  standard.id = "repeat-spread";
  standard.fact = "cv";
  standard.max = 0.05;
  catalog::Rule now = standard;
  now.max = 0.2;
  return {standard, now, "quick.yaml:12"};
}

judge::RunResult relaxed_run() {
  judge::RunResult run = small_result();
  run.cases[0].rule_changes.emplace({wider_spread()});
  run.cases[0].rules = {*wider_spread().in_force};
  run.cases[0].configuration = {{"config.lr", 0.5, "quick.yaml:9", "offered"}};
  return run;
}

constexpr const char* kRelaxation =
    "repeat-spread: at most 20 % instead of at most 5 % (quick.yaml:12)";

TEST(RelaxedRules, StandBesideTheVerdictInEveryReport) {
  const judge::RunResult run = relaxed_run();
  const std::string console = render_console(run);
  EXPECT_THAT(console, HasSubstr("VALID (relaxed)"));
  EXPECT_THAT(console, HasSubstr(std::string("relaxed   ") + kRelaxation));
  EXPECT_THAT(console, HasSubstr("VALID under relaxed rules"));
  const std::string markdown = render_markdown(run);
  EXPECT_THAT(markdown, HasSubstr(": VALID under relaxed rules\n"));
  EXPECT_THAT(markdown, HasSubstr("- **relaxed**: repeat-spread: at most 20 %"));
  const std::string html = render_html(run);
  EXPECT_THAT(html, HasSubstr("The case is valid under relaxed rules."));
  EXPECT_THAT(html, HasSubstr(kRelaxation));
  const Json change = result_to_json(run)["cases"][0]["rule_changes"][0];
  EXPECT_EQ(change["relaxed"], true);
  EXPECT_EQ(change["standard"]["max"], 0.05);
  EXPECT_EQ(change["in_force"]["max"], 0.2);
}

TEST(RelaxedRules, AStricterRuleIsListedAndTheVerdictStandsAsItIs) {
  judge::RunResult run = relaxed_run();
  run.cases[0].rule_changes->at(0).in_force->max = 0.01;
  const std::string console = render_console(run);
  EXPECT_THAT(console, HasSubstr("stricter  repeat-spread: at most 1 %"));
  EXPECT_THAT(console, Not(HasSubstr("relaxed")));
}

TEST(RelaxedRules, ThatOneOfSeveralCasesHasNameIt) {
  judge::RunResult run = relaxed_run();
  run.cases.push_back(small_result().cases[0]);
  run.cases[1].name = "other";
  EXPECT_THAT(render_markdown(run), HasSubstr("12): " + run.cases[0].name.substr(0, 4)));
}

TEST(Spread, IsExplainedWhereItIsShown) {
  judge::RunResult run = small_result();
  judge::Summary& summary = run.cases[0].summary[0];
  run.cases[0].headline = summary.info.name;
  summary.mean = 100;
  summary.ci95_low = 65;
  summary.ci95_high = 135;
  EXPECT_THAT(render_console(run),
              HasSubstr("±: half of the 95 % confidence interval of the mean\n"));
  summary.ci95_low = summary.ci95_high = summary.cv = std::nullopt;
  EXPECT_THAT(render_console(run), Not(HasSubstr("±:")));
}

TEST(Configuration, IsInResultJsonAndInTheReportWithItsOrigin) {
  const judge::RunResult run = relaxed_run();
  const Json json = result_to_json(run)["cases"][0];
  EXPECT_EQ(
      json["configuration"][0],
      (Json{{"key", "config.lr"}, {"value", 0.5}, {"origin", "quick.yaml:9"}, {"use", "offered"}}));
  EXPECT_EQ(json["rules"][0]["rule"], "repeat-spread");
  const std::string html = render_html(run);
  EXPECT_THAT(html, HasSubstr("<code>config.lr</code>"));
  EXPECT_THAT(html, HasSubstr("quick.yaml:9"));
}

}  // namespace
}  // namespace assay::report
