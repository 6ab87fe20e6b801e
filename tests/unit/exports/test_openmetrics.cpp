#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "exports/openmetrics.h"
#include "needs.h"
#include "report/read_result.h"
#include "temporary_folder.h"

namespace assay::exports {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

judge::RunResult golden() {
  const std::string file = ASSAY_SOURCE_DIR "/tests/golden/report/small.result.json";
  return report::read_result(parse_json(read_file(file), file), file);
}

TEST(OpenMetrics, AFamilyForEachMetricWithItsStatistics) {
  judge::RunResult result;
  result.run_id = "run1";
  result.suite = "a \"b\"";
  result.validity = judge::Validity::valid;
  judge::CaseResult one;
  one.name = "c";
  one.hardware = "cpu";
  judge::Summary energy;
  energy.info = {"energy_j", "J", Better::lower, "energy"};
  energy.median = energy.min = energy.max = 2.5;
  one.summary.push_back(energy);
  result.cases.push_back(one);
  const std::string text = render_openmetrics(result);
  EXPECT_THAT(text, HasSubstr("assay_run_valid{suite=\"a \\\"b\\\"\",run=\"run1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# HELP assay_result_energy_joules energy (J).\n"
                              "# TYPE assay_result_energy_joules gauge\n"));
  EXPECT_THAT(text, HasSubstr("case=\"c\",hardware=\"cpu\",statistic=\"median\"} 2.5\n"));
  EXPECT_THAT(text, EndsWith("# EOF\n"));
}

TEST(OpenMetrics, PromtoolFindsNothingWrong) {
  if (!run_command({"promtool", "--version"}).ok()) GTEST_SKIP() << needs::package("prometheus");
  const testing::TemporaryFolder folder;
  folder.write("run.prom", render_openmetrics(golden()));
  const CommandResult check = run_command(
      {"/bin/sh", "-c", "promtool check metrics < \"$0\"", (folder.path() / "run.prom").string()});
  EXPECT_TRUE(check.ok()) << check.out << check.err << read_file(folder.path() / "run.prom");
}

TEST(PrometheusName, HasUnitsInFull) {
  EXPECT_EQ(prometheus_name("train_time_s"), "train_time_seconds");
  EXPECT_EQ(prometheus_name("Tokens/p/s"), "Tokens_p_s");
  EXPECT_EQ(prometheus_name("p_whole"), "p_whole");
}

}  // namespace
}  // namespace assay::exports
