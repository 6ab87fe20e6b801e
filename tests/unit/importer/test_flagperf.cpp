#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "importer/flagperf.h"
#include "unit/importer/checkout.h"

namespace assay::importer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FlagPerfConfig read(const Checkout& checkout) {
  std::vector<Diagnostic> diagnostics;
  return read_flagperf(checkout.path(), diagnostics);
}

std::string reason(const FlagPerfImport& result, const std::string& key) {
  const auto found =
      std::ranges::find(result.skipped, key, &std::pair<std::string, std::string>::first);
  return found == result.skipped.end() ? "not skipped" : found->second;
}

/// The Error of an import, as the user sees it.
std::string failure(const Checkout& checkout) {
  try {
    static_cast<void>(import_flagperf(checkout.path()));
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
}

TEST(FlagPerf, ReadsClusterAndTestSettings) {
  const Checkout checkout;
  const FlagPerfConfig config = read(checkout);
  EXPECT_THAT(config.cluster.hosts, ElementsAre("127.0.0.1"));
  EXPECT_THAT(config.cluster.hosts_ports, ElementsAre("2222"));
  EXPECT_EQ(config.cluster.master_port, 29511);
  EXPECT_EQ(config.cluster.ssh_port, 22);
  EXPECT_EQ(config.test.vendor, "nvidia");
  EXPECT_EQ(config.test.container_options, " --gpus all");
  EXPECT_EQ(config.test.visible_devices_env, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(config.test.log_path, "/home/FlagPerf/training/result/");
  EXPECT_EQ(config.test.shm_size, "32G");
  EXPECT_EQ(config.test.clear_caches, true);
  EXPECT_EQ(config.cases.size(), 13U);
}

TEST(FlagPerf, TheRootAndTheTrainingFolderAreTheSameCheckout) {
  const Checkout checkout;
  EXPECT_EQ(import_flagperf(checkout.path()).suite_yaml,
            import_flagperf(checkout.training()).suite_yaml);
}

TEST(FlagPerf, ReadsTheVendorsFileOfACase) {
  const Checkout checkout;
  const FlagPerfConfig config = read(checkout);
  const auto bert =
      std::ranges::find(config.cases, "bert:pytorch_1.8:A100:1:8:1", &FlagPerfCase::key);
  ASSERT_NE(bert, config.cases.end());
  EXPECT_EQ(bert->model, "bert");
  EXPECT_EQ(bert->framework, "pytorch_1.8");
  EXPECT_EQ(bert->family, "pytorch");
  EXPECT_EQ(bert->config_file, "config_A100x1x8.py");
  EXPECT_EQ(bert->config.at("eval_batch_size"), 24);  // = train_batch_size of an imported file
  EXPECT_EQ(bert->config.at("learning_rate"), 3.5e-4);
  EXPECT_EQ(bert->config.at("unpad"), true);  // the nearer file wins over config_common
  EXPECT_THAT(bert->not_literal, ElementsAre("grad_scaler"));
  EXPECT_EQ(bert->peak_flops, std::nullopt);
}

TEST(FlagPerf, TheoryflopsIsTheDevicesPeak) {
  const Checkout checkout;
  const FlagPerfConfig config = read(checkout);
  const auto llama =
      std::ranges::find(config.cases, "llama3_8B:megatron:A100:1:8:1", &FlagPerfCase::key);
  ASSERT_NE(llama, config.cases.end());
  EXPECT_EQ(llama->peak_flops, 312e12);
  EXPECT_EQ(llama->config.at("tokenizer_path"), "/workspace/llama3_8b_hf");
}

TEST(FlagPerf, CasesThatFlagPerfWouldDropAreLeftOutWithTheReason) {
  const Checkout checkout;
  const FlagPerfImport result = import_flagperf(checkout.path());
  EXPECT_EQ(result.imported.size(), 8U);
  EXPECT_EQ(result.skipped.size(), 5U);
  EXPECT_EQ(reason(result, "llama3_8B:megatron:TG-V200:1:16:1"),
            "there is no nvidia/llama3_8B-megatron/config/config_TG-V200x1x16.py; VENDOR would "
            "have to be iluvatar");
  EXPECT_EQ(reason(result, "resnet50:pytorch_1.8:A100:1:4:1"),
            "there is no nvidia/resnet50-pytorch/config/config_A100x1x4.py (did you mean "
            "'config_A100x1x2.py'?)");
  EXPECT_EQ(reason(result, "bert:pytorch_1.8:A100:2:8:1"), "it needs 2 nodes, HOSTS has 1");
  EXPECT_EQ(reason(result, "vit:pytorch_1.13:A100:1:8:1"), "there is no benchmarks/vit/pytorch");
  EXPECT_THAT(reason(result, "resnet50:pytorch_1.8:A100"), HasSubstr("the key has 3 fields"));
}

TEST(FlagPerf, ASkippedCaseIsADiagnosticAtItsLine) {
  const Checkout checkout;
  checkout.cases("  'bert:pytorch:A100:1:8:1': '/d',\n  'bert:pytorch:A100:0:8:1': '/d',");
  std::vector<std::string> messages;
  for (const Diagnostic& d : import_flagperf(checkout.path()).diagnostics)
    messages.push_back(to_string(d));
  EXPECT_THAT(messages, Contains(HasSubstr("test_conf.py:4:3: warning: the case "
                                           "bert:pytorch:A100:0:8:1 is left out: nodes must be a "
                                           "whole number from 1 to 100000, got '0'")));
}

TEST(FlagPerf, ACaseWhoseFilePythonRefusesIsLeftOut) {
  const Checkout checkout;
  checkout.cases("'bert:pytorch:A100:1:8:1': '/d', 'resnet50:pytorch:A100:1:2:1': '/d'");
  checkout.write("nvidia/bert-pytorch/config/config_A100x1x8.py", "lr = (1\n");
  EXPECT_THAT(reason(import_flagperf(checkout.path()), "bert:pytorch:A100:1:8:1"),
              HasSubstr("config_A100x1x8.py:1:6: error: '(' is never closed"));
}

TEST(FlagPerf, NoCaseLeftIsAConfigurationErrorThatNamesEachReason) {
  const Checkout checkout;
  checkout.cases("'llama3_8B:megatron:TG-V200:1:16:1': '/d',");
  const std::string what = failure(checkout);
  EXPECT_THAT(what, HasSubstr("test_conf.py:2:1: no case of CASES can be run"));
  EXPECT_THAT(what, HasSubstr("VENDOR would have to be iluvatar"));
  checkout.cases("");
  EXPECT_THAT(failure(checkout), HasSubstr("CASES is empty"));
}

TEST(FlagPerf, MissingAndMistypedSettingsAreNamed) {
  const Checkout checkout;
  checkout.cluster("# HOSTS = ['a']\nSSH_PORT = '22'\n");
  EXPECT_THAT(failure(checkout), HasSubstr("cluster_conf.py: HOSTS is missing"));
  checkout.cluster("HOST = ['a']\n");
  EXPECT_THAT(failure(checkout), HasSubstr("HOSTS is missing (did you mean 'HOST'?)"));
  checkout.cluster("HOSTS = 'a'\n");
  EXPECT_THAT(failure(checkout),
              HasSubstr("cluster_conf.py:1:1: HOSTS must be a list of strings, got a str: a"));
  checkout.cluster("HOSTS = ['a']\nSSH_PORT = '70000'\n");
  EXPECT_THAT(failure(checkout), HasSubstr("cluster_conf.py:2:1: SSH_PORT must be a port"));
  checkout.cluster("HOSTS = []\n");
  EXPECT_THAT(failure(checkout), HasSubstr("at least one host"));
}

TEST(FlagPerf, ANeededSettingThatIsNotALiteralIsNamedWithItsPlace) {
  const Checkout checkout;
  checkout.cluster("import os\nHOSTS = os.environ['HOSTS'].split(',')\n");
  EXPECT_THAT(failure(checkout), HasSubstr("cluster_conf.py:2:1: HOSTS is"));
}

TEST(FlagPerf, ASyntaxErrorInASettingsFileHasItsPlace) {
  const Checkout checkout;
  checkout.cluster("HOSTS = ['a',\nSSH_PORT = 22\n");
  EXPECT_THAT(failure(checkout), HasSubstr("cluster_conf.py:1:9: '[' is never closed"));
}

TEST(FlagPerf, AMissingFolderOrFileIsAnError) {
  const Checkout checkout;
  EXPECT_THROW(static_cast<void>(import_flagperf(checkout.path() / "no")), Error);
  std::filesystem::remove(checkout.training() / "run_benchmarks/config/test_conf.py");
  EXPECT_THROW(static_cast<void>(import_flagperf(checkout.path())), Error);
}

}  // namespace
}  // namespace assay::importer
