#include <gmock/gmock.h>

#include "core/subprocess.h"
#include "demo.h"
#include "golden.h"
#include "needs.h"
#include "report/junit.h"
#include "temporary_folder.h"

namespace assay::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Junit, MatchesTheGoldenFile) {
  expect_golden(render_junit(demo_result()), "demo.junit.xml");
}

TEST(Junit, CountsFailuresErrorsAndSkips) {
  EXPECT_THAT(render_junit(demo_result()),
              HasSubstr("tests=\"11\" failures=\"1\" errors=\"2\" skipped=\"1\""));
}

TEST(Junit, FailureSaysWhatToDo) {
  EXPECT_THAT(
      render_junit(demo_result()),
      AllOf(HasSubstr("<failure message=\"the final MLM accuracy is 0.412, below the target"),
            HasSubstr("what to do: train longer")));
}

TEST(Junit, CaseThatIsWorseThanItsRoundsFails) {
  judge::RunResult run = small_result();
  run.cases[0].validity = judge::Validity::invalid;
  run.cases[0].findings = {
      {"spread", judge::Severity::invalid, "the rounds differ by 31 %", "", ""}};
  EXPECT_THAT(render_junit(run),
              AllOf(HasSubstr("tests=\"2\" failures=\"1\""), HasSubstr("name=\"case\""),
                    HasSubstr("message=\"the rounds differ by 31 %\"")));
}

TEST(Junit, RunThatIsWorseThanItsCasesFails) {
  judge::RunResult run = small_result();
  run.findings = {{"system-known", judge::Severity::incomplete, "system.json is damaged", "", ""}};
  EXPECT_THAT(render_junit(run),
              AllOf(HasSubstr("tests=\"2\" failures=\"0\" errors=\"1\""), HasSubstr("name=\"run\""),
                    HasSubstr("message=\"system.json is damaged\"")));
}

TEST(Junit, HostileTextIsWellFormedXml) {
  judge::RunResult run = demo_result();
  run.suite = "]]> \x01\x02 <!-- & \"quotes\"";
  run.cases[1].name = std::string("nul\0 \xff\xfe \xEF\xBF\xBE </testcase>", 24);
  run.cases[1].rounds[1].findings[0].reason = "\x1b[31m<b>&amp;\v\f";
  const assay::testing::TemporaryFolder folder;
  const auto path = folder.write("junit.xml", render_junit(run));
  const auto result = run_command(
      {"python3", "-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", path});
  if (result.not_found) GTEST_SKIP() << needs::package("python3");
  EXPECT_TRUE(result.status.ok()) << result.err;
}

}  // namespace
}  // namespace assay::report
