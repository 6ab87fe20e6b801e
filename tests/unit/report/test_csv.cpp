#include <gmock/gmock.h>

#include "demo.h"
#include "golden.h"
#include "report/csv.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Csv, MatchesTheGoldenFiles) {
  expect_golden(render_csv(small_result()), "small.results.csv");
  expect_golden(render_ranks_csv(demo_result()).substr(0, 2000), "demo.ranks-head.csv");
}

TEST(Csv, HasOneRowPerCaseRoundAndMetric) {
  const judge::RunResult run = demo_result();
  std::size_t metrics = 0;
  for (const auto& one : run.cases)
    for (const auto& round : one.rounds) metrics += round.metrics.size();
  const std::string text = render_csv(run);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), metrics + 1);
  EXPECT_THAT(text,
              StartsWith("run_id,case,round,metric,value,unit,better,origin,validity,role\r\n"));
}

TEST(Csv, QuotesAsRfc4180Asks) {
  judge::RunResult run = small_result();
  run.cases[0].name = "a,\"b\"\nc";
  EXPECT_THAT(render_csv(run), HasSubstr(",\"a,\"\"b\"\"\nc\",1,p_whole,24576,samples/s,"));
}

TEST(Csv, TextIsNeverAFormula) {
  for (const std::string start : {"=", "+", "-", "@", " =", "\t="}) {
    judge::RunResult run = small_result();
    run.cases[0].name = start + "HYPERLINK(1)";
    const std::string text = render_csv(run);
    EXPECT_THAT(text, Not(HasSubstr("," + start + "HYPER"))) << start;
    EXPECT_THAT(text, HasSubstr("'" + start + "HYPERLINK(1)")) << start;
  }
}

TEST(Csv, NegativeNumbersStayNumbers) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].metrics[0].value = -1.25;
  EXPECT_THAT(render_csv(run), HasSubstr(",p_whole,-1.25,samples/s,"));
}

TEST(Csv, NumbersKeepTheirPrecision) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].metrics[0].value = 0.1 + 0.2;
  EXPECT_THAT(render_csv(run), HasSubstr(",0.30000000000000004,"));
}

TEST(Csv, SignalsOfRanksAreNamed) {
  EXPECT_THAT(render_ranks_csv(demo_result()), HasSubstr(",3,1,1,node2,,SIGSEGV,itself,117,"));
}

}  // namespace
}  // namespace assay::report
