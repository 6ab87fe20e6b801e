#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/device_findings.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using testing::finding;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Json state(const Json& changes = Json::object(), const std::string& driver = "550") {
  Json device{{"index", 0},         {"uuid", "GPU-0"},       {"ecc_uncorrected", 0},
              {"ecc_corrected", 0}, {"rows_uncorrected", 0}, {"power_limit_w", 700},
              {"pcie_width", 16},   {"links_active", 18}};
  device.update(changes);
  return {{"driver", driver}, {"devices", Json::array({device})}};
}

Json node(const std::string& host, const Json& before, const Json& after) {
  Json out{{"host", host}};
  if (!before.is_null()) out["device_state"] = before;
  if (!after.is_null()) out["device_state_after"] = after;
  return out;
}

Json nodes(const std::vector<Json>& list) {
  return {{"nodes", list}};
}

std::vector<Finding> of(const Json& before, const Json& after, bool ended = true) {
  return device_findings(nodes({node("n1", before, after)}), ended);
}

TEST(DeviceFindings, AreNoneWhereNothingChangedOrNothingWasAsked) {
  EXPECT_THAT(of(state(), state()), IsEmpty());
  EXPECT_THAT(of(Json(), Json()), IsEmpty());
  EXPECT_THAT(device_findings(Json::object(), true), IsEmpty());
  EXPECT_THAT(device_findings(Json::array({1, 2}), true), IsEmpty());
}

TEST(DeviceFindings, NameErrorsSettingsAndLinks) {
  const std::vector<Finding> findings = of(state(), state({{"ecc_uncorrected", 2},
                                                           {"rows_uncorrected", 1},
                                                           {"ecc_corrected", 4},
                                                           {"power_limit_w", 500},
                                                           {"links_active", 17}}));
  ASSERT_NE(finding(findings, "device-errors"), nullptr);
  EXPECT_EQ(finding(findings, "device-errors")->severity, Severity::warning);
  EXPECT_THAT(finding(findings, "device-errors")->reason,
              HasSubstr("device 0: 2 more uncorrected memory errors; device 0: 1 more remapped"));
  EXPECT_THAT(finding(findings, "device-settings")->reason, HasSubstr("700 W before, 500 W after"));
  EXPECT_THAT(finding(findings, "device-links")->reason, HasSubstr("18 before, 17 after"));
  EXPECT_EQ(finding(findings, "device-corrected")->severity, Severity::note);
  for (const Finding& each : findings) EXPECT_NE(each.advice, "") << each.rule;
}

TEST(DeviceFindings, SayWhatCouldNotBeLookedAt) {
  const auto reason = [](const std::vector<Finding>& findings) {
    const Finding* found = finding(findings, "device-state-known");
    return found == nullptr ? "none" : found->reason;
  };
  EXPECT_THAT(reason(of({{"problem", "the driver hangs"}}, state())),
              HasSubstr("before the run: the driver hangs"));
  EXPECT_THAT(reason(of(state(), {{"problem", "exit 3"}})), HasSubstr("after the run: exit 3"));
  EXPECT_THAT(reason(of(state(), Json())), HasSubstr("after the run: the node was not asked"));
  EXPECT_THAT(reason(of("nonsense", state())), HasSubstr("expected an object"));
  EXPECT_THAT(reason(of({{"devices", 7}}, state())), HasSubstr("expected a list"));
  EXPECT_EQ(reason(of(state(), Json(), /*ended=*/false)), "none");
}

TEST(DeviceFindings, NameTheHostsOfSeveralNodes) {
  const std::vector<Finding> findings = device_findings(
      nodes({node("n1", state(), state()), node("n2", state(), state({{"ecc_uncorrected", 1}}))}),
      true);
  EXPECT_THAT(finding(findings, "device-errors")->reason, HasSubstr("n2, device 0: 1 more"));
  EXPECT_THAT(finding(findings, "device-errors")->reason, Not(HasSubstr("n1")));
  EXPECT_EQ(finding(findings, "device-drivers"), nullptr);
}

TEST(DeviceFindings, NameDriversThatDiffer) {
  const std::vector<Finding> findings = device_findings(
      nodes({node("n1", state(Json::object(), "550"), state(Json::object(), "550")),
             node("n2", state(Json::object(), "560"), state(Json::object(), "560"))}),
      true);
  ASSERT_NE(finding(findings, "device-drivers"), nullptr);
  EXPECT_THAT(finding(findings, "device-drivers")->reason, HasSubstr("550 on n1; 560 on n2"));
}

TEST(DeviceFindings, OfManyDevicesAreBounded) {
  Json before = state();
  Json after = state();
  for (int i = 1; i < 100; ++i) {
    before["devices"].push_back({{"index", i}, {"ecc_uncorrected", 0}});
    after["devices"].push_back({{"index", i}, {"ecc_uncorrected", 1}});
  }
  EXPECT_THAT(finding(of(before, after), "device-errors")->reason, HasSubstr("; and 93 more"));
}

}  // namespace
}  // namespace assay::judge
