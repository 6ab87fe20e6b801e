#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"
#include "core/files.h"

namespace assay::catalog {
namespace {

using ::testing::HasSubstr;

std::string document(const std::string& name) {
  return read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/" + name);
}

// A pipe would end the cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

TEST(KnownMetrics, HaveDifferentNamesAndHeadlineRanks) {
  std::set<std::string_view> names;
  std::set<int> ranks{kNamedHeadline};
  for (const KnownMetric& metric : known_metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    if (metric.headline != 0) {
      EXPECT_TRUE(ranks.insert(metric.headline).second) << metric.name;
    }
    if (!metric.beside.empty()) {
      EXPECT_NE(find_known_metric(metric.beside), nullptr) << metric.name;
    }
  }
}

TEST(KnownMetrics, HaveATitle) {
  for (const KnownMetric& metric : known_metrics()) EXPECT_FALSE(metric.title.empty());
  for (const MetricFamily& family : metric_families()) EXPECT_THAT(family.title, HasSubstr("{}"));
}

TEST(MetricTitle, IsInPlainWords) {
  EXPECT_EQ(metric_title("triad_bytes_per_s"), "Memory bandwidth, triad");
  EXPECT_EQ(metric_title("final_mlm_acc"), "Final MLM accuracy");
  EXPECT_EQ(metric_title("final_acc1"), "Final top-1 accuracy");
  EXPECT_EQ(metric_title("final_eval_loss"), "Final evaluation loss");
  EXPECT_EQ(metric_title("busbw_64KiB"), "Bus bandwidth, 64 KiB");
  EXPECT_EQ(metric_title("latency_16MiB"), "Latency, 16 MiB");
  EXPECT_EQ(metric_title("d2h_pageable_bytes_per_s"), "Device to host, pageable");
  EXPECT_EQ(metric_title("link_bytes_per_s"), "Bandwidth, link");
  EXPECT_EQ(metric_title("images_per_gpu"), "Images per GPU");
  EXPECT_EQ(metric_title("mlm_acc"), "MLM accuracy");
  EXPECT_EQ(metric_title(""), "");
  EXPECT_EQ(metric_title("__"), "__");
}

TEST(KnownMetrics, ANameThatIsNotInTheTableIsADefect) {
  EXPECT_EQ(find_known_metric("p_whol"), nullptr);
  try {
    (void)known_metric("p_whol");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
  }
}

TEST(KnownMetrics, AreTheTableOfTheDocumentation) {
  std::string table = "| metric | unit | better | title | meaning |\n|---|---|---|---|---|\n";
  for (const KnownMetric& metric : known_metrics())
    table += fmt::format(
        "| `{}` | {} | {} | {} | {} |\n", metric.name, metric.unit == "1" ? "" : metric.unit,
        metric.better == Better::neither ? std::string() : std::string(to_text(metric.better)),
        metric.title, cell(metric.description));
  EXPECT_THAT(document("metrics.md"), HasSubstr(table));
}

TEST(KnownFacts, AreTheTableOfTheDocumentation) {
  const std::string text = document("rules.md");
  for (const FactInfo& fact : known_facts())
    EXPECT_THAT(text, HasSubstr(fmt::format("\n| `{}` | {}|", fact.name,
                                            fact.unit == "1" ? "" : std::string(fact.unit) + " ")))
        << fact.name;
}

TEST(MetricFamilies, HoldTheNamesThatWorkloadsMakeUp) {
  EXPECT_EQ(find_metric_family("final_accuracy")->unit, "1");
  EXPECT_EQ(find_metric_family("busbw_4KiB")->unit, "B/s");
  EXPECT_EQ(find_metric_family("copy_bytes_per_s")->unit, "B/s");
  EXPECT_EQ(find_metric_family("latency_4KiB")->unit, "s");
  EXPECT_EQ(find_metric_family("final_"), nullptr);
  EXPECT_EQ(find_metric_family("throughput"), nullptr);
}

TEST(KnownSeries, WhatAddsUpOrFallsShowsItsLastValue) {
  EXPECT_TRUE(find_known_series("loss")->last);
  EXPECT_FALSE(find_known_series("power")->last);
  EXPECT_EQ(find_known_series("pwer"), nullptr);
}

}  // namespace
}  // namespace assay::catalog
