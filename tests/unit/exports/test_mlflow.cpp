#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "exports/mlflow.h"
#include "needs.h"
#include "unit/exports/result_of_one_round.h"
#include "unit/live/run_folder.h"

namespace assay::exports {
namespace {

using live::testing::RunFolder;
using testing::error_of;
using ::testing::HasSubstr;
using testing::result_of_one_round;

class Mlflow : public ::testing::Test {
 protected:
  void SetUp() override {
    python_ = needs::python_with("yaml");
    if (python_.empty()) GTEST_SKIP() << needs::package("python3-yaml");
    run_.append(RunFolder::log(0), RunFolder::step(1, 0.9) + RunFolder::step(2, 0.8));
    run_.append(RunFolder::log(3), RunFolder::step(1, 0.7));
    run_.append("c/round1/n0_noderank0/telemetry.csv",
                fmt::format("mono_ns,wall_ns,source,util,power_w\n1,{},dev1,0.5,300\n",
                            (RunFolder::kStartMs + 7000) * 1'000'000));
  }
  [[nodiscard]] Json read() const {
    const CommandResult read = run_command(
        {python_, ASSAY_SOURCE_DIR "/tests/unit/exports/read_mlflow.py", store().string()});
    EXPECT_TRUE(read.ok()) << read.err;
    return parse_json(read.out, "read_mlflow.py");
  }
  [[nodiscard]] std::filesystem::path store() const { return folder_.path() / "mlruns"; }
  MlflowExport write() const {
    return export_mlflow(RunFiles(run_.path()), result_of_one_round(), store());
  }

  RunFolder run_;
  assay::testing::TemporaryFolder folder_;
  std::string python_;
};

TEST_F(Mlflow, ARoundIsARunOfTheSuitesExperiment) {
  EXPECT_EQ(write().runs, 1U);
  const Json store = read();
  EXPECT_TRUE(store.contains("Default")) << "MLflow logs to it where nothing else is said";
  const Json& run = store["my suite"]["c round 1"];
  EXPECT_EQ(run["status"], 3);
  EXPECT_EQ(run["end_time"].get<std::int64_t>() - run["start_time"].get<std::int64_t>(), 60'000);
  EXPECT_EQ(run["params"]["config.batch_size"], "32");
  EXPECT_EQ(run["tags"]["assay.verdict"], "VALID");
  EXPECT_EQ(run["tags"]["mlflow.runName"], "c round 1");
  EXPECT_EQ(run["metrics"]["result/p_whole"][0][1], 12.5);
}

TEST_F(Mlflow, CurvesHaveTheirHistory) {
  write();
  const Json store = read();
  const Json& metrics = store["my suite"]["c round 1"]["metrics"];
  ASSERT_EQ(metrics["train/loss"].size(), 2U);
  EXPECT_EQ(metrics["train/loss"][0][0], RunFolder::kStartMs + 1000);
  EXPECT_EQ(metrics["train/loss"][1][1], 0.8);
  EXPECT_EQ(metrics["rank3/train/loss"][0][1], 0.7);
  EXPECT_EQ(metrics["n0_0/device1/power_watts"][0], Json({RunFolder::kStartMs + 7000, 300.0, 7}));
}

TEST_F(Mlflow, TrialsHaveCurvesOfTheirOwn) {
  run_.append(RunFolder::log(3),
              fmt::format("[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": 3, "
                          "\"trial\": 7}}, \"metadata\": {{\"time_ms\": {}}}}}\n",
                          RunFolder::kStartMs + 2000));
  write();
  const Json store = read();
  const Json& metrics = store["my suite"]["c round 1"]["metrics"];
  EXPECT_EQ(metrics["rank3/trial7/train/loss"].size(), 1U);
  EXPECT_EQ(metrics["rank3/train/loss"].size(), 1U) << "what is of no trial stays";
}

TEST_F(Mlflow, NothingIsWrittenTwice) {
  write();
  EXPECT_THAT(error_of([&] { return write().runs; }), HasSubstr("is there already"));
}

TEST_F(Mlflow, AnotherRunOfTheSuiteIsOfTheSameExperiment) {
  write();
  judge::RunResult second = result_of_one_round();
  second.run_id = "run2";
  (void)export_mlflow(RunFiles(run_.path()), second, store());
  std::size_t experiments = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store()))
    experiments += entry.path().filename() != ".trash" ? 1 : 0;
  EXPECT_EQ(experiments, 2U);
}

TEST_F(Mlflow, AFolderOfSomethingElseIsLeftAlone) {
  folder_.write("mlruns/thesis.txt", "precious");
  EXPECT_THAT(error_of([&] { return write().runs; }), HasSubstr("not a store of MLflow"));
}

TEST(MlflowKey, IsWhatMlflowAllowsAndStaysInItsFolder) {
  EXPECT_EQ(mlflow_key("train/loss"), "train/loss");
  EXPECT_EQ(mlflow_key("Tokens/p/s: x%"), "Tokens/p/s_ x_");
  EXPECT_EQ(mlflow_key("../../etc/passwd"), "etc/passwd");
  EXPECT_EQ(mlflow_key("/a//b/"), "a/b");
  EXPECT_EQ(mlflow_key("…"), "___");
  EXPECT_EQ(mlflow_key(""), "_");
  EXPECT_EQ(mlflow_key(std::string(1000, 'x')).size(), 250U);
}

}  // namespace
}  // namespace assay::exports
