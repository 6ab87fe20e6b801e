#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "core/text.h"
#include "error_of.h"
#include "importer/apulis.h"
#include "plan/make_plan.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// What the platform's form sends for the Horovod example of its guide.
constexpr const char* kHorovod = R"({
	"userName": "ann", "vcName": "atlas", "jobType": "training", "containerUserId": 0,
	"jobName": "horovod-test",
	"jobtrainingtype": "PSDistJob",
	"gpuType": "nvidia_gpu_amd64",
	"resourcegpu": 8, "numps": 1, "numpsworker": "2",
	"image": "apulistech/horovod:0.19.2-tf2.2.0-torch1.5.0-py3.6.9-gpu",
	"cmd": "horovodrun --network-interface ib0 -np 16 -hostfile /home/ann/ib_config -p $DLWS_SD_worker0_SSH_PORT python keras_mnist_advanced.py && sleep infinity",
	"preemptionAllowed": "True", "jobPriority": 120,
	"interactivePorts": "40000,40001",
	"env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
	"hostNetwork": true, "isPrivileged": true,
	"workPath": "./", "enableworkpath": true, "plugins": {"blobfuse": [], "imagePull": []}
})";

bool says(const ApulisImport& import, const std::string& text) {
  return std::ranges::any_of(import.diagnostics, [&](const Diagnostic& d) {
    return to_string(d).find(text) != std::string::npos;
  });
}

ApulisImport import_job(const std::string& text) {
  return import_apulis_text(text, "job.json");
}

plan::Suite suite_of(const ApulisImport& import) {
  return plan::parse_suite(import.suite_yaml, "suite.yaml");
}

std::string error_in(const std::string& text) {
  return testing::error_of([&] { return import_job(text); });
}

TEST(ImportApulis, TakesTheHorovodExampleOfTheGuide) {
  const ApulisImport import = import_job(kHorovod);
  const plan::Suite suite = suite_of(import);
  EXPECT_EQ(suite.name, "horovod-test");
  EXPECT_EQ(suite.vendor, "nvidia");
  ASSERT_TRUE(suite.container);
  EXPECT_EQ(suite.container->image, "apulistech/horovod:0.19.2-tf2.2.0-torch1.5.0-py3.6.9-gpu");
  ASSERT_EQ(suite.cases.size(), 1U);
  const plan::SuiteCase& only = suite.cases[0];
  EXPECT_EQ(only.nodes, 2);
  EXPECT_EQ(only.procs, 8);
  EXPECT_EQ(only.launch, "head") << "horovodrun starts the others itself";
  EXPECT_THAT(only.command,
              ElementsAre("/bin/sh", "-c",
                          "horovodrun --network-interface ib0 -np 16 -hostfile /home/ann/ib_config "
                          "-p $DLWS_SD_worker0_SSH_PORT python keras_mnist_advanced.py"));
  EXPECT_EQ(only.env.find("NCCL_DEBUG")->text(), "INFO");
  EXPECT_THAT(only.rendezvous, ElementsAre("torchrun", "dlws", "mpi", "horovod"));
}

// The command of the suite that a job with this command becomes, as JSON writes it.
std::string imported_command(const std::string& cmd) {
  const ApulisImport import = import_job(R"({"jobName": "x", "cmd": ")" + cmd + R"("})");
  return suite_of(import).cases.at(0).command.back();
}

TEST(ImportApulis, LeavesOutASleepOnALineOfItsOwn) {
  EXPECT_EQ(imported_command(R"(echo hi\nsleep infinity)"), "echo hi");
  EXPECT_EQ(imported_command(R"(echo hi\nsleep infinity\n)"), "echo hi");
  EXPECT_EQ(imported_command(R"(echo hi;\n\n  sleep infinity ;\n)"), "echo hi");
  EXPECT_EQ(imported_command(R"(echo hi &&\nsleep infinity)"), "echo hi");
  EXPECT_EQ(imported_command(R"(echo hi && \\\n sleep infinity)"), "echo hi");
}

TEST(ImportApulis, LeavesOutASleepBehindTheLineEndsOfAForm) {
  EXPECT_EQ(imported_command(R"(echo hi\r\nsleep infinity\r\n)"), "echo hi");
}

TEST(ImportApulis, LeavesOutASleepWithACommentBehindIt) {
  EXPECT_EQ(imported_command(R"(echo hi\nsleep infinity # keeps it open)"), "echo hi");
  EXPECT_EQ(imported_command(R"(echo hi && sleep infinity  # don't end)"), "echo hi");
  EXPECT_EQ(imported_command(R"(# don't end\necho hi\nsleep infinity\n# the end\n\n)"),
            "# don't end\necho hi");
}

TEST(ImportApulis, KeepsASleepThatTheCommandNeeds) {
  for (const char* cmd :
       {R"(train &\nsleep infinity)", R"(train ||\nsleep infinity)", R"(echo 'a # sleep infinity)",
        R"(sh -c 'a\nsleep infinity # b')", R"(echo \\\nsleep infinity)", R"(nosleep infinity)"})
    EXPECT_THAT(imported_command(cmd), HasSubstr("sleep infinity")) << cmd;
  EXPECT_TRUE(says(import_job(R"({"jobName": "x", "cmd": "train &\nsleep infinity"})"),
                   "will not end by itself"));
}

TEST(ImportApulis, NamesWhatIsLeftOutWithItsPlace) {
  const ApulisImport import = import_job(kHorovod);
  for (const char* text :
       {"job.json:6:32: warning: the suite needs 2 nodes", "'sleep infinity'",
        "'preemptionAllowed' is left out", "'jobPriority' is left out",
        "'interactivePorts' is left out: a suite has no endpoints", "privileged containers",
        "'workPath' is left out", "'vcName' is left out"})
    EXPECT_TRUE(says(import, text)) << text;
  EXPECT_FALSE(says(import, "plugins")) << "there are none";
  EXPECT_FALSE(says(import, "userName"));
}

TEST(ImportApulis, ASuiteOfOneNodeCanBePlanned) {
  const ApulisImport import = import_job(
      R"({"jobName": "one", "cmd": "for i in 0 1; do echo ${i} {rank} {{x}} '{\"a\": 1}'; done", "resourcegpu": 0})");
  const plan::Plan plan =
      plan::make_plan(suite_of(import), catalog::load_catalog({ASSAY_SOURCE_DIR "/conf"}));
  ASSERT_EQ(plan.cases.size(), 1U);
  EXPECT_EQ(expand(plan.cases[0].command.at(2), {}, "command"),
            "for i in 0 1; do echo ${i} {rank} {{x}} '{\"a\": 1}'; done")
      << "the command is meant as it is";
}

TEST(ImportApulis, AnAscendJobRunsOnEachNodeWithARankTable) {
  const plan::Suite suite = suite_of(import_job(R"({"jobName": "ms", "gpuType": "huawei_npu_arm64",
    "jobtrainingtype": "PSDistJob", "numpsworker": 2, "resourcegpu": 8, "image": "mindspore:0.3.0",
    "frameworkType": "mindspore", "codePath": "/code", "cmd": "bash train.sh"})"));
  EXPECT_EQ(suite.vendor, "ascend");
  EXPECT_EQ(suite.cases[0].launch, "per-node");
  EXPECT_THAT(suite.cases[0].rendezvous, ElementsAre("torchrun", "dlws", "hccl"));
  EXPECT_EQ(suite.cases[0].framework, "mindspore");
  EXPECT_EQ(suite.cases[0].env.find("CODE_PATH")->text(), "/code");
}

TEST(ImportApulis, TakesTheParametersOutOfAJobsDetail) {
  const ApulisImport import = import_job(
      R"({"jobId": "3f2a", "jobStatus": "finished", "jobParams": {"jobName": "x", "cmd": "true"}})");
  EXPECT_EQ(suite_of(import).name, "x");
  EXPECT_THAT(error_in(R"({"jobParams": "eyJqb2JOYW1lIjogIngifQ=="})"), HasSubstr("base64 -d"));
}

TEST(ImportApulis, SecretsAreNeverCopied) {
  const ApulisImport import = import_job(R"({"jobName": "x", "cmd": "true",
    "env": [{"name": "HF_TOKEN", "value": "hf_abcdefghijklmnopqrstuvwxyz012345"},
            {"name": "URL", "value": "https://ann:hunter2@example.com/"}],
    "plugins": {"imagePull": [{"registry": "https://r", "username": "ann", "password": "hunter2"}]}})");
  EXPECT_THAT(import.suite_yaml, Not(HasSubstr("hunter2")));
  EXPECT_THAT(import.suite_yaml, Not(HasSubstr("hf_abc")));
  for (const Diagnostic& diagnostic : import.diagnostics)
    EXPECT_THAT(to_string(diagnostic), Not(HasSubstr("hunter2")));
  EXPECT_TRUE(says(import, "the value of HF_TOKEN looks like a secret"));
  EXPECT_TRUE(says(import, "the value of URL looks like a secret"));
  EXPECT_TRUE(says(import, "plugins hold keys and passwords"));
}

TEST(ImportApulis, MountsBecomeTheContainers) {
  const ApulisImport import = import_job(R"({"jobName": "x", "cmd": "true", "image": "i",
    "mountpoints": [{"containerPath": "/data", "hostPath": "/mnt/sets", "subPath": "a", "readOnly": true},
      {"containerPath": "/off", "hostPath": "/off", "enabled": false},
      {"containerPath": "/claim", "pvcName": "c1"}]})");
  EXPECT_EQ(suite_of(import).container->mounts, std::vector<std::string>{"/mnt/sets/a:/data:ro"});
  EXPECT_TRUE(says(import, "the mount at '/claim' has no hostPath"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "image": "i",
                           "mountpoints": [{"containerPath": "/d", "hostPath": "/a/../.."}]})"),
              HasSubstr("not a path that can be mounted"));
}

TEST(ImportApulis, AHyperparameterBecomesASweep) {
  const ApulisImport import = import_job(
      R"({"jobName": "x", "cmd": "train --lr $LR", "hyperparametername": "LR",
          "hyperparameterstartvalue": "0.1", "hyperparameterendvalue": 0.3, "hyperparameterstep": 0.1})");
  EXPECT_TRUE(says(import, "a sweep over 3 values in LR"));
  const plan::Plan plan =
      plan::make_plan(suite_of(import), catalog::load_catalog({ASSAY_SOURCE_DIR "/conf"}));
  std::vector<std::string> rates;
  for (const plan::CasePlan& point : plan.cases) rates.push_back(point.env.at("LR"));
  EXPECT_THAT(rates, ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "hyperparametername": "LR",
      "hyperparameterstartvalue": 1, "hyperparameterendvalue": 0, "hyperparameterstep": 1})"),
              HasSubstr("from 1 to 0 by 1 are not 1 to 1000 values"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "hyperparametername": "LR",
      "hyperparameterstartvalue": 1, "hyperparameterendvalue": 2})"),
              HasSubstr("'hyperparameterstep' should be a number"));
}

TEST(ImportApulis, WhatMakesNoSenseIsAnErrorWithItsPlace) {
  EXPECT_THAT(error_in("[]"), HasSubstr("a job of Apulis is a JSON object"));
  EXPECT_THAT(error_in("{"), HasSubstr("job.json"));
  EXPECT_THAT(error_in("{}"), HasSubstr("neither 'jobName' nor 'cmd'"));
  EXPECT_THAT(error_in(R"({"jobName": "x"})"), HasSubstr("no command"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "sleep infinity"})"),
              HasSubstr("job.json:1:25: the command does nothing but sleep"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "jobtrainingtype": "MPIDistJob"})"),
              HasSubstr("not a kind of job that can be imported: 'MPIDistJob'"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "jobtrainingtype": "PSDistJob"})"),
              HasSubstr("numpsworker"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "cmd": "true", "resourcegpu": -1})"),
              HasSubstr("expected a whole number from 0 to 4096"));
  EXPECT_THAT(
      error_in(R"({"jobName": "x", "cmd": "true", "env": [{"name": "A B", "value": "1"}]})"),
      HasSubstr("not a valid name of a variable: 'A B'"));
  EXPECT_THAT(error_in(R"({"jobName": "x", "jobName": "y", "cmd": "true"})"), HasSubstr("jobName"));
}

TEST(ImportApulis, AFieldThatAJobDoesNotHaveIsNamed) {
  EXPECT_TRUE(says(import_job(R"({"jobName": "x", "cmd": "true", "gputype": "nvidia"})"),
                   "'gputype' is not a field of a job (did you mean 'gpuType'?)"));
}

TEST(ImportApulis, HostileTextStaysText) {
  const ApulisImport import = import_job(
      R"({"jobName": "a\"\n: [x] # \ud83d\ude00 \/", "cmd": "echo \"a\tb\" \u4e2d && \\\nx", "image": "i: {j}"})");
  const plan::Suite suite = suite_of(import);
  EXPECT_THAT(suite.name, HasSubstr("😀 /"));
  EXPECT_EQ(suite.cases[0].command[2], "echo \"a\tb\" 中 && \\\nx");
  EXPECT_EQ(suite.container->image, "i: {j}");
}

TEST(ImportApulis, ReadsAFile) {
  const testing::TemporaryFolder folder;
  const auto file = folder.write("job.json", kHorovod);
  EXPECT_THAT(import_apulis(file).suite_yaml, HasSubstr("horovod-test"));
  EXPECT_NE(testing::error_of([&] { return import_apulis(folder.path() / "none.json"); }),
            "no error");
}

}  // namespace
}  // namespace assay::importer
