#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string suite_text(const std::string& more,
                       const std::string& command = "[a/train.py, --n=1]") {
  return "cluster:\n  launcher: modelarts\n  modelarts:\n"
         "    {project: p0, bucket: b, code: code, engine: e, flavor: f, " +
         more + "}\ncases:\n  - {name: c, nodes: 2, procs: 8, command: " + command + "}\n";
}

Plan plan_of(const std::string& text) {
  return make_plan(testing::suite(text), testing::small_catalog(), {});
}

TEST(ModelArtsSuite, TakesItsEndpointsFromTheRegion) {
  const auto options =
      std::get<ModelArtsOptions>(plan_of(suite_text("region: cn-north-4")).cluster.options);
  EXPECT_EQ(options.endpoint, "https://modelarts.cn-north-4.myhuaweicloud.com");
  EXPECT_EQ(options.store_endpoint, "https://obs.cn-north-4.myhuaweicloud.com");
  EXPECT_EQ(options.prefix, "assay/");
  EXPECT_FALSE(options.stop_on_interrupt);
}

TEST(ModelArtsSuite, StartsOneCommandAnInstanceAndHasTheMetricsOfAisBench) {
  const Plan plan = plan_of(suite_text("region: r"));
  EXPECT_EQ(plan.cases[0].launch, LaunchMode::per_node);
  ASSERT_EQ(plan.cases[0].metrics.size(), 2U);
  EXPECT_EQ(plan.cases[0].metrics[0].name, "throughput_ratio");
  EXPECT_EQ(plan_of(suite_text("region: r, results: perflog")).cases[0].metrics.size(), 0U);
}

TEST(ModelArtsSuite, HasTheTimeThatAStartMayTake) {
  const auto start_of = [](const std::string& keys) {
    return std::get<ModelArtsOptions>(plan_of(suite_text(keys)).cluster.options).start;
  };
  EXPECT_EQ(start_of("region: r"), std::chrono::minutes(30));
  EXPECT_EQ(start_of("region: r, start: 90s"), std::chrono::seconds(90));
}

TEST(ModelArtsSuite, RefusesEndpointsThatDoNotEncrypt) {
  const std::string local = "endpoint: 'http://127.0.0.1:1', obs_endpoint: 'http://127.0.0.1:1'";
  EXPECT_NO_THROW((void)plan_of(suite_text(local)));
  EXPECT_THAT(error_of([&] {
                return plan_of(suite_text("endpoint: 'http://cloud', obs_endpoint: 'https://x'"));
              }),
              HasSubstr("must begin with https://"));
}

TEST(ModelArtsSuite, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r, flavour: x")); }),
              HasSubstr("did you mean 'flavor'"));
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r, secret_key: x")); }),
              HasSubstr("secret_key"));
  EXPECT_THAT(error_of([] { return plan_of(suite_text("prefix: x")); }),
              HasSubstr("needs 'region'"));
}

TEST(ModelArtsSuite, RefusesWhatTheOldInterfaceDoesNotHave) {
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r, api: v1")); }),
              HasSubstr("NAME/VERSION"));
  std::string text = suite_text("region: r, api: v1, inputs: {a: /b/c/, d: /b/e/}");
  text.replace(text.find("engine: e,"), 10, "engine: n/v,");
  EXPECT_THAT(error_of([&] { return plan_of(text); }), HasSubstr("one input"));
}

TEST(ModelArtsSuite, RefusesACommandThatIsNoBootFileWithParameters) {
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r", "[/bin/sh, --n=1]")); }),
              HasSubstr("must begin with the boot file"));
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r", "[../a.py]")); }),
              HasSubstr("must begin with the boot file"));
  EXPECT_THAT(error_of([] { return plan_of(suite_text("region: r", "[a.py, -n, '1']")); }),
              HasSubstr("--NAME=VALUE"));
}

}  // namespace
}  // namespace assay::plan
