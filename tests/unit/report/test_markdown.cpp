#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo.h"
#include "report/markdown.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Markdown, BeginsWithTheSuiteAndItsVerdict) {
  judge::RunResult result = small_result();
  result.suite = "acceptance";
  result.validity = judge::Validity::invalid;
  EXPECT_THAT(render_markdown(result), StartsWith("# acceptance: INVALID\n"));
}

TEST(Markdown, HasARowForEveryCase) {
  const judge::RunResult result = small_result();
  const std::string text = render_markdown(result);
  for (const judge::CaseResult& one : result.cases)
    EXPECT_THAT(text, HasSubstr("\n| " + one.name)) << text;
}

TEST(Markdown, ListsFindingsWithTheirAdviceUnderTheirCase) {
  judge::RunResult result = small_result();
  result.cases.resize(1);
  result.cases[0].name = "c1";
  result.cases[0].findings = {
      {"spread", judge::Severity::invalid, "too wide", "repeat it", "", {}}};
  EXPECT_THAT(render_markdown(result),
              HasSubstr("\n## c1\n\n- **invalid**: too wide (spread)\n  → repeat it\n"));
}

TEST(Markdown, TextFromOutsideBecomesNoMarkup) {
  judge::RunResult result = small_result();
  result.cases.resize(1);
  result.cases[0].name = "a|b";
  result.cases[0].findings = {{"x",
                               judge::Severity::note,
                               "<script>alert(1)</script>\n# big [link](http://x)",
                               "",
                               "",
                               {}}};
  const std::string text = render_markdown(result);
  EXPECT_THAT(text, HasSubstr("| a\\|b"));
  EXPECT_THAT(text, HasSubstr("\\<script\\>"));
  EXPECT_THAT(text, Not(HasSubstr("\n# big")));
  EXPECT_THAT(text, HasSubstr("\\[link\\]"));
}

}  // namespace
}  // namespace assay::report
