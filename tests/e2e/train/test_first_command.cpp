// `assay run` without a suite, on machines with and without devices. The devices are those that a
// stand-in for nvidia-smi lists and a stand-in for assay-train can use.
#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FirstCommand : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    fs::create_directories(bin_);
    for (const char* program : {"assay", "assay-agent"})
      fs::copy_file(fs::path(ASSAY_BIN_DIR) / program, bin_ / program);
  }

  void program(const std::string& name, const std::string& script) const {
    std::ofstream(bin_ / name) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(bin_ / name, fs::perms::owner_all);
  }
  // nvidia-smi lists so many H200s.
  void devices(int count) const {
    std::string script;
    for (int i = 0; i < count; ++i)
      script += "echo 'GPU " + std::to_string(i) + ": NVIDIA H200 (UUID: GPU-" + std::to_string(i) +
                ")'\n";
    program("nvidia-smi", script);
  }
  // assay-train can use so many; what it measures, the CPU computes.
  void train_uses(int count, const std::string& precisions = R"("fp32", "bf16", "fp16")") const {
    std::string list;
    for (int i = 0; i < count; ++i)
      list += std::string(i == 0 ? "" : ",") + R"({"name": "NVIDIA H200", "memory_bytes": 1})";
    program("assay-train", "if [ \"$1\" = --devices ]; then echo '{\"devices\": [" + list +
                               "], \"precisions\": [" + precisions +
                               "]}'; exit; fi\n"
                               "if [ \"$4\" = --find-batch ]; then echo '[PerfLog] {\"event\": "
                               "\"FINISHED\", \"value\": {\"batch_size\": 24, \"why\": \"48 do "
                               "not fit\"}}'; exit; fi\n"
                               "sed 's/\"cuda\"/\"cpu\"/' \"$3\" > config$$.json\n"
                               "exec " ASSAY_BIN_DIR "/assay-train \"$1\" --config config$$.json");
  }

  CommandResult first(std::vector<std::string> args,
                      std::map<std::string, std::string> env = {}) const {
    std::vector<std::string> argv{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder_.string(),
                                  (bin_ / "assay").string()};
    argv.insert(argv.end(), args.begin(), args.end());
    CommandOptions options;
    options.timeout = std::chrono::seconds(120);
    options.env = std::move(env);
    options.env["PATH"] = bin_.string() + ":/usr/bin:/bin";
    return run_command(argv, options);
  }
  Json plan(std::map<std::string, std::string> env = {}) const {
    const CommandResult run = first({"run", "--dry-run", "--format", "json"}, std::move(env));
    EXPECT_EQ(run.status.code, 0) << run.err;
    return Json::parse(run.out)["plan"];
  }

  const fs::path bin_ = folder_ / "bin";
};

TEST_F(FirstCommand, MeasuresTheDevicesThatCanBeUsedAndSaysWhy) {
  devices(2);
  train_uses(2);
  const CommandResult run = first({"run", "--dry-run"});
  EXPECT_EQ(run.status.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("suite gpu-quick: this machine has 2 × NVIDIA H200"));
  EXPECT_THAT(run.err, HasSubstr("left out: gemm-fp8: needs fp8"));
  const Json made = plan();
  EXPECT_EQ(made["vendor"], "nvidia");
  for (const Json& c : made["cases"]) {
    EXPECT_EQ(c["procs"], 2) << c["name"];
    EXPECT_EQ(c["hardware"], "H200") << c["name"];
  }
}

TEST_F(FirstCommand, UsesTheDevicesThatTheUserLeavesVisible) {
  devices(4);
  train_uses(1);
  const Json made = plan({{"CUDA_VISIBLE_DEVICES", "3"}});
  EXPECT_EQ(made["cases"][0]["procs"], 1);
  EXPECT_EQ(made["cases"][0]["env"]["CUDA_VISIBLE_DEVICES"], "3");
  const CommandResult hidden = first({"run", "--dry-run"}, {{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_THAT(hidden.err, HasSubstr("CUDA_VISIBLE_DEVICES hides all of 4 devices"));
  EXPECT_THAT(hidden.out, HasSubstr("suite quick"));
}

TEST_F(FirstCommand, FallsBackToTheCpuWithTheReason) {
  program("nvidia-smi", "echo 'NVIDIA-SMI has failed: no driver' >&2; exit 9");
  train_uses(0);
  const CommandResult broken = first({"run", "--dry-run"});
  EXPECT_EQ(broken.status.code, 0) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("the devices of this machine cannot be used"));
  EXPECT_THAT(broken.err, HasSubstr("NVIDIA-SMI has failed: no driver"));
  EXPECT_THAT(broken.out, HasSubstr("suite quick"));

  devices(1);
  fs::remove(bin_ / "assay-train");
  EXPECT_THAT(first({"run", "--dry-run"}).err, HasSubstr("assay-train is not built"));
  program("assay-train",
          R"(echo '{"devices": [], "problem": "built without CUDA", "advice": "build it"}')");
  EXPECT_THAT(first({"run", "--dry-run"}).err, HasSubstr("built without CUDA (build it)"));
  program("assay-train", "echo garbage; exit 0");
  EXPECT_THAT(first({"run", "--dry-run"}).err, HasSubstr("assay-train failed"));
}

TEST_F(FirstCommand, WithoutTrainingMeasuresWhatNeedsNone) {
  const CommandResult absent = first({"run", "--dry-run"});
  EXPECT_EQ(absent.status.code, 0) << absent.err;
  EXPECT_THAT(absent.err, HasSubstr("assay-train is not here"));
  EXPECT_THAT(absent.out, HasSubstr("suite micro"));
  program("assay-train", "echo 'libtorch.so: cannot open shared object file' >&2; exit 127");
  const CommandResult broken = first({"run", "--dry-run"});
  EXPECT_THAT(broken.err, HasSubstr("assay-train failed: libtorch.so: cannot open"));
  EXPECT_THAT(broken.out, HasSubstr("suite micro"));
}

TEST_F(FirstCommand, ASuiteThatIsNamedDoesNotFallBack) {
  const CommandResult none = first({"run", "gpu-quick", "--dry-run"});
  EXPECT_EQ(none.status.code, 3);
  EXPECT_THAT(none.err, HasSubstr("none can be used"));
  EXPECT_THAT(none.err, HasSubstr("'assay run quick' measures the CPU"));
  EXPECT_FALSE(fs::exists(folder_ / "results"));

  devices(1);
  train_uses(1);
  EXPECT_THAT(first({"run", "quick", "--dry-run"}).err, Not(HasSubstr("H200")));
}

TEST_F(FirstCommand, TheBatchSizeIsFoundOnceAndStandsInThePlan) {
  devices(1);
  train_uses(1);
  const fs::path suite = write(
      "auto.yaml",
      "name: auto\nvendor: nvidia\ntelemetry: {enabled: false}\n"
      "cases:\n  - case: resnet20:libtorch:H200:1:1:2\n    config: {device: cuda, batch_size: "
      "auto, train_size: 96, eval_size: 16, epochs: 0, max_steps: 2, threads: 1}\n");
  const CommandResult run = first({"run", suite.string()});
  EXPECT_THAT(run.err, HasSubstr("24 (48 do not fit)")) << run.out;
  const Json made = read_json(latest() / "plan.json")["cases"][0];
  EXPECT_EQ(made["config"]["batch_size"], 24);
  EXPECT_THAT(made["config_origin"]["batch_size"].get<std::string>(), HasSubstr("48 do not fit"));
  for (const Json& round : result()["cases"][0]["rounds"])
    EXPECT_EQ(round["metrics"]["samples"]["value"], 2 * 24) << round.dump();
  // A plan that is only looked at does not use the device.
  EXPECT_THAT(first({"run", suite.string(), "--dry-run"}).err, Not(HasSubstr("looking for")));
}

TEST_F(FirstCommand, RunsOnAllDevicesAndTheReportSaysWhatWasLeftOut) {
  devices(2);
  train_uses(2);
  const CommandResult run =
      first({"run", "--only", "gemm-fp32", "--only", "gemm-fp8", "--repeat", "1", "--set",
             "config.size=128", "--set", "config.seconds=0.6", "--set", "telemetry.enabled=false"});
  EXPECT_THAT(run.err, HasSubstr("suite gpu-quick")) << run.out;
  const Json made = result();
  ASSERT_EQ(made["cases"].size(), 1U) << run.out << run.err;
  EXPECT_EQ(made["cases"][0]["procs"], 2);
  EXPECT_EQ(made["cases"][0]["rounds"][0]["status"], "completed") << run.out;
  EXPECT_TRUE(made["cases"][0]["rounds"][0]["metrics"].contains("mfu"));
  const auto left = std::ranges::find_if(
      made["findings"], [](const Json& finding) { return finding["rule"] == "case-left-out"; });
  ASSERT_NE(left, made["findings"].end());
  EXPECT_THAT((*left)["reason"].get<std::string>(), HasSubstr("gemm-fp8"));
  EXPECT_EQ((*left)["severity"], "note");
}

}  // namespace
}  // namespace assay::e2e
