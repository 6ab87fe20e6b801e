// What is found out about devices beside their telemetry: the real programs with a fake NVML.

#include <fstream>

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;

namespace {

class DevicesTest : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    ::setenv("ASSAY_NVML_LIBRARY", ASSAY_BIN_DIR "/libfake_nvml.so", 1);
    ::setenv("FAKE_NVML_SCRIPT", (folder_ / "nvml.txt").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ASSAY_NVML_LIBRARY");
    ::unsetenv("FAKE_NVML_SCRIPT");
    AssayTest::TearDown();
  }
  // A suite whose one rank runs `command`.
  fs::path suite(const std::string& command) const {
    return write("suite.yaml",
                 "name: s\nvendor: nvidia\ntelemetry: {interval: 200ms}\ncases:\n"
                 "  - {name: x, command: [/bin/sh, -c, '" +
                     command + "']}\n");
  }
  [[nodiscard]] std::string finding(const std::string& rule) const {
    const Json all = result();
    for (const Json& found : all["findings"])
      if (found["rule"] == rule) return found["reason"];
    return "none";
  }
};

TEST_F(DevicesTest, AreCheckedBeforeTheyAreMeasured) {
  write("nvml.txt", "devices 2\n1 limit 300000\n1 ecc 4\n* app_clock error 13\n");
  const CommandResult run = assay({"check", suite("true").string(), "--format", "json"});
  const Json report = parse_json(run.out, "assay check");
  const auto check = [&](const std::string& id) {
    for (const Json& each : report["nodes"][0]["checks"])
      if (each["id"] == id)
        return each["level"].get<std::string>() + " " + each["seen"].get<std::string>();
    return std::string("absent");
  };
  EXPECT_EQ(run.status.code, 3) << run.err;
  EXPECT_EQ(check("device-state"), "PASS answers");
  EXPECT_THAT(check("driver"), HasSubstr("PASS driver 550.54.14"));
  EXPECT_EQ(check("power-limit"), "WARN device 1: 300 W, 400 W by default");
  EXPECT_EQ(check("ecc"), "FAIL device 1: 4 uncorrected errors since the last reset");
  EXPECT_THAT(check("device-clocks"), HasSubstr("WARN all 2 devices: clock of applications"));
  EXPECT_EQ(check("pcie"), "PASS generation 4 of 4, 16 of 16 lanes");
}

TEST_F(DevicesTest, AreLookedAtBeforeAndAfterARun) {
  write("nvml.txt", "devices 2\n");
  const std::string script = (folder_ / "nvml.txt").string();
  const CommandResult run = assay(
      {"run", suite("echo 1 rows_uncorrected 3 >> " + script + "; echo 0 limit 300000 >> " + script)
                  .string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const Json node = read_json(latest() / "system.json")["nodes"][0];
  EXPECT_EQ(node["device_state"]["devices"][1]["rows_uncorrected"], 0);
  EXPECT_EQ(node["device_state_after"]["devices"][1]["rows_uncorrected"], 3);
  EXPECT_THAT(finding("device-errors"), HasSubstr("device 1: 3 more remapped rows"));
  EXPECT_THAT(finding("device-settings"), HasSubstr("power limit 400 W before, 300 W after"));
  EXPECT_EQ(finding("device-state-known"), "none");
  EXPECT_EQ(finding("seal-fits"), "none");
}

TEST_F(DevicesTest, ThatStayAsTheyWereAreNoFinding) {
  write("nvml.txt", "devices 2\n");
  ASSERT_EQ(assay({"run", suite("true").string()}).status.code, 0);
  for (const Json& found : result()["findings"])
    EXPECT_FALSE(found["rule"].get<std::string>().starts_with("device")) << dump_line(found);
}

TEST_F(DevicesTest, WhoseDriverIsGoneDoNotHoldUpARun) {
  write("nvml.txt", "init error 9\n");
  ASSERT_EQ(assay({"run", suite("true").string()}).status.code, 0);
  EXPECT_THAT(finding("device-state-known"), HasSubstr("Driver Not Loaded"));
}

}  // namespace
}  // namespace assay::e2e
