// Plans as people and programs read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/planner/plan_text.h"

namespace assay::train::planner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PlanReport report_of(const char* size, std::int64_t devices, double memory) {
  PlanReport report;
  report.model = std::string("llama-") + size;
  report.work.model = LlamaOptions::named(size);
  report.work.sequence = 8192;
  report.work.global_batch = 8 * devices;
  report.devices = devices;
  report.cluster.memory = memory;
  report.plans = all_plans(report.work, devices, report.cluster);
  if (!report.plans.front().fits)
    report.would_fit = devices_that_fit(report.work, devices, report.cluster);
  return report;
}

TEST(PlanTextTest, WhatFitsIsShownPartByPart) {
  EXPECT_THAT(to_text(report_of("70b", 64, 80.0 * (1LL << 30))),
              AllOf(HasSubstr("llama-70b: 70.55 B parameters, 80 layers"),
                    HasSubstr("64 devices of 80.00 GiB"), HasSubstr("fits: data"),
                    HasSubstr("  optimizer "), HasSubstr("activations by what is computed again"),
                    HasSubstr("bound by compute")));
}

TEST(PlanTextTest, WhatDoesNotFitSaysWhatWould) {
  EXPECT_THAT(to_text(report_of("70b", 8, 80.0 * (1LL << 30))),
              AllOf(HasSubstr("does not fit: the nearest, data"),
                    HasSubstr("16 such devices would do"), HasSubstr("does not fit\n")));
  // More devices do not help where the libraries alone take all of it.
  EXPECT_THAT(
      to_text(report_of("70b", 1, 2.0 * (1LL << 30))),
      AllOf(HasSubstr("does not fit"), HasSubstr(" would do\n"),
            ::testing::Not(HasSubstr("such devices")), ::testing::Not(HasSubstr("--sequence"))));
  PlanReport long_one = report_of("8b", 8, 80.0 * (1LL << 30));
  long_one.plans.front().fits = false;
  long_one.shorter_fits = true;
  EXPECT_THAT(to_text(long_one), HasSubstr(" would do; or a shorter --sequence\n"));
}

TEST(PlanTextTest, JsonHasTheSameNumbers) {
  const PlanReport report = report_of("8b", 8, 80.0 * (1LL << 30));
  const Json json = to_json(report);
  const Plan& best = report.plans.front();
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["parameters"], report.work.model.parameters());
  EXPECT_EQ(json["plans"][0]["mesh"]["data"], best.mesh.data);
  EXPECT_EQ(json["plans"][0]["memory_bytes"]["total"], best.memory.total());
  double sum = 0;
  for (const char* const part :
       {"weights", "gradients", "optimizer", "activations", "logits", "buffers", "runtime"})
    sum += json["plans"][0]["memory_bytes"][part].get<double>();
  EXPECT_DOUBLE_EQ(sum, best.memory.total());
  EXPECT_FALSE(json.contains("devices_that_fit"));
}

}  // namespace
}  // namespace assay::train::planner
