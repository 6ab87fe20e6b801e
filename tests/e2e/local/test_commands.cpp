// The commands as a user types them.

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class Commands : public AssayTest {};

constexpr const char* kNullSuite =
    "name: tiny\n"
    "cases:\n"
    "  - case: null:native:cpu:1:2:2\n"
    "    config: {steps: 20, step_ms: 10}\n"
    "    rules: {min-duration: off}\n";

TEST_F(Commands, ARunOfTheNullWorkloadIsValidAndLeavesItsReports) {
  const CommandResult run = assay({"run", write("tiny.yaml", kNullSuite).string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("VALID"));
  EXPECT_THAT(run.out, HasSubstr("report.html"));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b[")));
  for (const char* file : {"plan.json", "journal.jsonl", "system.json", "result.json",
                           "report.html", "results.csv", "junit.xml"})
    EXPECT_TRUE(fs::exists(latest() / file)) << file;
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["ranks"].size(), 2u);
  EXPECT_EQ(round["ranks"][1]["steps"], 20);
  const Json& metrics = round["metrics"];
  const double samples = metrics["samples"]["value"];
  const double throughput = metrics["p_whole"]["value"];
  EXPECT_EQ(samples, 2 * 20 * 32);
  EXPECT_DOUBLE_EQ(throughput, samples / metrics["train_time"]["value"].get<double>());
  // 2 ranks × 32 samples every 10 ms: never faster, and not much slower in at least one round.
  EXPECT_LT(throughput, 6400 * 1.1);
  double best = 0;
  const Json rounds = result()["cases"][0]["rounds"];
  for (const Json& one : rounds)
    best = std::max(best, one["metrics"]["p_whole"]["value"].get<double>());
  EXPECT_GT(best, 6400 * 0.6);
}

TEST_F(Commands, ReportGivesTheSameBytesAfterTheDerivedFilesWereDeleted) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kNullSuite).string()}).status.code, 0);
  const std::string before = read_file(latest() / "result.json");
  const std::string page = read_file(latest() / "report.html");
  fs::remove(latest() / "result.json");
  fs::remove(latest() / "report.html");
  ASSERT_EQ(assay({"report", "results/latest"}).status.code, 0);
  EXPECT_EQ(read_file(latest() / "result.json"), before);
  EXPECT_EQ(read_file(latest() / "report.html"), page);
}

TEST_F(Commands, DryRunShowsEveryRankAndWritesNothing) {
  const fs::path suite = write("tiny.yaml", kNullSuite);
  const CommandResult run = assay({"run", suite.string(), "--dry-run", "--format", "json"});
  ASSERT_EQ(run.status.code, 0) << run.err;
  const Json shown = Json::parse(run.out);
  const Json& node = shown["execution"]["rounds"][1]["nodes"][0];
  EXPECT_EQ(node["ranks"].size(), 2u);
  EXPECT_EQ(node["ranks"][1]["env"]["RANK"], "1");
  EXPECT_EQ(node["env"]["WORLD_SIZE"], "2");
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  EXPECT_THAT(assay({"run", suite.string(), "--dry-run"}).out, HasSubstr("assay-micro"));
}

TEST_F(Commands, AnUnknownKeyIsAnErrorWithPlaceAndSuggestion) {
  const fs::path suite = write("bad.yaml", "name: x\ncasez:\n  - null:native:cpu:1:1:1\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("bad.yaml:2:1"));
  EXPECT_THAT(run.err, HasSubstr("did you mean 'cases'?"));
}

TEST_F(Commands, AWrongTypeADuplicateCaseAndABadKeyAreConfigurationErrors) {
  for (const char* text :
       {"name: x\ntelemetry: {interval: fast}\ncases: [null:native:cpu:1:1:1]\n",
        "name: x\ncases: [null:native:cpu:1:1:1, null:native:cpu:1:1:1]\n",
        "name: x\ncases: [null:native:cpu:1:1]\n", "name: x\ncases: [null:native:cpu:0:1:1]\n", "",
        "cases: [", "\x00\x01"}) {
    const CommandResult run = assay({"run", write("bad.yaml", text).string()});
    EXPECT_EQ(run.status.code, 2) << text << run.out << run.err;
    EXPECT_THAT(run.err, HasSubstr("bad.yaml")) << text;
  }
}

TEST_F(Commands, UsageErrorsExitWithTwo) {
  EXPECT_EQ(assay({}).status.code, 2);
  EXPECT_EQ(assay({"frobnicate"}).status.code, 2);
  EXPECT_EQ(assay({"run", "no-such-suite"}).status.code, 2);
  EXPECT_EQ(assay({"report", "no-such-run"}).status.code, 2);
  EXPECT_EQ(assay({"list", "unicorns"}).status.code, 2);
  EXPECT_EQ(assay({"run", "--resume", "."}).status.code, 2);
  EXPECT_EQ(assay({"--help"}).status.code, 0);
  EXPECT_EQ(assay({"run", "--help"}).status.code, 0);
}

TEST_F(Commands, UsageErrorsBeginLikeAllOthers) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"run", "--no-such-option"},
                                             {"run", "quick", "--repeat", "many"},
                                             {"run", "--failed"},
                                             {"run", "quick", "--format", "json"},
                                             {"run", "--resume", "x", "--set", "a=b"},
                                             {"logs", "--round"}}) {
    const CommandResult run = assay(args);
    EXPECT_EQ(run.status.code, 2);
    EXPECT_THAT(run.err, StartsWith("assay: error: ")) << run.err;
    EXPECT_THAT(run.err, HasSubstr(" --help'")) << run.err;
    EXPECT_EQ(run.out, "");
  }
  EXPECT_THAT(assay({"run", "--failed"}).err, HasSubstr("see 'assay run --help'"));
}

TEST_F(Commands, AFullOutputIsAnErrorThatIsSaid) {
  for (const char* command : {"list metrics", "--help", "--version", "run quick --dry-run"}) {
    const CommandResult run = run_command(
        {"/bin/sh", "-c", std::string(ASSAY_BIN_DIR) + "/assay " + command + " >/dev/full"}, {});
    EXPECT_EQ(run.status.code, 3) << command << run.err;
    EXPECT_THAT(run.err, StartsWith("assay: error: stdout: cannot write")) << command;
    EXPECT_THAT(run.err, HasSubstr("No space left")) << command;
  }
  const CommandResult gone = run_command(
      {"/bin/sh", "-c", std::string(ASSAY_BIN_DIR) + "/assay list metrics | head -n1"}, {});
  EXPECT_EQ(gone.status.code, 0);
  EXPECT_EQ(gone.err, "");
}

TEST_F(Commands, ASuiteIsAFile) {
  fs::create_directory(folder_ / "suites");
  CommandResult run = assay({"run", (folder_ / "suites").string()});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("suites: is a folder, not a suite"));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* command : {"run", "check"}) {
    run = assay({command, (folder_ / "fifo").string()});
    EXPECT_EQ(run.status.code, 2);
    EXPECT_THAT(run.err, HasSubstr("fifo: not a regular file"));
  }
  run = assay({"run", std::string(5000, 'x')});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no suite"));
}

TEST_F(Commands, AMisspeltCommandIsNamedWithItsLikelyMeaning) {
  const CommandResult run = assay({"rnu"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no command 'rnu' (did you mean 'run'?)"));
}

TEST_F(Commands, AMisspeltPartOfACommandIsNamedWithThoseThatThereAre) {
  CommandResult run = assay({"export", "parquet", "results/latest"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no command 'export parquet'"));
  EXPECT_THAT(run.err, HasSubstr("openmetrics"));
  run = assay({"completion", "bahs"});
  EXPECT_THAT(run.err, HasSubstr("there is no command 'completion bahs' (did you mean 'bash'?)"));
}

TEST_F(Commands, ListNamesASuiteThatCannotBeReadAndListsTheOthers) {
  write_file_atomic(conf() / "suites/broken.yaml", "cases: [\n");
  const CommandResult run = assay({"list", "suites"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.out, HasSubstr("conf/suites/quick.yaml"));
  EXPECT_THAT(run.err, HasSubstr("broken.yaml"));
}

TEST_F(Commands, OpsCountsAsAIPerfAndExactlyByLayer) {
  const CommandResult text = assay({"ops", "resnet50", "--by-kind"});
  ASSERT_EQ(text.status.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("7,806,583,495"));
  EXPECT_THAT(text.out, HasSubstr("15,246,874,820"));
  EXPECT_THAT(text.out, HasSubstr("StubConv2d"));
  const Json json = Json::parse(assay({"ops", "resnet50", "--format", "json"}).out);
  EXPECT_EQ(json["layers"].size(), 174U);
  EXPECT_EQ(json["layers"][0]["input"], "224×224×3");
  EXPECT_EQ(json["total"]["aiperf"]["forward"], 7'806'583'495);
  std::int64_t exact = json["sums_at_nodes"]["exact"]["backward"];
  for (const Json& layer : json["layers"]) exact += layer["exact"]["backward"].get<std::int64_t>();
  EXPECT_EQ(json["total"]["exact"]["backward"], exact);
  // As a trial with a kernel of 3 would be trained.
  EXPECT_THAT(assay({"ops", "resnet50", "--kernel-size", "3"}).out, HasSubstr("7,613,907,655"));
  const CommandResult unknown = assay({"ops", "resnet51"});
  EXPECT_EQ(unknown.status.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("resnet51"));
  EXPECT_EQ(assay({"ops", "nowhere.json"}).status.code, 3);
}

TEST_F(Commands, CheckProbesThisMachine) {
  const CommandResult run = assay({"check", "quick", "--format", "json"});
  ASSERT_TRUE(run.status.code == 0 || run.status.code == 3) << run.err;
  const Json shown = Json::parse(run.out);
  EXPECT_GE(shown["nodes"][0]["checks"].size(), 5u);
}

TEST_F(Commands, ADetachedRunGoesOnByItselfAndStopEndsIt) {
  const fs::path suite = script_suite("touch " + (folder_ / "began").string() + "; sleep 60");
  const CommandResult run = assay({"run", "--detach", suite.string()});
  ASSERT_EQ(run.status.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("running as process"));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "began"); }, 20s));
  EXPECT_EQ(assay({"stop", latest().string()}).status.code, 0);
  // Its last word, after every report is written.
  EXPECT_TRUE(eventually([&] {
    return read_file_or_empty(latest() / "controller.log").find("Report: ") != std::string::npos;
  }));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "interrupted");
}

TEST_F(Commands, TopShowsARunningRunAndStopEndsIt) {
  const fs::path suite = script_suite("while :; do echo tick; sleep 0.1; done\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json");
  }));
  EXPECT_THAT(assay({"top", "--once"}).out, HasSubstr("probe"));
  const CommandResult stopped = assay({"stop", "results/latest"});
  EXPECT_EQ(stopped.status.code, 0) << stopped.err;
  const auto status = wait(pid, 5s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(assay({"top", "--once"}).out, HasSubstr("not running"));
}

TEST_F(Commands, StopNowDoesNotWaitOutTheGrace) {
  const fs::path suite = script_suite(
      "trap '' TERM; touch " + (folder_ / "began").string() + "; while :; do sleep 0.2; done\n",
      "    limits: {grace: 10m}\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "began"); }, 30s));
  const CommandResult stopped = assay({"stop", latest().string(), "--now"});
  EXPECT_EQ(stopped.status.code, 0) << stopped.err;
  const auto status = wait(pid, 30s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "interrupted");
}

TEST_F(Commands, LogsListsAndPrintsOneRank) {
  ASSERT_EQ(assay({"run", script_suite("echo hello from $RANK\n", "    procs: 2\n").string()})
                .status.code,
            0);
  EXPECT_THAT(assay({"logs", "results/latest"}).out, HasSubstr("rank 1"));
  EXPECT_EQ(assay({"logs", "results/latest", "--rank", "1"}).out, "hello from 1\n");
  EXPECT_EQ(assay({"logs", "results/latest", "--rank", "9"}).status.code, 2);
}

TEST_F(Commands, ACommandsOwnMetricIsReadFromItsOutput) {
  const fs::path suite = script_suite(
      "echo 'Tokens/p/s: 100'\necho 'Tokens/p/s: 200.5'\n",
      "    procs: 2\n"
      "    metrics: {throughput: {match: 'Tokens/p/s: *([0-9.]+)', unit: tokens/s/device, "
      "better: higher}}\n");
  ASSERT_EQ(assay({"run", suite.string()}).status.code, 0);
  const Json metric = result()["cases"][0]["rounds"][0]["metrics"]["throughput"];
  EXPECT_EQ(metric["value"], 200.5);
  EXPECT_EQ(metric["unit"], "tokens/s/device");
}

TEST_F(Commands, TwoNodesOnOneMachineGetTheirRanks) {
  write("rank.sh", "echo rank $RANK of $WORLD_SIZE on node $NODE_RANK master $MASTER_ADDR\n");
  const fs::path suite =
      write("two.yaml",
            "name: two\ncluster: {launcher: local, hosts: [alpha, beta]}\ncases:\n"
            "  - {name: pair, nodes: 2, procs: 2, command: [/bin/sh, " +
                (folder_ / "rank.sh").string() + "]}\n");
  const CommandResult run = assay({"run", suite.string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(read_file(latest() / "pair/round1/beta_noderank1/rank3.out.log"),
            "rank 3 of 4 on node 1 master 127.0.0.1\n");
}

TEST_F(Commands, AnImportedFlagPerfCheckoutRuns) {
  const auto put = [&](const std::string& name, const std::string& content) {
    fs::create_directories((folder_ / "flagperf/training" / name).parent_path());
    write("flagperf/training/" + name, content);
  };
  put("run_benchmarks/config/cluster_conf.py", "HOSTS = ['127.0.0.1']\nMASTER_PORT = '29501'\n");
  put("run_benchmarks/config/test_conf.py",
      "VENDOR = 'nvidia'\nACCE_VISIBLE_DEVICE_ENV_NAME = 'CUDA_VISIBLE_DEVICES'\n"
      "CASES = {'toy:pytorch_1.13:A100:1:2:1': '/data/toy'}\n");
  put("nvidia/toy-pytorch/config/config_A100x1x2.py", "train_batch_size = 4\n");
  // What a FlagPerf case prints, with FlagPerf's own metadata.
  put("benchmarks/toy/pytorch/run_pretraining.py", R"(
import json, os, sys, time
def log(event, value=None, **extra):
    line = {"event": event, **({"value": value} if value is not None else {}), **extra,
            "metadata": {"file": "run_pretraining.py", "lineno": 1, "time_ms": int(time.time() * 1000),
                         "rank": int(os.environ["RANK"])}}
    print("[PerfLog]", json.dumps(line), flush=True)
assert sys.argv[sys.argv.index("--data_dir") + 1] == "/data/toy", sys.argv
assert os.environ["WORLD_SIZE"] == "2" and os.environ["MASTER_PORT"] == "29501"
log("TRAIN_START")
for step in range(1, 13):
    time.sleep(0.05)
    log("STEP_END", {"loss": 1.0 / step, "num_trained_samples": step * 8}, step=step)
log("TRAIN_END")
log("FINISHED", {"converged": True, "raw_train_time": 0.6})
)");
  const CommandResult imported =
      assay({"import", "flagperf", (folder_ / "flagperf").string(), "--out", "suite.yaml"});
  ASSERT_EQ(imported.status.code, 0) << imported.out << imported.err;
  const CommandResult run = assay({"run", "suite.yaml"});
  // It runs; that it is no A100's result is said, where there is none.
  EXPECT_THAT(run.status.code, AnyOf(5, 6)) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("cases name the hardware A100"));
  EXPECT_EQ(result()["cases"][0]["validity"], "VALID");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["ranks"][0]["steps"], 12);
  EXPECT_EQ(round["ranks"][1]["steps"], 12);
  EXPECT_EQ(round["metrics"]["samples"]["value"], 96);
}

TEST_F(Commands, TheSuiteSaysWhoHandsTheResultIn) {
  write("suite.yaml", std::string(kNullSuite) + "submission: {org: Acme, division: closed}\n");
  ASSERT_EQ(assay({"run", "suite.yaml", "--repeat", "1"}).status.code, 0);
  const std::string log = read_file(latest() / "mllog/null:native:cpu:1:2:2_round1.txt");
  EXPECT_THAT(log, HasSubstr(R"("key": "submission_org", "value": "Acme")"));
  EXPECT_THAT(log, HasSubstr(R"("key": "submission_division", "value": "closed")"));
}

TEST_F(Commands, ATooSmallClusterIsAConfigurationError) {
  const CommandResult run =
      assay({"run", write("big.yaml", "name: big\ncases: [null:native:cpu:2:1:1]\n").string()});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("wants 2 nodes"));
}

TEST_F(Commands, FiveHundredTwelveRanksAreStartedSupervisedAndJudged) {
  const fs::path suite = write("many.yaml",
                               "name: many\ncases:\n  - case: null:native:cpu:1:512:1\n"
                               "    config: {steps: 10, step_ms: 200}\n"
                               "    rules: {min-duration: off}\n");
  const CommandResult run = assay({"run", suite.string()}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  ASSERT_EQ(round["ranks"].size(), 512u);
  for (const Json& rank : round["ranks"]) {
    EXPECT_EQ(rank["exit"]["code"], 0);
    EXPECT_EQ(rank["steps"], 10);
  }
}

}  // namespace assay::e2e
