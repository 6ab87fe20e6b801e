#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "importer/modelarts_package.h"
#include "plan/suite.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConfig = R"(from easydict import EasyDict as ed
access_config = ed({
    'access_key': 'AKIASECRETACCESS',
    'secret_access_key': 'the-secret-of-the-account',
    'server': 'https://obs.cn-north-4.myhuaweicloud.com:443',
    'region_name': 'cn-north-4',
    'project_id': '0a1b2c',
    'iam_endpoint': '', 'obs_endpoint': '', 'modelarts_endpoint': '',
})
session_config = ed({
    'hyperparameters': [{'label': 'old', 'value': '1'}],
    'inputs': '/bucket/data/', 'code_dir': '/bucket/old/', 'boot_file': '/bucket/old/train.py',
    'job_name': "aisbench-debug", 'framework_type': 'Ascend-Powered-Engine',
    'framework_version': 'MindSpore-1.3', 'pool_id': None,
    'train_instance_type': 'modelarts.kat1.8xlarge', 'train_instance_count': 2,
})
session_config_v2 = ed({
    'parameters': [
        {'name': 'enable_modelarts', 'value': 'True'},
        {'name': 'epoch_size', 'value': 90},   # of 90
    ],
    'inputs': '/bucket/data/',
    'code_dir': '/bucket/bench/code/',
    'boot_file': '/bucket/bench/code/train.py',
    'job_name': "aisbench-debug",
    'framework_type': 'Ascend-Powered-Engine',
    'framework_version': 'mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64',
    'pool_id': None,
    'train_instance_type': 'modelarts.kat1.8xlarge',
    'train_instance_count': 2,
    'out_base_url': '/bucket/result/',
    'job_description_prefix': 'lcm-debug desc',
})
)";

class ModelArtsPackages : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    make_directories((folder_.path() / name).parent_path());
    write_file_atomic(folder_.path() / name, content, false);
  }
  ModelArtsImport import(const std::string& config = kConfig) {
    put("code/config/modelarts_config.py", config);
    put("code/code/train.py", "");
    return import_modelarts(folder_.path());
  }
  static std::string all(const ModelArtsImport& import) {
    std::string out = import.suite_yaml;
    for (const Diagnostic& diagnostic : import.diagnostics) out += to_string(diagnostic) + "\n";
    return out;
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(ModelArtsPackages, ModesOfTheShellAreReadOrRefusedButNeverGuessed) {
  const auto with = [&](const std::string& lines) {
    put("code/config/config.sh", "export PYTHON_COMMAND=$(which python3)\n" + lines + "\n");
    return import();
  };
  for (const char* on :
       {"export SINGLESERVER_MODE=True", "SINGLESERVER_MODE='True'",
        "export SINGLESERVER_MODE=\"True\";", "  export  SINGLESERVER_MODE=True   # on\r",
        "export SINGLESERVER_MODE=False\nSINGLESERVER_MODE=True"})
    EXPECT_THAT(with(on).suite_yaml, HasSubstr("single_server: true")) << on;
  for (const char* off : {"export SINGLESERVER_MODE=False", "# export SINGLESERVER_MODE=True", ""})
    EXPECT_THAT(with(off).suite_yaml, Not(HasSubstr("single_server"))) << off;
  EXPECT_THAT(all(with("export SINGLESERVER_MODE=true")),
              HasSubstr("'true', not 'True': it is off"));
  for (const char* unknown :
       {"export SINGLESERVER_MODE='True'; export X=1", "export SINGLESERVER_MODE=${ONE:-True}",
        "[ -n \"$ONE\" ] && export SINGLESERVER_MODE=True", "unset SINGLESERVER_MODE",
        "export SINGLESERVER_MODE=True export X=1"})
    EXPECT_THAT(error_of([&] { return with(unknown); }),
                HasSubstr("SINGLESERVER_MODE is set to cannot be read"))
        << unknown;
  EXPECT_THAT(error_of([&] { return with("export MODELARTS_VERSION=$V"); }),
              HasSubstr("MODELARTS_VERSION"));
}

TEST_F(ModelArtsPackages, BecomeASuite) {
  put("code/config/config.sh",
      "#!/bin/bash\nexport MODELARTS_VERSION=V2\nexport SINGLESERVER_MODE=True # alone\n");
  const plan::Suite suite = plan::parse_suite(import().suite_yaml, "s.yaml");
  const auto& options = std::get<plan::ModelArtsOptions>(suite.cluster.options);
  EXPECT_EQ(suite.cluster.launcher(), "modelarts");
  EXPECT_EQ(options.endpoint, "https://modelarts.cn-north-4.myhuaweicloud.com");
  EXPECT_EQ(options.project, "0a1b2c");
  EXPECT_EQ(options.bucket, "bucket");
  EXPECT_EQ(options.prefix, "bench/code/");
  EXPECT_EQ(options.code, (folder_.path() / "code/code").string());
  EXPECT_EQ(options.engine, "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64");
  EXPECT_EQ(options.flavor, "modelarts.kat1.8xlarge");
  EXPECT_EQ(options.inputs.at("data_url"), "/bucket/data/");
  EXPECT_TRUE(options.single_server);
  EXPECT_EQ(options.pool, "");
  ASSERT_EQ(suite.cases.size(), 1U);
  EXPECT_EQ(suite.cases[0].nodes, 2);
  EXPECT_EQ(suite.cases[0].procs, 8);
  EXPECT_THAT(suite.cases[0].command,
              ElementsAre("train.py", "--enable_modelarts=True", "--epoch_size=90"));
}

TEST_F(ModelArtsPackages, GiveTheirSecretsToNobody) {
  const std::string said = all(import());
  EXPECT_THAT(said, Not(HasSubstr("AKIASECRETACCESS")));
  EXPECT_THAT(said, Not(HasSubstr("the-secret-of-the-account")));
  EXPECT_THAT(said, HasSubstr("modelarts_config.py:4: warning: secret_access_key is not copied"));
}

TEST_F(ModelArtsPackages, UseTheirOwnEndpointsWhenAllThreeAreThere) {
  std::string config = kConfig;
  const std::string empty = "'iam_endpoint': '', 'obs_endpoint': '', 'modelarts_endpoint': ''";
  config.replace(config.find(empty), empty.size(),
                 "'iam_endpoint': 'iam.x', 'obs_endpoint': 'obs.x', 'modelarts_endpoint': 'ma.x'");
  const plan::Suite suite = plan::parse_suite(import(config).suite_yaml, "s.yaml");
  const auto& options = std::get<plan::ModelArtsOptions>(suite.cluster.options);
  EXPECT_EQ(options.endpoint, "https://ma.x");
  EXPECT_EQ(options.store_endpoint, "https://obs.x");
}

TEST_F(ModelArtsPackages, SayWhatHasNoPlaceInASuite) {
  put("code/config/config.sh", "export RANK_SIZE=16\n");
  put("code/config.json", R"({"testid": "20210126-abcdef", "tester_server_port": 9527})");
  const std::string said = all(import());
  EXPECT_THAT(said, HasSubstr("RANK_SIZE is not used"));
  EXPECT_THAT(said, HasSubstr("testid, tester_server_port"));
}

TEST_F(ModelArtsPackages, AreOfTheInterfaceV1UnlessTheySayOtherwise) {
  put("code/config/config.sh", "export SINGLESERVER_MODE=True\n");
  const plan::Suite suite = plan::parse_suite(import().suite_yaml, "s.yaml");
  const auto& options = std::get<plan::ModelArtsOptions>(suite.cluster.options);
  EXPECT_EQ(options.api, "v1");
  EXPECT_EQ(options.engine, "Ascend-Powered-Engine/MindSpore-1.3");
  EXPECT_EQ(options.prefix, "old/");
  EXPECT_EQ(options.job_name, "aisbench-debug");
  EXPECT_TRUE(options.single_server);
  EXPECT_THAT(suite.cases[0].command, ElementsAre("train.py", "--old=1"));
}

TEST_F(ModelArtsPackages, ForAscendSayWhoseDevicesTheyHave) {
  EXPECT_EQ(plan::parse_suite(import().suite_yaml, "s.yaml").vendor, "ascend");
}

TEST_F(ModelArtsPackages, ThatOnlyPythonKnowsAreRefusedByName) {
  EXPECT_THAT(error_of([&] { return import("access_config = load()\nsession_config = {}\n"); }),
              HasSubstr("access_config is a function call"));
  EXPECT_THAT(error_of([&] { return import_modelarts(folder_.path() / "nowhere"); }),
              HasSubstr("there is no modelarts_config.py"));
}

TEST_F(ModelArtsPackages, WithABootFileElsewhereAreRefused) {
  std::string config = kConfig;
  const std::string boot = "/bucket/old/train.py";
  config.replace(config.find(boot), boot.size(), "/bucket/train.py");
  EXPECT_THAT(error_of([&] { return import(config); }), HasSubstr("boot_file is not in code_dir"));
}

}  // namespace
}  // namespace assay::importer
