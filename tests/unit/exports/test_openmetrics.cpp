#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/metrics.h"
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
  EXPECT_EQ(prometheus_name("tokens_per_s_per_device"), "tokens_per_second_per_device");
  EXPECT_EQ(prometheus_name("Tokens/p/s"), "Tokens_per_p_per_second");
  EXPECT_EQ(prometheus_name("energy_counter_j"), "energy_counted_joules");
  EXPECT_EQ(prometheus_name("p_whole"), "p_whole");
}

// As promtool's own rule has it: each after a '_' and before another or the end.
void expect_whole_words(const std::string& name) {
  for (const std::string_view part :
       {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d", "counter",
        "gauge", "histogram", "summary"})
    EXPECT_EQ(("assay_result_" + name + "_").find(fmt::format("_{}_", part)), std::string::npos)
        << name << " has the part " << part;
}

TEST(PrometheusName, OfEveryKnownMetricHasNoAbbreviatedUnit) {
  for (const catalog::KnownMetric& metric : catalog::known_metrics())
    expect_whole_words(prometheus_name(metric.name));
  for (const catalog::MetricFamily& family : catalog::metric_families())
    expect_whole_words(
        prometheus_name(std::string(family.prefix) + "all" + std::string(family.suffix)));
}

}  // namespace
}  // namespace assay::exports
