#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "error_of.h"
#include "importer/flagperf.h"
#include "plan/suite.h"
#include "unit/importer/checkout.h"

namespace assay::importer {
namespace {

using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ImportOptions on_host(const std::string& name) {
  ImportOptions options;
  options.local_names = {name};
  return options;
}

/// Imports and reads the suite back with Assay's own strict suite reader.
plan::Suite suite_of(const Checkout& checkout, const ImportOptions& options = {}) {
  return plan::parse_suite(import_flagperf(checkout.path(), options).suite_yaml, "suite.yaml");
}

const plan::SuiteCase& one(const plan::Suite& suite, const std::string& model,
                           const std::string& framework) {
  const auto found = std::ranges::find_if(suite.cases, [&](const plan::SuiteCase& item) {
    return item.model == model && item.framework.starts_with(framework);
  });
  if (found == suite.cases.end()) throw std::runtime_error("no case " + model);
  return *found;
}

Json env_of(const plan::SuiteCase& item) {
  return item.env.json();
}

TEST(FlagPerfSuite, IsAcceptedByAssaysSuiteReader) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  EXPECT_EQ(suite.name, "flagperf-nvidia");
  EXPECT_EQ(suite.vendor, "nvidia");
  EXPECT_EQ(suite.cluster.launcher(), "local");
  EXPECT_EQ(suite.cluster.master_port, 29511);
  ASSERT_EQ(suite.cases.size(), 8U);
  const plan::SuiteCase& resnet = one(suite, "resnet50", "pytorch");
  EXPECT_EQ(resnet.name, "resnet50:pytorch_1.8:A100:1:2:2");
  EXPECT_EQ(resnet.repeats, 2);
  EXPECT_EQ(resnet.data, "/raid/dataset/ImageNet_1k_2012/");
  EXPECT_EQ(resnet.declared.json(),
            Json::parse(R"({"lr": 0.1, "train_batch_size": 32, "eval_batch_size": 32})"));
}

TEST(FlagPerfSuite, PytorchRunsOneScriptPerRankWithFlagPerfsArguments) {
  const Checkout checkout;
  const std::string training = checkout.training().string();
  const plan::Suite suite = suite_of(checkout);
  const plan::SuiteCase& item = one(suite, "resnet50", "pytorch");
  EXPECT_EQ(item.launch, "per-rank");
  EXPECT_EQ(item.workdir, training);
  EXPECT_THAT(
      item.command,
      ElementsAre("python3", "-u", training + "/benchmarks/resnet50/pytorch/run_pretraining.py",
                  "--data_dir", "{data}", "--extern_config_dir",
                  training + "/nvidia/resnet50-pytorch/config", "--extern_config_file",
                  "config_A100x1x2.py", "--vendor", "nvidia", "--enable_extern_config"));
  EXPECT_EQ(env_of(item), Json::parse(R"({"CUDA_VISIBLE_DEVICES": "0,1"})"));
}

TEST(FlagPerfSuite, ExternModulesArePassedOnlyWhereTheyExist) {
  const Checkout checkout;
  checkout.cluster("HOSTS = ['n1', 'n2']\n");
  checkout.cases("'glm:pytorch:R300:2:8:1': '/d'", "kunlunxin");
  const plan::Suite suite = suite_of(checkout);
  const auto& command = suite.cases.at(0).command;
  const auto option = std::ranges::find(command, "--extern_module_dir");
  ASSERT_NE(option, command.end());
  EXPECT_EQ(*(option + 1), checkout.training().string() + "/kunlunxin/glm-pytorch/extern");
}

TEST(FlagPerfSuite, EnvironmentVariablesAreSourcedBeforeTheScript) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const auto& command = one(suite, "bert", "pytorch").command;
  ASSERT_GT(command.size(), 5U);
  EXPECT_EQ(command[0], "bash");
  EXPECT_EQ(command[2], ". " + checkout.training().string() +
                            "/nvidia/bert-pytorch/config/environment_variables.sh || exit 3\n"
                            "exec \"$@\"");
  EXPECT_EQ(command[4], "python3");
}

TEST(FlagPerfSuite, PaddleGetsGlobalTrainerIdsAndDistinctEndpoints) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const plan::SuiteCase& item = one(suite, "gpt3_13B", "paddle");
  EXPECT_EQ(item.launch, "per-rank");
  const Json env = env_of(item);
  EXPECT_EQ(env.at("PADDLE_TRAINERS_NUM"), "{world_size}");
  EXPECT_EQ(env.at("PADDLE_TRAINER_ID"), "{rank}");
  const std::string endpoints = env.at("PADDLE_TRAINER_ENDPOINTS").get<std::string>();
  EXPECT_THAT(endpoints,
              AllOf(HasSubstr("127.0.0.1:29511,127.0.0.1:29512,"), HasSubstr(",127.0.0.1:29518")));
}

TEST(FlagPerfSuite, ThePaddleWrapperPicksTheRanksOwnEndpoint) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const auto& command = one(suite, "gpt3_13B", "paddle").command;
  CommandOptions options;
  options.env = {{"PADDLE_TRAINER_ENDPOINTS", "a:1,b:2,c:3"}, {"PADDLE_TRAINER_ID", "1"}};
  const CommandResult result = run_command(
      {"bash", "-c", command.at(2), "x", "sh", "-c", "echo $PADDLE_CURRENT_ENDPOINT"}, options);
  EXPECT_EQ(result.out, "b:2\n") << result.err;
}

TEST(FlagPerfSuite, DeepspeedUsesTorchrunWithTheRealMasterPort) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const plan::SuiteCase& item = one(suite, "llama2_7b", "deepspeed");
  EXPECT_EQ(item.launch, "per-node");
  EXPECT_EQ(item.workdir, checkout.training().string() + "/benchmarks/llama2_7b/deepspeed");
  EXPECT_THAT(item.command, AllOf(Contains("torchrun"), Contains("--master_port={master_port}"),
                                  Contains("{outdir}/ds_config.json")));
  EXPECT_EQ(item.data, "/raid/dataset/llama2 7b/");
  EXPECT_THAT(item.command.at(2), HasSubstr("NCCL_IB_HCA=mlx5_{0,1}"));
  EXPECT_THAT(item.command.at(2), Not(HasSubstr("NOT_USED")));
}

TEST(FlagPerfSuite, TheDeepspeedWrapperMergesTheVendorsConfigOverTheBenchmarks) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const std::string script =
      expand(one(suite, "llama2_7b", "deepspeed").command.at(2), {}, "script");
  const std::string merged = (checkout.path() / "merged.json").string();
  CommandOptions options;
  options.env = {{"ASSAY_DS_CONFIG", merged}};
  const CommandResult result = run_command({"bash", "-c", script, "x", "true"}, options);
  ASSERT_TRUE(result.status.ok()) << result.err;
  EXPECT_EQ(Json::parse(read_file(merged)),
            Json::parse(R"({"train_batch_size": 64, "zero_optimization": {"stage": 3}})"));
}

TEST(FlagPerfSuite, MegatronPrintsTokensAndHasAPeak) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const plan::SuiteCase& item = one(suite, "llama3_8B", "megatron");
  EXPECT_EQ(item.launch, "per-node");
  EXPECT_EQ(item.peak_flops, 312e12);
  ASSERT_EQ(item.metrics.size(), 3U);
  EXPECT_EQ(item.metrics[0].name, "tokens_per_device");
  EXPECT_THAT(item.command, AllOf(Contains("--node_rank={node_rank}"), Contains("--vendor=nvidia"),
                                  Contains("--log_dir={outdir}")));
  EXPECT_EQ(item.limits.stall, Nanoseconds(0));
}

TEST(FlagPerfSuite, TensorflowGetsItsOwnEnvironment) {
  const Checkout checkout;
  const plan::Suite suite = suite_of(checkout);
  const plan::SuiteCase& item = one(suite, "resnet50", "tensorflow2");
  EXPECT_EQ(item.launch, "per-node");
  EXPECT_EQ(env_of(item).at("FLAGPERF_NODE_RANK"), "{node_rank}");
  EXPECT_EQ(env_of(item).at("FLAGPERF_HOSTS_PORTS"), "2222");
  EXPECT_EQ(item.declared.json().at("model").at("optimizer").at("momentum"), 0.9);
}

TEST(FlagPerfSuite, MindsporeRunsItsShellScript) {
  const Checkout checkout;
  checkout.cases("'resnet50:mindspore:9100:1:8:1': '/d'", "ascend");
  const plan::Suite suite = suite_of(checkout);
  EXPECT_EQ(suite.cases.at(0).command.at(2),
            checkout.training().string() + "/benchmarks/resnet50/mindspore/cluster_offline_run.sh");
}

TEST(FlagPerfSuite, FlagscaleOnSeveralNodesIsStartedOnTheFirst) {
  const Checkout checkout;
  checkout.cluster("HOSTS = ['n1', 'n2']\n");
  checkout.cases("'aquila2_7b:flagscale:A100:2:8:1': '/d'");
  checkout.write("nvidia/aquila2_7b-flagscale/config/config_A100x2x8.py", "seqlength = 2048\n");
  EXPECT_EQ(suite_of(checkout).cases.at(0).launch, "head");
}

TEST(FlagPerfSuite, FlagscalesWorldSizeIsAllProcessesOfAllNodes) {
  const Checkout checkout;
  checkout.cluster("HOSTS = ['n1', 'n2']\n");
  checkout.cases("'aquila2_7b:flagscale:A100:2:8:1': '/d'");
  checkout.write("nvidia/aquila2_7b-flagscale/config/config_A100x2x8.py", "seqlength = 2048\n");
  const plan::Suite suite = suite_of(checkout);
  EXPECT_THAT(suite.cases.at(0).command, ::testing::Contains("--world_size={world_size}"));
}

TEST(FlagPerfSuite, OnlyWhatTheScriptPrintsIsAMetric) {
  const Checkout checkout;
  checkout.cases("'aquila2_7b:flagscale:A100:1:8:1': '/d'");
  checkout.write("nvidia/aquila2_7b-flagscale/config/config_A100x1x8.py", "seqlength = 2048\n");
  const auto names = [&] {
    std::vector<std::string> out;
    const plan::Suite suite = suite_of(checkout);
    for (const plan::OutputMetric& metric : suite.cases.at(0).metrics) out.push_back(metric.name);
    return out;
  };
  EXPECT_EQ(names().size(), 3U);
  checkout.write("benchmarks/aquila2_7b/flagscale/run_pretraining.py", "print('MFU: ', mfu)\n");
  EXPECT_THAT(names(), ::testing::ElementsAre("mfu_printed"));
}

TEST(FlagPerfSuite, CasesAndVendorCanBeChosen) {
  const Checkout checkout;
  checkout.cases("'bert:pytorch:A100:1:8:1': '/d', 'aquila2_7b:flagscale:A100:1:8:1': '/d'");
  checkout.write("nvidia/aquila2_7b-flagscale/config/config_A100x1x8.py", "seqlength = 2048\n");
  ImportOptions options = on_host("x");
  options.cases = {"bert*"};
  EXPECT_EQ(suite_of(checkout, options).cases.size(), 1U);
  options.cases = {"nobody*"};
  EXPECT_THAT(error_of([&] { return suite_of(checkout, options); }),
              HasSubstr("--cases: no case matches 'nobody*'"));
  options.cases.clear();
  options.vendor = "nvidai";
  EXPECT_THAT(error_of([&] { return suite_of(checkout, options); }),
              HasSubstr("did you mean 'nvidia'?"));
}

TEST(FlagPerfSuite, PartsOfTheCheckoutThatAreLeftOutAreNamed) {
  const Checkout checkout;
  checkout.write("../inference/benchmarks/resnet50/x.py", "");
  const FlagPerfImport result = import_flagperf(checkout.training(), on_host("x"));
  std::string said;
  for (const Diagnostic& diagnostic : result.diagnostics) said += to_string(diagnostic) + "\n";
  EXPECT_THAT(said, HasSubstr("inference: note: left out, 1 benchmarks: inference is not"));
}

TEST(FlagPerfSuite, OneHostThatIsThisMachineIsLocal) {
  const Checkout checkout;
  checkout.cases("'bert:pytorch:A100:1:8:1': '/d'");
  checkout.cluster("HOSTS = ['gpu7']\nSSH_PORT = '2200'\n");
  EXPECT_EQ(suite_of(checkout, on_host("gpu7")).cluster.launcher(), "local");
  const plan::Suite remote = suite_of(checkout, on_host("head"));
  EXPECT_EQ(remote.cluster.launcher(), "ssh");
  ASSERT_EQ(remote.cluster.hosts.size(), 1U);
  EXPECT_EQ(remote.cluster.hosts[0].name, "gpu7");
  EXPECT_EQ(std::get<plan::SshOptions>(remote.cluster.options).port, 2200);
}

TEST(FlagPerfSuite, SeveralHostsAreReachedBySsh) {
  const Checkout checkout;
  checkout.cluster("HOSTS = ['10.1.2.3', '10.1.2.4']\n");
  const plan::Suite suite = suite_of(checkout);
  EXPECT_EQ(suite.cluster.launcher(), "ssh");
  EXPECT_EQ(suite.cluster.hosts.size(), 2U);
  EXPECT_EQ(suite.cases.size(), 9U);  // the two-node case has enough hosts now
}

TEST(FlagPerfSuite, AnotherPathOnTheHostsIsUsedInEveryCommand) {
  const Checkout checkout;
  ImportOptions options;
  options.training_on_hosts = "/opt/flag{perf}/training";
  const std::string yaml = import_flagperf(checkout.path(), options).suite_yaml;
  const plan::Suite suite = plan::parse_suite(yaml, "suite.yaml");
  EXPECT_EQ(one(suite, "resnet50", "pytorch").command.at(2),
            "/opt/flag{{perf}}/training/benchmarks/resnet50/pytorch/run_pretraining.py");
  EXPECT_EQ(one(suite, "resnet50", "pytorch").workdir, "/opt/flag{perf}/training");
}

TEST(FlagPerfSuite, TextThatLooksLikeSomethingElseStaysText) {
  const Checkout checkout;
  checkout.cases("'resnet50:pytorch:A100:1:2:1': 'yes: [no] # \"x\"'");
  checkout.write("nvidia/resnet50-pytorch/config/config_A100x1x2.py",
                 "a = '1e5'\nb = 'true'\nc = 'null'\nd = '- x'\ne = 'é\\n\\t\"q\"'\nf = '012'\n"
                 "g = 1e-5\nh = 3.0\ni = None\nj = {'on': [1, 'off']}\nk = 1e999\n");
  const plan::Suite suite = suite_of(checkout);
  EXPECT_EQ(suite.cases.at(0).data, "yes: [no] # \"x\"");
  EXPECT_EQ(suite.cases.at(0).declared.json(),
            Json::parse(R"({"a": "1e5", "b": "true", "c": "null", "d": "- x",
                            "e": "é\n\t\"q\"", "f": "012", "g": 1e-5, "h": 3.0, "i": null,
                            "j": {"on": [1, "off"]}, "k": "inf"})"));
}

TEST(FlagPerfSuite, SettingsThatDoNotApplyAreInTheHeaderAndTheDiagnostics) {
  const Checkout checkout;
  const FlagPerfImport result = import_flagperf(checkout.path());
  EXPECT_THAT(result.suite_yaml, HasSubstr("#   ACCE_CONTAINER_OPT = \" --gpus all\"\n"));
  EXPECT_THAT(result.suite_yaml, HasSubstr("#   FLAGPERF_LOG_LEVEL = \"debug\"\n"));
  EXPECT_THAT(result.suite_yaml, HasSubstr("# Left out: vit:pytorch_1.13:A100:1:8:1: "));
  EXPECT_THAT(result.suite_yaml,
              HasSubstr("# only Python knows these values of config_A100x1x8.py: grad_scaler\n"));
  const bool noted = std::ranges::any_of(result.diagnostics, [](const Diagnostic& d) {
    return d.message.find("SHM_SIZE") != std::string::npos;
  });
  EXPECT_TRUE(noted);
}

TEST(FlagPerfSuite, CachesAreDroppedWhereFlagPerfClearsThem) {
  const Checkout checkout;
  EXPECT_THAT(import_flagperf(checkout.path()).suite_yaml,
              HasSubstr("defaults: {drop_caches: true}\n"));
}

TEST(FlagPerfSuite, AVendorThatAssayDoesNotKnowBecomesCpuWithAWarning) {
  const Checkout checkout;
  ImportOptions options;
  options.known_vendors = {"cpu", "amd"};
  const FlagPerfImport result = import_flagperf(checkout.path(), options);
  EXPECT_THAT(result.suite_yaml, HasSubstr("vendor: cpu\n"));
  const bool warned = std::ranges::any_of(result.diagnostics, [](const Diagnostic& d) {
    return d.severity == Severity::warning &&
           d.message.find("no vendor 'nvidia'") != std::string::npos;
  });
  EXPECT_TRUE(warned);
}

}  // namespace
}  // namespace assay::importer
