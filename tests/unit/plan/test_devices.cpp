// The suite that fits a machine, and suites that depend on its devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/device_suite.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::small_catalog;

DeviceSearch usable(const std::string& vendor, int count, const std::string& name) {
  DeviceSearch search;
  search.devices.vendor = search.devices.hardware = vendor;
  search.devices.count = count;
  search.devices.name = name;
  return search;
}

DeviceSearch unusable(const std::string& vendor, const std::string& problem) {
  DeviceSearch search = usable(vendor, 0, "");
  search.problem = problem;
  search.advice = "repair it";
  return search;
}

TEST(ChooseSuite, AMachineWithoutDevicesIsMeasuredByItsCpu) {
  const SuiteChoice choice = choose_suite({});
  EXPECT_EQ(choice.suite, "quick");
  EXPECT_FALSE(choice.devices);
  EXPECT_THAT(choice.lines, ElementsAre(HasSubstr("no accelerator")));
}

TEST(ChooseSuite, DevicesThatCanBeUsedAreMeasured) {
  const SuiteChoice choice = choose_suite({usable("nvidia", 8, "NVIDIA H200")});
  EXPECT_EQ(choice.suite, "gpu-quick");
  ASSERT_TRUE(choice.devices);
  EXPECT_EQ(choice.devices->count, 8);
  EXPECT_THAT(choice.lines, ElementsAre(HasSubstr("8 × NVIDIA H200")));
}

TEST(ChooseSuite, FallingBackToTheCpuSaysWhyAndWhatToDo) {
  const SuiteChoice choice = choose_suite({unusable("nvidia", "the driver does not answer")});
  EXPECT_EQ(choice.suite, "quick");
  EXPECT_FALSE(choice.devices);
  EXPECT_THAT(choice.lines,
              ElementsAre(HasSubstr("the devices of this machine cannot be used"),
                          HasSubstr("nvidia: the driver does not answer (repair it)")));
}

TEST(ChooseSuite, TheVendorWithMostDevicesIsMeasuredAndTheOthersAreNamed) {
  const SuiteChoice choice =
      choose_suite({usable("amd", 1, "MI210"), usable("nvidia", 4, "NVIDIA A100"),
                    unusable("ascend", "npu-smi fails")});
  EXPECT_EQ(choice.devices->vendor, "nvidia");
  EXPECT_THAT(choice.lines, ElementsAre(HasSubstr("4 × NVIDIA A100"), HasSubstr("1 × MI210"),
                                        HasSubstr("ascend: npu-smi fails")));
}

TEST(ChooseSuite, NotesAboutTheDevicesAreSaid) {
  DeviceSearch search = usable("nvidia", 2, "NVIDIA A100");
  search.notes = {"the devices differ"};
  EXPECT_THAT(choose_suite({search}).lines,
              ElementsAre(HasSubstr("2 × NVIDIA A100"), HasSubstr("the devices differ")));
}

class DeviceSuiteTest : public ::testing::Test {
 protected:
  DeviceSuiteTest() {
    devices_.vendor = "acme";
    devices_.hardware = "X1";
    devices_.name = "ACME X1";
    devices_.count = 4;
    devices_.precisions = {"fp32", "fp16"};
  }

  Plan plan(const std::string& yaml, std::vector<std::string> set = {},
            std::vector<std::string> only = {}) {
    PlanOptions options;
    options.overrides = std::move(set);
    options.only = std::move(only);
    options.run_id = "run1";
    options.find_devices = [this](const std::string& vendor, bool built_in) {
      ++asked_;
      vendor_ = vendor;
      built_in_ = built_in;
      return devices_;
    };
    return make_plan(testing::suite(yaml), small_catalog(), options);
  }

  Devices devices_;
  int asked_ = 0;
  std::string vendor_ = "not asked";
  bool built_in_ = false;
};

TEST_F(DeviceSuiteTest, VendorHardwareAndProcessesAreFilledInAsNumbers) {
  const Plan made = plan(
      "vendor: auto\ncases: [{name: a, model: train, procs: devices}, {name: b, model: train}]");
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(vendor_, "");
  EXPECT_TRUE(built_in_);
  EXPECT_EQ(made.vendor, "acme");
  EXPECT_EQ(made.cases[0].procs, 4);
  EXPECT_EQ(made.cases[0].hardware, "X1");
  EXPECT_EQ(made.cases[0].origin.at("procs"), "found on this machine");
  EXPECT_EQ(made.cases[0].peak_flops, 100e12);
  EXPECT_EQ(made.cases[1].procs, 1);
  EXPECT_EQ(to_json(made)["cases"][0]["procs"], 4);
}

TEST_F(DeviceSuiteTest, ASuiteThatDoesNotAskForDevicesDoesNotLookForThem) {
  (void)plan("vendor: acme\ncases: [{name: a, model: train, procs: 2}]");
  EXPECT_EQ(asked_, 0);
}

TEST_F(DeviceSuiteTest, ANamedVendorIsTheOnlyOneThatIsLookedFor) {
  const Plan made =
      plan("vendor: acme\ncases: [{name: a, command: run, procs: devices, hardware: X9}]");
  EXPECT_EQ(vendor_, "acme");
  EXPECT_FALSE(built_in_);
  EXPECT_EQ(made.cases[0].hardware, "X9");
}

TEST_F(DeviceSuiteTest, ProcessesByDevicesCanBeSetOnTheCommandLine) {
  const Plan made = plan("vendor: acme\ncases: ['train:native:X1:1:1:3']", {"procs=devices"});
  EXPECT_EQ(made.cases[0].procs, 4);
  EXPECT_EQ(made.cases[0].name, "train:native:X1:1:1:3");
}

TEST_F(DeviceSuiteTest, TheRanksSeeTheDevicesThatTheUserSees) {
  devices_.visible = "2,3,5,7";
  const char* const suite = "vendor: auto\ncases: [{name: a, model: train, procs: devices}]";
  EXPECT_EQ(plan(suite).cases[0].env.at("ACME_VISIBLE_DEVICES"), "2,3,5,7");
  EXPECT_EQ(plan(suite, {"env.ACME_VISIBLE_DEVICES=1"}).cases[0].env.at("ACME_VISIBLE_DEVICES"),
            "1");
  devices_.visible.clear();
  EXPECT_FALSE(plan(suite).cases[0].env.contains("ACME_VISIBLE_DEVICES"));
}

TEST_F(DeviceSuiteTest, CasesThatNeedMoreAreLeftOutWithTheReason) {
  const Plan made = plan(
      "vendor: auto\n"
      "cases:\n"
      "  - {name: four, model: train, needs: {devices: 4}}\n"
      "  - {name: five, model: train, needs: {devices: 5}}\n"
      "  - {name: half, model: train, needs: {precision: fp16, lacks: bf16}}\n"
      "  - {name: eighth, model: train, needs: {precision: fp8}}\n"
      "  - {name: old, model: train, needs: {lacks: fp16}}\n");
  ASSERT_EQ(made.cases.size(), 2U);
  EXPECT_EQ(made.cases[0].name, "four");
  EXPECT_EQ(made.cases[1].name, "half");
  ASSERT_EQ(made.left_out.size(), 3U);
  EXPECT_EQ(made.left_out[0].name, "five");
  EXPECT_EQ(made.left_out[0].reason, "needs 5 devices, there are 4");
  EXPECT_THAT(made.left_out[1].reason, HasSubstr("fp8"));
  EXPECT_THAT(made.left_out[2].reason, HasSubstr("is for devices without fp16"));
  EXPECT_THAT(render_text(made), HasSubstr("five: needs 5 devices"));
  const Plan again = plan_from_json(to_json(made), "plan.json");
  ASSERT_EQ(again.left_out.size(), 3U);
  EXPECT_EQ(again.left_out[0].reason, made.left_out[0].reason);
}

TEST_F(DeviceSuiteTest, NothingLeftToRunIsAnError) {
  devices_.count = 1;
  EXPECT_THAT(error_of([&] {
                (void)plan("vendor: auto\ncases: [{name: a, model: train, needs: {devices: 2}}]");
              }),
              HasSubstr("a needs 2 devices, there is 1"));
}

TEST_F(DeviceSuiteTest, AClustersDevicesAreNotThoseOfThisMachine) {
  EXPECT_THAT(error_of([&] {
                (void)plan(
                    "vendor: auto\ncluster: {launcher: ssh, hosts: [n1]}\n"
                    "cases: [{name: a, model: train}]");
              }),
              HasSubstr("runs on others"));
}

TEST_F(DeviceSuiteTest, WhatIsNeitherANumberNorDevicesIsRefused) {
  EXPECT_THAT(error_of([&] { (void)plan("cases: [{name: a, model: train, procs: device}]"); }),
              HasSubstr("'device'"));
  EXPECT_THAT(
      error_of([&] { (void)plan("cases: [{name: a, model: train, needs: {precision: fp7}}]"); }),
      HasSubstr("fp7"));
}

TEST(DeviceSuite, SaysWhereItAsksForDevicesThatAreNotThere) {
  PlanOptions options;
  options.find_devices = [](const std::string&, bool) -> Devices {
    throw Error(ErrorKind::environment, "none can be used");
  };
  const auto error = [&](const std::string& text) {
    return error_of(
        [&] { return make_plan(testing::suite(text), testing::small_catalog(), options); });
  };
  EXPECT_THAT(error("name: s\nvendor: auto\ncases: [{name: a, command: x}]"),
              HasSubstr("s.yaml:2:9: none can be used"));
  EXPECT_THAT(error("name: s\nvendor: cpu\ncases:\n  - {name: b, command: x}\n"
                    "  - {name: a, command: x, procs: devices}"),
              HasSubstr("s.yaml:5:34: none can be used"));
}

// What is shipped, on devices as H200s are.
class GpuSuites : public ::testing::TestWithParam<const char*> {
 protected:
  static Plan plan(int count, std::vector<std::string> precisions) {
    const std::filesystem::path conf = std::filesystem::path(ASSAY_SOURCE_DIR) / "conf";
    PlanOptions options;
    options.run_id = "run1";
    options.find_devices = [&](const std::string&, bool) {
      return Devices{"nvidia", "H200", "NVIDIA H200", count, "", precisions};
    };
    return make_plan(load_suite(conf / "suites" / (std::string(GetParam()) + ".yaml")),
                     catalog::load_catalog({conf}), options);
  }
  static std::vector<std::string> left_out(const Plan& made) {
    std::vector<std::string> names;
    for (const LeftOut& left : made.left_out) names.push_back(left.name);
    return names;
  }
  const std::vector<std::string> all_{"fp64", "fp32", "tf32", "bf16", "fp16", "fp8"};
};

TEST_P(GpuSuites, EveryCaseOfADevicesPrecisionKnowsItsPeak) {
  const Plan made = plan(8, all_);
  EXPECT_EQ(made.vendor, "nvidia");
  for (const CasePlan& c : made.cases) {
    EXPECT_EQ(c.config.at("device"), "cuda") << c.name << ": the CPU would do silently";
    if (c.model == "gemm" || c.model.starts_with("resnet") || c.model.starts_with("bert")) {
      EXPECT_TRUE(c.peak_flops) << c.name;
    }
  }
}

TEST_P(GpuSuites, OneDeviceHasNoCollective) {
  const Plan made = plan(1, all_);
  for (const CasePlan& c : made.cases) EXPECT_EQ(c.procs, 1) << c.name;
  EXPECT_THAT(left_out(made), ::testing::Contains("allreduce"));
}

TEST_P(GpuSuites, ADeviceWithoutBf16TrainsInFp16) {
  const Plan made = plan(1, {"fp64", "fp32", "fp16"});
  EXPECT_THAT(left_out(made), ::testing::IsSupersetOf({"gemm-tf32", "gemm-bf16", "gemm-fp8"}));
  EXPECT_TRUE(std::ranges::any_of(made.cases, [](const CasePlan& c) {
    return c.model == "resnet50" && c.config.at("precision") == "fp16";
  }));
}

INSTANTIATE_TEST_SUITE_P(Shipped, GpuSuites, ::testing::Values("gpu-quick", "gpu-acceptance"));

}  // namespace
}  // namespace assay::plan
