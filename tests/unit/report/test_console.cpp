#include <gmock/gmock.h>

#include "core/text.h"
#include "demo.h"
#include "golden.h"
#include "page/text_width.h"
#include "report/console.h"
#include "report/present.h"

namespace assay::report {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

using page::columns_of;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

TEST(Console, ShowsTheScalingEfficiencyAndWhatItIsMeasuredAgainst) {
  judge::RunResult run;
  judge::CaseResult one;
  one.name = "m:f:h:4:1:1";
  judge::Summary summary;
  summary.info.name = "scaling_efficiency";
  summary.median = 0.37;
  summary.note = "4 ranks against the 1 of 'm:f:h:1:1:1'";
  one.summary.push_back(summary);
  run.cases.push_back(one);
  EXPECT_THAT(render_console(run, {}),
              HasSubstr("scaling    37 %  m:f:h:4:1:1: 4 ranks against the 1 of 'm:f:h:1:1:1'\n"));
}

TEST(Console, ShowsWhatTheHeadlineIsToBeReadWith) {
  judge::RunResult run = small_result();
  run.cases[0].headline = "e2e_time";
  run.cases[0].beside = "p_whole";
  const std::string speed = median_text(run.cases[0], *find_summary(run.cases[0], "p_whole"));
  EXPECT_THAT(render_console(run), HasSubstr(" s at " + speed));
  run.cases[0].headline = "p_whole";
  run.cases[0].beside = "";
  EXPECT_THAT(render_console(run), Not(HasSubstr(" at " + speed)));
}

TEST(Console, MatchesTheGoldenFiles) {
  expect_golden(render_console(demo_result(), {.report = "results/latest/report.html"}),
                "demo.console.txt");
  expect_golden(render_console(demo_result(), {.width = 80, .unicode = false}),
                "demo.console-80-ascii.txt");
}

TEST(Console, FitsTheWidth) {
  judge::RunResult run = demo_result();
  run.cases[0].name = std::string(300, 'x');
  run.cases[1].rounds[1].findings[0].reason = std::string(500, 'y');
  for (const std::size_t width : {60U, 80U, 100U, 200U}) {
    for (const std::string& line : lines_of(render_console(run, {.width = width})))
      EXPECT_LE(columns_of(line), width) << line;
  }
}

TEST(Console, ColumnsLineUpWithWideNames) {
  judge::RunResult run = small_result();
  run.cases.push_back(run.cases[0]);
  run.cases[1].name = "训练模型";
  const auto lines = lines_of(render_console(run));
  EXPECT_EQ(columns_of(lines[3].substr(0, lines[3].find("VALID"))),
            columns_of(lines[4].substr(0, lines[4].find("VALID"))));
}

TEST(Console, HasEscapeSequencesOnlyWithColour) {
  judge::RunResult run = demo_result();
  run.cases[0].name = "\x1b[31mred\x1b[0m";
  EXPECT_THAT(render_console(run), AllOf(Not(HasSubstr("\x1b")), HasSubstr("red")));
  EXPECT_THAT(render_console(run, {.color = true}), HasSubstr("\x1b[1;31mINVALID\x1b[0m"));
}

TEST(Console, AsciiOnlyWhenAsked) {
  for (const char c : render_console(demo_result(), {.unicode = false}))
    ASSERT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(Console, SaysWhatRoundsFoundAlikeOnce) {
  const std::string text = render_console(demo_result());
  const auto first = text.find("RAPL is not readable (rounds 1 and 2)");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("RAPL", first + 1), std::string::npos);
}

TEST(Console, ShowsTheWorstFindingFirst) {
  const std::string text = render_console(demo_result());
  EXPECT_LT(text.find("the final MLM accuracy"), text.find("2 rounds are too few"));
}

TEST(Console, TheFailureComesBeforeTheTableAndIsNotSaidAgain) {
  const std::string text = render_console(demo_result());
  const auto failure = text.find("the final MLM accuracy is 0.412");
  EXPECT_LT(failure, text.find("CASE"));
  EXPECT_EQ(text.find("the final MLM accuracy is 0.412", failure + 1), std::string::npos);
}

judge::RunResult three_cases() {
  judge::RunResult run = small_result();
  run.cases[0].findings.clear();
  run.cases[0].rounds[0].findings.clear();
  run.cases.push_back(run.cases[0]);
  run.cases.push_back(run.cases[0]);
  for (std::size_t i = 0; i < 3; ++i) run.cases[i].name = "case" + std::to_string(i + 1);
  return run;
}

TEST(Console, ANoteOfSeveralCasesIsSaidOnce) {
  judge::RunResult run = three_cases();
  for (judge::CaseResult& one : run.cases)
    one.findings.push_back(
        {"r", judge::Severity::note, "the spread is not judged", "repeat it", ""});
  EXPECT_THAT(render_console(run), HasSubstr("several cases\n"
                                             "  note        the spread is not judged [r]\n"
                                             "              → repeat it\n"
                                             "              in all 3 cases\n"));
}

TEST(Console, NotesThatDifferInTheirNumbersNameTheCaseOfTheOneThatIsShown) {
  judge::RunResult run = three_cases();
  for (int i = 0; i < 3; ++i)
    run.cases[static_cast<std::size_t>(i)].findings.push_back(
        {"r", judge::Severity::note, "a load of " + std::to_string(i), "", ""});
  EXPECT_THAT(render_console(run), HasSubstr("  note        case1: a load of 0 [r]\n"
                                             "              alike in all 3 cases\n"));
}

TEST(Console, FailuresOfSeveralCasesAreNotFolded) {
  judge::RunResult run = three_cases();
  for (judge::CaseResult& one : run.cases)
    one.findings.push_back({"r", judge::Severity::invalid, "too slow", "", ""});
  const std::string text = render_console(run);
  EXPECT_THAT(text, HasSubstr("  invalid     case1: too slow [r]\n"));
  EXPECT_THAT(text, HasSubstr("\ncase2\n  invalid     too slow [r]\n"));
  EXPECT_THAT(text, HasSubstr("\ncase3\n  invalid     too slow [r]\n"));
}

TEST(Console, FailuresOfOneRoundAreNotFolded) {
  judge::RunResult run = three_cases();
  for (const char* reason : {"rank 1 failed", "rank 2 failed"})
    run.cases[0].rounds[0].findings.push_back({"r", judge::Severity::incomplete, reason, "", ""});
  const std::string text = render_console(run);
  EXPECT_THAT(text, AllOf(HasSubstr("rank 1 failed"), HasSubstr("rank 2 failed")));
}

TEST(Console, ManyFindingsAreCut) {
  judge::RunResult run = small_result();
  for (int i = 0; i < 40; ++i)
    run.cases[0].findings.push_back(
        {"r" + std::to_string(i), judge::Severity::warning, "a reason", "", ""});
  EXPECT_THAT(render_console(run), HasSubstr("… and 28 more in the report"));
}

TEST(Console, RunWithoutCases) {
  judge::RunResult run;
  run.run_id = "run1";
  EXPECT_THAT(render_console(run), AllOf(HasSubstr("no case was run"), HasSubstr("INCOMPLETE")));
}

}  // namespace
}  // namespace assay::report
