#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/overrides.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;
using ::testing::StartsWith;

constexpr const char* kSuite =
    "telemetry: {interval: 1s}\n"
    "cases:\n"
    "  - train:native:cpu:1:1:3\n"
    "  - case: train:libtorch_2.1:cpu:1:2:3\n"
    "    limits: {time: 5m}\n"
    "  - {name: mine, command: [x, '{config}'], config: {batch: 1}}\n"
    "  - {name: bare, command: x}\n";

Plan with(const std::string& set) {
  return plan(kSuite, {set});
}

std::string set_error(const std::string& set) {
  return error_of([&] { return with(set); });
}

TEST(Set, ReachesTheTopLevel) {
  EXPECT_EQ(with("telemetry.interval=0.5s").telemetry.interval, 500ms);
  EXPECT_EQ(with("vendor=acme").vendor, "acme");
  EXPECT_EQ(with("name=a: b").suite, "a: b");
  EXPECT_EQ(with("cluster.hosts=[h1, h2]").cluster.hosts.size(), 2U);
  EXPECT_EQ(with("cluster.master_port=4000").cluster.master_port, 4000);
}

TEST(Set, ReachesEveryCaseOverWhatTheCaseSays) {
  const Plan p = with("limits.time=10s");
  for (const CasePlan& c : p.cases) EXPECT_EQ(c.limits.time, 10s);
  EXPECT_EQ(with("repeats=1").cases.at(0).repeats, 1);
  EXPECT_EQ(with("repeats=1").cases.at(0).name, "train:native:cpu:1:1:3");
  EXPECT_EQ(with("env.A.B=1").cases.at(3).env.at("A.B"), "1");
  EXPECT_EQ(with("rules.min-duration=off").cases.at(0).rules.size(), 1U);
  EXPECT_EQ(with("rules.min-steps.min=3").cases.at(0).rules.at(0).min, 3);
}

TEST(Set, ConfigReachesTheCasesThatHaveTheKey) {
  const Plan p = with("config.batch=8");
  EXPECT_EQ(p.cases.at(0).config.at("batch"), 8);
  EXPECT_EQ(p.cases.at(1).config.at("batch"), 8);
  EXPECT_EQ(p.cases.at(2).config.at("batch"), 8);
  EXPECT_FALSE(p.cases.at(3).config.contains("batch"));
  EXPECT_EQ(p.cases.at(0).config_origin.at("batch"), "--set config.batch=8");
  EXPECT_EQ(with("cases.*.config.lr=1").cases.at(0).config.at("lr"), 1.0);
}

TEST(Set, ReachesOneCaseByNameEvenWithDots) {
  const Plan p = with("cases.train:libtorch_2.1:cpu:1:2:3.config.batch=9");
  EXPECT_EQ(p.cases.at(0).config.at("batch"), 32);
  EXPECT_EQ(p.cases.at(1).config.at("batch"), 9);
  EXPECT_EQ(with("cases.mine.config.fresh=x").cases.at(2).config.at("fresh"), "x");
  EXPECT_EQ(with("cases.*libtorch*.limits.stall=5s").cases.at(1).limits.stall, 5s);
}

TEST(Set, LaterOnesWin) {
  EXPECT_EQ(plan(kSuite, {"config.batch=1", "config.batch=2"}).cases.at(0).config.at("batch"), 2);
}

TEST(Set, IsRecordedInThePlan) {
  EXPECT_THAT(with("repeats=2").overrides, ElementsAre("--set repeats=2"));
}

TEST(Set, EmptyValueIsEmptyText) {
  EXPECT_EQ(with("data=").cases.at(0).data, "");
  EXPECT_EQ(with("env.A=").cases.at(0).env.at("A"), "");
}

TEST(SetErrors, UnknownPathsNameTheNearest) {
  EXPECT_THAT(set_error("telemetri.interval=1s"),
              StartsWith("--set telemetri.interval=1s: unknown setting 'telemetri' (did you mean "
                         "'telemetry'?)"));
  EXPECT_THAT(set_error("telemetry.intervall=1s"), HasSubstr("did you mean 'interval'?"));
  EXPECT_THAT(set_error("limits.tme=1s"), HasSubstr("did you mean 'time'?"));
  EXPECT_THAT(set_error("config.bach=1"),
              HasSubstr("unknown config key 'bach' (did you mean 'batch'?)"));
  EXPECT_THAT(set_error("cases.minne.data=x"), HasSubstr("did you mean 'mine'?"));
  EXPECT_THAT(set_error("cases.mine.dat=x"),
              HasSubstr("unknown key 'dat' of a case (did you mean 'data'?)"));
  EXPECT_THAT(set_error("rules.min-step=off"), HasSubstr("did you mean 'min-steps'?"));
  EXPECT_THAT(set_error("vendor=acm"), HasSubstr("did you mean 'acme'?"));
}

TEST(SetErrors, MalformedSettings) {
  for (const char* text : {"", "x", "=1"})
    EXPECT_THAT(set_error(text), HasSubstr("expected key=value"));
  EXPECT_THAT(set_error("telemetry=1"), HasSubstr("expected a mapping for 'telemetry'"));
  EXPECT_THAT(set_error("telemetry.interval.x=1"), HasSubstr("not a mapping"));
  EXPECT_THAT(set_error("config=1"), HasSubstr("name the key"));
  EXPECT_THAT(set_error("cases=[]"), HasSubstr("cases.NAME.KEY=VALUE"));
  EXPECT_THAT(set_error("cases.=1"), HasSubstr("cases.NAME.KEY=VALUE"));
  EXPECT_THAT(set_error("repeats=0"),
              HasSubstr("--set repeats=0: expected a whole number from 1 to 1000"));
  EXPECT_THAT(set_error("repeats=[1"), HasSubstr("not valid YAML"));
  EXPECT_THAT(set_error("telemetry.interval=1ms"), HasSubstr("from 100ms"));
}

TEST(Glob, MatchesWholeNames) {
  EXPECT_TRUE(glob_matches("a*c", "abbc"));
  EXPECT_FALSE(glob_matches("a*", "ba"));
  EXPECT_TRUE(glob_matches("a:?:[bc]", "a:1:c"));
}

}  // namespace
}  // namespace assay::plan
