#include <cmath>
#include <string>

#include <gmock/gmock.h>

#include "core/error.h"
#include "judge/metric_set.h"

namespace assay::judge {
namespace {

using ::testing::ElementsAre;

template <class Action>
bool is_a_defect(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::internal;
  }
  return false;
}

TEST(MetricSet, AMisspeltMetricSeriesOrFactIsADefect) {
  MetricSet metrics;
  Facts facts;
  EXPECT_TRUE(is_a_defect([&] { metrics.add("p_whol", 1); }));
  EXPECT_TRUE(is_a_defect([&] { state(facts, "rank_failed", 1); }));
  EXPECT_TRUE(is_a_defect([&] { (void)make_series("los", "rank 0"); }));
}

TEST(MetricSet, WhatWasFoundStaysWhileOthersAreAddedAndReplaced) {
  MetricSet metrics;
  metrics.add("p_whole", 1);
  metrics.add("e2e_time", 2);
  const Metric* found = metrics.find("e2e_time");
  for (int i = 0; i < 100; ++i)
    metrics.add_named({"rate" + std::to_string(i), "1", Better::higher, ""}, i, Origin::reported);
  metrics.replace("p_whole", 3, Origin::measured, "");
  EXPECT_EQ(metrics.find("e2e_time"), found);
  EXPECT_EQ(found->value, 2);
}

TEST(MetricSet, WhatTheWorkloadNamesComesAfterTheCatalog) {
  MetricSet metrics;
  metrics.add_named({"rate", "1", Better::higher, ""}, 1, Origin::reported);
  metrics.add("busbw_bytes_per_s", 1, Origin::reported);
  metrics.add("e2e_time", 1);
  metrics.add("p_whole", 1);
  std::vector<std::string> names;
  for (const Metric& metric : metrics.take()) names.push_back(metric.info.name);
  EXPECT_THAT(names, ElementsAre("p_whole", "e2e_time", "rate", "busbw_bytes_per_s"));
}

TEST(MetricSet, TheFirstFiniteValueStays) {
  MetricSet metrics;
  metrics.add("p_whole", std::nan(""));
  EXPECT_FALSE(metrics.get("p_whole"));
  metrics.add("p_whole", 1);
  metrics.add("p_whole", 2);
  EXPECT_EQ(metrics.get("p_whole"), 1);
}

}  // namespace
}  // namespace assay::judge
