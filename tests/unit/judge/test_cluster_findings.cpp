#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/cluster_findings.h"
#include "judge/hardware_names.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using testing::finding;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClusterFindings : public ::testing::Test {
 protected:
  ClusterFindings() {
    plan_.cluster.use_launcher(plan::SshOptions{});
    plan_.vendor_data = {{"hardware",
                          {{"A100", Json::object()},
                           {"H100", Json::object()},
                           {"H20", Json::object()},
                           {"H200", Json::object()}}},
                         {"query", {{"command", {"nvidia-smi", "-L"}}}}};
    plan_.cases.emplace_back().hardware = "H100";
  }
  static Json node(const std::string& host, const std::string& device,
                   const std::string& boot = "") {
    return {{"host", host},
            {"boot_id", boot.empty() ? host : boot},
            {"devices", Json::array({{{"name", device}}})}};
  }
  [[nodiscard]] std::vector<Finding> of(const std::vector<Json>& nodes,
                                        const std::vector<Json>& events = {}) const {
    return cluster_findings(plan_, {{"nodes", nodes}}, events);
  }

  plan::Plan plan_;
};

TEST_F(ClusterFindings, AreNoneWhereTheHardwareIsWhatItIsCalled) {
  EXPECT_THAT(of({node("n1", "NVIDIA H100 80GB HBM3"), node("n2", "NVIDIA H100 PCIe")}), IsEmpty());
}

TEST_F(ClusterFindings, OfDevicesOfAnotherKindAreInvalid) {
  const auto found = of({node("n1", "NVIDIA A100-SXM4-80GB")});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "hardware-named");
  EXPECT_EQ(found[0].severity, Severity::invalid);
  EXPECT_THAT(found[0].reason,
              HasSubstr("name the hardware H100, and the devices are NVIDIA A100"));
}

TEST_F(ClusterFindings, KnowThatAnH20IsNoH200) {
  plan_.cases[0].hardware = "H20";
  EXPECT_EQ(of({node("n1", "NVIDIA H200")}).size(), 1U);
  EXPECT_THAT(of({node("n1", "NVIDIA H20")}), IsEmpty());
}

TEST_F(ClusterFindings, KnowTheHardwareByItsOtherSpellings) {
  for (const char* spelling : {"NVIDIA H100 80GB HBM3", "h100-sxm", "H100SXM5", "H100-80G"}) {
    plan_.cases[0].hardware = spelling;
    EXPECT_THAT(of({node("n1", "NVIDIA H100 PCIe")}), IsEmpty()) << spelling;
    const auto found = of({node("n1", "NVIDIA A100-SXM4-80GB")});
    ASSERT_EQ(found.size(), 1U) << spelling;
    EXPECT_THAT(found[0].reason, HasSubstr(std::string("name the hardware ") + spelling));
  }
}

TEST(HardwareNames, NameOneKindHoweverTheyAreSpelled) {
  const Json nvidia{{"A100", Json::object()}, {"V100", Json::object()}, {"H20", Json::object()},
                    {"H100", Json::object()}, {"H200", Json::object()}, {"L40S", Json::object()}};
  const auto is = [&](const char* text, const char* kind) {
    EXPECT_EQ(kind_named(text, nvidia).value_or("none"), kind) << text;
  };
  is("H100", "H100");
  is("NVIDIA H100 80GB HBM3", "H100");
  is("nvidia_h100_pcie", "H100");
  is("Tesla V100", "V100");
  is("TeslaV100-SXM2-32GB", "V100");
  is("NVIDIA H20-3e", "H20");
  is("l40s", "L40S");
  // Others, and what could be several.
  for (const char* other : {"A10", "A10G", "A1000", "V100S", "Tesla V100S-PCIE-32GB", "GH200 480GB",
                            "L40", "H100 or A100", "RTX 4090", "our-cluster", "", "A100X", "100"})
    is(other, "none");
}

TEST(HardwareNames, AreThoseOfTheVendorsFile) {
  const Json ascend{{"9100", {{"device_name", "^910(?:A|PremiumA|ProA)?$"}}},
                    {"Atlas800TA2", {{"device_name", "^910B"}}}};
  EXPECT_EQ(kind_named("Ascend 910B", ascend), "Atlas800TA2");
  EXPECT_EQ(kind_named("ascend910b3", ascend), "Atlas800TA2");
  EXPECT_EQ(kind_named("Ascend 910", ascend), "9100");
  EXPECT_EQ(kind_named("Ascend 310P", ascend), std::nullopt);
  const Json amd{{"MI210", Json::object()}, {"MI300X", Json::object()}};
  EXPECT_EQ(kind_named("AMD Instinct MI300X OAM", amd), "MI300X");
  EXPECT_EQ(kind_named("MI300A", amd), std::nullopt);
  EXPECT_EQ(kind_named("K100 AI", Json{{"K100", Json::object()}}), std::nullopt);
}

TEST_F(ClusterFindings, SayNothingOfNamesThatNothingCanBeHeldAgainst) {
  EXPECT_THAT(of({node("n1", "a device of tomorrow")}), IsEmpty());
  plan_.cases[0].hardware = "our-cluster";
  EXPECT_THAT(of({node("n1", "NVIDIA A100-SXM4-80GB")}), IsEmpty());
  EXPECT_THAT(cluster_findings(plan_, Json::array({1}), {Json(1)}), IsEmpty());
}

TEST_F(ClusterFindings, OfHardwareThatNobodySeesAreIncomplete) {
  const auto found = of({{{"host", "n1"}, {"devices", Json::array()}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "hardware-named");
  EXPECT_EQ(found[0].severity, Severity::incomplete);
  EXPECT_THAT(found[0].reason,
              HasSubstr("name the hardware H100, and no device can be seen on n1"));
  EXPECT_THAT(found[0].advice, HasSubstr("see that nvidia-smi lists"));
  EXPECT_EQ(of({{{"host", "n1"}}}).size(), 1U);
}

TEST_F(ClusterFindings, NameTheNodesOfACaseThatSeeNoDevice) {
  plan_.cases[0].nodes = 2;
  const Json blind{{"host", "n2"}, {"devices", Json::array()}};
  const auto found = of({node("n1", "NVIDIA H100"), blind});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].reason, HasSubstr("no device can be seen on n2"));
  plan_.cases[0].nodes = 1;  // another case takes the second node, and names nothing
  plan_.cases.emplace_back().nodes = 2;
  EXPECT_THAT(of({node("n1", "NVIDIA H100"), blind}), IsEmpty());
}

TEST_F(ClusterFindings, SayThatNobodyCanAskForDevices) {
  plan_.vendor_data.erase("query");
  const auto found = of({{{"host", "n1"}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_THAT(found[0].advice, HasSubstr("'query'"));
}

TEST_F(ClusterFindings, AskNothingOfNodesOfAService) {
  plan_.cluster.use_launcher(plan::ModelArtsOptions{});
  EXPECT_THAT(of({{{"host", "worker-0"}}}), IsEmpty());
}

TEST_F(ClusterFindings, NameHostsThatAreOneMachine) {
  const auto found = of({node("n1", "NVIDIA H100", "b"), node("alias", "NVIDIA H100", "b"),
                         node("n3", "NVIDIA H100")});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "nodes-apart");
  EXPECT_THAT(found[0].reason, HasSubstr("alias, n1"));
}

TEST_F(ClusterFindings, OfOneMachineAreMeant) {
  plan_.cluster.use_launcher(plan::LocalOptions{});
  EXPECT_THAT(of({node("a", "NVIDIA H100", "b"), node("c", "NVIDIA H100", "b")}), IsEmpty());
}

TEST_F(ClusterFindings, NameHostsThatWereLeftOut) {
  const auto found =
      of({},
         {{{"event", "host_left_out"}, {"host", "n2"}, {"reason", "no route"}, {"instead", "n3"}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "hosts-left-out");
  EXPECT_THAT(found[0].reason, HasSubstr("n2 (n3 took its place) no route"));
}

}  // namespace
}  // namespace assay::judge
