#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/node_metrics.h"
#include "telemetry/values.h"

namespace assay::agent {
namespace {

using telemetry::Column;
using ::testing::HasSubstr;
using ::testing::Not;

SourceMetrics source(const std::string& name,
                     const std::vector<std::pair<Column, double>>& values) {
  SourceMetrics out{name, {}};
  for (const auto& [column, value] : values) out.values[column] = value;
  return out;
}

AgentMetrics sample() {
  AgentMetrics metrics;
  metrics.host = "n1";
  metrics.version = "1.2.3";
  RoundMetrics round;
  round.case_name = "null";
  round.round = 2;
  round.running = true;
  RankMetrics rank;
  rank.rank = 3;
  rank.state = RankMetrics::State::running;
  rank.steps = 7;
  rank.samples = 224;
  rank.loss = 0.5;
  round.ranks = {rank};
  metrics.round = round;
  return metrics;
}

TEST(AgentMetricsPage, GivesEveryRankItsLabelsAndCounters) {
  const std::string page = render_metrics(sample());
  EXPECT_THAT(page, HasSubstr("assay_build_info{host=\"n1\",version=\"1.2.3\"} 1\n"));
  const std::string labels = "{host=\"n1\",case=\"null\",round=\"2\",rank=\"3\"}";
  EXPECT_THAT(page, HasSubstr("# TYPE assay_rank_steps_total counter\nassay_rank_steps_total" +
                              labels + " 7\n"));
  EXPECT_THAT(page, HasSubstr("assay_rank_samples_total" + labels + " 224\n"));
  EXPECT_THAT(page, HasSubstr("assay_rank_loss" + labels + " 0.5\n"));
  EXPECT_THAT(page, HasSubstr("state=\"running\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("state=\"failed\"} 0\n"));
}

TEST(AgentMetricsPage, LeavesOutWhatIsNotKnown) {
  const std::string page = render_metrics(sample());
  for (const char* name : {"assay_rank_accuracy", "assay_automl_trials_total",
                           "assay_node_power_watts", "assay_device_power_watts"})
    EXPECT_THAT(page, Not(HasSubstr(name)));
  AgentMetrics idle;
  idle.host = "n1";
  EXPECT_THAT(render_metrics(idle), Not(HasSubstr("case=")));
}

TEST(AgentMetricsPage, ConvertsTelemetryToBaseUnits) {
  AgentMetrics metrics = sample();
  metrics.round->power_w = 250.5;
  metrics.round->sources = {
      source("node", {{Column::util, 0.25}, {Column::clock_mhz, 2800}}),
      source("rapl0", {{Column::power_w, 50}, {Column::energy_j, 1234.5}}),
      source("dev1", {{Column::util, 0.75}, {Column::temp_c, 61}, {Column::energy_j, 9}})};
  const std::string page = render_metrics(metrics);
  const std::string common = "{host=\"n1\",case=\"null\",round=\"2\"";
  EXPECT_THAT(page, HasSubstr("assay_cpu_utilization_ratio" + common + "} 0.25\n"));
  EXPECT_THAT(page, HasSubstr("assay_cpu_clock_hertz" + common + "} 2800000000\n"));
  EXPECT_THAT(page, HasSubstr("assay_node_power_watts" + common + "} 250.5\n"));
  EXPECT_THAT(page,
              HasSubstr("assay_energy_joules_total" + common + ",source=\"rapl0\"} 1234.5\n"));
  EXPECT_THAT(page, HasSubstr("assay_device_temperature_celsius" + common + ",device=\"1\"} 61\n"));
}

TEST(AgentMetricsPage, WritesNumbersThatAreNotFiniteAndHostileNamesAsTheFormatAsks) {
  AgentMetrics metrics = sample();
  metrics.round->case_name = "a\"b\\c\nd";
  metrics.round->ranks[0].loss = std::numeric_limits<double>::quiet_NaN();
  std::string page = render_metrics(metrics);
  EXPECT_THAT(page, HasSubstr(R"(case="a\"b\\c\nd")"));
  EXPECT_THAT(page, HasSubstr("rank=\"3\"} NaN\n"));
  metrics.round->ranks[0].loss = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(render_metrics(metrics), HasSubstr("rank=\"3\"} -Inf\n"));
}

TEST(AgentMetricsPage, AnnouncesEveryFamilyOnceAndBeforeItsSamples) {
  AgentMetrics metrics = sample();
  metrics.round->ranks.push_back(metrics.round->ranks[0]);
  metrics.round->ranks[1].rank = 4;
  std::istringstream lines(render_metrics(metrics));
  std::map<std::string, int> announced;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_EQ(++announced[family], 1) << line;
    } else if (!line.starts_with("#")) {
      EXPECT_EQ(line.substr(0, line.find('{')), family);
    }
  }
  EXPECT_GT(announced.size(), 8U);
}

}  // namespace
}  // namespace assay::agent
