// assay-train under the harness, and beside it.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "e2e/harness.h"
#include "ports.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using ::testing::MatchesRegex;
using std::chrono_literals::operator""s;

class Training : public AssayTest {
 protected:
  static constexpr const char* kSettings =
      "train_size: 512\neval_size: 64\nbatch_size: 16\nthreads: 1\nwarmup_steps: 0\nepochs: 0\n";
};

// As a launcher of its own would: ranks by their environment, logs in files.
TEST_F(Training, LogsOfRanksThatNoHarnessStartedAreJudged) {
  const fs::path settings = write("settings.yaml", std::string(kSettings) + "max_steps: 12\n");
  CommandOptions options;
  options.timeout = 100s;
  const CommandResult trained =
      run_command({"bash", "-c",
                   "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$4; cd $1; "
                   "RANK=0 LOCAL_RANK=0 $2/assay-train resnet20 --config $3 > rank0.log & "
                   "RANK=1 LOCAL_RANK=1 $2/assay-train resnet20 --config $3 > rank1.log && wait $!",
                   "bash", folder_.string(), ASSAY_BIN_DIR, settings.string(),
                   std::to_string(testing::reserved_port())},
                  options);
  ASSERT_TRUE(trained.status.ok()) << trained.err;

  const fs::path suite = write("logs.yaml",
                               "telemetry: {enabled: false}\n"
                               "defaults: {rules: {times-within-run: {severity: note}}}\n"
                               "cases:\n"
                               "  - name: elsewhere\n"
                               "    procs: 2\n"
                               "    command: cat " +
                                   folder_.string() + "/rank{rank}.log\n");
  const CommandResult judged = assay({"run", suite.string()});
  EXPECT_EQ(judged.status.code, 0) << judged.out << judged.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_EQ(metrics["steps"]["value"], 12.0);
  EXPECT_EQ(metrics["samples"]["value"], 12.0 * 2 * 16);
  // Times are the log's own: printing it takes no time.
  double logged = 0;
  std::ifstream log(folder_ / "rank0.log");
  for (std::string line; std::getline(log, line);) {
    if (line.find("\"FINISHED\"") == std::string::npos) continue;
    logged = Json::parse(line.substr(line.find('{')))["value"]["train_time"].get<double>();
  }
  EXPECT_NEAR(metrics["train_time"]["value"].get<double>(), logged, 0.2 * logged);
  const std::string before = read_file(latest() / "result.json");
  EXPECT_EQ(assay({"report", latest().string()}).status.code, 0);
  EXPECT_EQ(read_file(latest() / "result.json"), before);
}

TEST_F(Training, TellsWhereTheTimeOfARoundWent) {
  const fs::path suite = write("suite.yaml",
                               "telemetry: {enabled: false}\n"
                               "cases:\n"
                               "  - case: resnet20:libtorch:cpu:1:2:1\n"
                               "    config: {train_size: 512, eval_size: 64, batch_size: 16, "
                               "threads: 1, epochs: 0, max_steps: 6, eval_every: 3, target: 0, "
                               "checkpoint: '" +
                                   (folder_ / "checkpoints").string() + "'}\n");
  const CommandResult run = assay({"run", suite.string()}, 120s);
  const Json round = result()["cases"][0]["rounds"][0];
  ASSERT_EQ(round["status"], "completed") << run.out << run.err;
  std::vector<std::string> parts;
  double sum = 0;
  for (const Json& share : round["time_shares"]) {
    parts.push_back(share["name"]);
    sum += share["seconds"].get<double>();
  }
  EXPECT_NEAR(sum, round["wall_s"].get<double>(), 1e-6);
  EXPECT_THAT(parts, ::testing::IsSupersetOf({"launch", "start", "join", "data", "model",
                                              "first_step", "compute", "communication",
                                              "evaluation", "checkpoint", "end", "collection"}));
  EXPECT_THAT(parts, ::testing::Not(::testing::Contains("unexplained")));
}

TEST_F(Training, AKilledRankIsNamedAndEndsTheRound) {
  const fs::path suite = write("suite.yaml",
                               "telemetry: {enabled: false}\n"
                               "cases:\n"
                               "  - case: resnet20:libtorch:cpu:1:2:1\n"
                               "    config: {train_size: 512, eval_size: 64, batch_size: 16, "
                               "threads: 1, epochs: 0, max_steps: 100000, eval_every: 100000, "
                               "target: 0}\n");
  const pid_t pid = start({"run", suite.string()});
  const auto ranks = [&] {
    std::vector<pid_t> found;
    for (const pid_t one : descendants_of(pid))
      if (read_file_or_empty("/proc/" + std::to_string(one) + "/cmdline").find("assay-train") !=
          std::string::npos)
        found.push_back(one);
    return found;
  };
  const auto trains = [&] {
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "results/latest", ec))
      if (entry.is_regular_file() && entry.path().extension() == ".log" &&
          read_file_or_empty(entry.path()).find("STEP_END") != std::string::npos)
        return true;
    return false;
  };
  ASSERT_TRUE(eventually(trains, 60s));
  const std::vector<pid_t> both = ranks();
  ASSERT_EQ(both.size(), 2U);
  const std::string environment =
      read_file_or_empty("/proc/" + std::to_string(both[1]) + "/environ");
  const std::string rank =
      environment.find(std::string("\0RANK=0", 7)) != std::string::npos ? "0" : "1";
  send_signal(both[1], SIGKILL);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "failed");
  EXPECT_THAT(round["reason"].get<std::string>(), MatchesRegex("rank " + rank + " on .*: SIGKILL"));
  for (const pid_t one : both) EXPECT_FALSE(alive(one));
}

}  // namespace
}  // namespace assay::e2e
