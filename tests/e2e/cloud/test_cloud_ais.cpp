#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "e2e/harness.h"

namespace assay::cloud {
namespace {

using e2e::eventually;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using std::chrono_literals::operator""s;

constexpr const char* kAisKey = "AKTEST0000000002";
constexpr const char* kAisSecret = "another-Secret/Key";

/// A package with RUNTYPE modelarts, and an emulator that its configuration names.
class CloudAis : public e2e::AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    emulator_.emplace(folder_, Json{{"access_key", kAisKey},
                                    {"secret_key", kAisSecret},
                                    {"buckets", {"bucket-one"}},
                                    {"run_jobs", true},
                                    {"job_pending_s", 0},
                                    {"job_upload_s", 0.05}});
    ::setenv("HUAWEICLOUD_SDK_AK", kAisKey, 1);
    ::setenv("HUAWEICLOUD_SDK_SK", kAisSecret, 1);
  }
  void TearDown() override {
    ::unsetenv("HUAWEICLOUD_SDK_AK");
    ::unsetenv("HUAWEICLOUD_SDK_SK");
    AssayTest::TearDown();
  }
  void package(const std::string& boot) const {
    std::filesystem::create_directories(folder_ / "pkg/code/config");
    std::filesystem::create_directories(folder_ / "pkg/code/code");
    write("pkg/code/benchmark.sh", "#!/bin/bash\nRUNTYPE=\"modelarts\"\nexit 9\n");
    write("pkg/code/config/config.sh", "export MODELARTS_VERSION=V2\n");
    write("pkg/code/code/boot.sh", boot);
    write("pkg/code/config/modelarts_config.py", fmt::format(R"py(
from easydict import EasyDict as ed
access_config = ed({{
    'access_key': '', 'secret_access_key': '', 'region_name': 'here', 'project_id': '{1}',
    'iam_endpoint': '{0}', 'obs_endpoint': '{0}', 'modelarts_endpoint': '{0}'}})
session_config_v2 = ed({{
    'parameters': [{{'name': 'epoch_size', 'value': 3}}],
    'code_dir': '/bucket-one/code/', 'boot_file': '/bucket-one/code/boot.sh',
    'job_name': 'aisbench-debug',
    'framework_version': 'mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64',
    'train_instance_type': 'modelarts.kat1.xlarge', 'train_instance_count': 2,
    'out_base_url': '/bucket-one/result/'}})
)py",
                                                             emulator_->url(), kProject));
  }
  /// As the first document has it: config.sh says nothing of a version, which is V1.
  void package_v1(const std::string& boot, const std::string& config_sh) const {
    package(boot);
    write("pkg/code/config/config.sh", config_sh);
    write("pkg/code/config/modelarts_config.py",
          fmt::format(R"py(
from easydict import EasyDict as ed
access_config = ed({{
    'access_key': '', 'secret_access_key': '', 'region_name': 'here', 'project_id': '{1}',
    'iam_endpoint': '{0}', 'obs_endpoint': '{0}', 'modelarts_endpoint': '{0}'}})
session_config = ed({{
    'hyperparameters': [
        {{'label': 'enable_modelarts', 'value': 'True'}},
        {{'label': 'epoch_size', 'value': '2'}},      # 训练的epoch数
    ],
    'inputs': None,
    'code_dir': '/bucket-one/code/', 'boot_file': '/bucket-one/code/boot.sh',
    'job_name': 'aisbench-debug',
    'framework_type': 'Ascend-Powered-Engine',
    'framework_version': '{2}',
    'pool_id': None,
    'train_instance_type': 'modelarts.kat1.xlarge', 'train_instance_count': 2,
    'out_base_url': '/bucket-one/result/',
    'job_description_prefix': 'lcm-debug desc'}})
)py",
                      emulator_->url(), kProject, kOldEngine));
  }
  [[nodiscard]] std::vector<std::string> logs() const {
    std::vector<std::string> names;
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "pkg/log", ec))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  const std::string results_ = R"(
for a in "$@"; do case $a in --train_url=*) out=${a#*=};; esac; done
echo 2 > $out/ranksize.json
echo $((10 + RANK_ID)).5 > $out/throughput_$RANK_ID.json
if [ $RANK_ID = 0 ]; then echo 0.75 > $out/accuracy.json; fi
)";
  std::optional<EmulatorProcess> emulator_;
};

TEST_F(CloudAis, RunsAPackageThatIsMadeForModelArts) {
  package("echo trained\n" + results_);
  const CommandResult done = assay({"ais", "test", "pkg"}, 120s);
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  const std::string stub = read_file(folder_ / "pkg/log/stub.log");
  EXPECT_THAT(stub,
              AllOf(HasSubstr("train_result_info: {"), HasSubstr("\"throughput_ratio\" : \"22.0\""),
                    HasSubstr("\"accuracy\" : \"0.75\""),
                    // As the service measured it.
                    HasSubstr("\"resource_util_ratio\" : 97.25")));
  bool mirrored = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "pkg/log"))
    if (entry.path().filename().string().starts_with("modelarts-job-"))
      mirrored |= read_file(entry.path()).find("trained") != std::string::npos;
  EXPECT_TRUE(mirrored);
}

TEST_F(CloudAis, RunsThePackageOfTheFirstDocument) {
  package_v1(R"(echo "mode $SINGLESERVER_MODE $1 $2 $3"
for a in "$@"; do case $a in --train_url=*) out=${a#*=};; esac; done
mkdir -p $out/$VC_TASK_INDEX
echo $((450 + VC_TASK_INDEX)).5 > $out/$VC_TASK_INDEX/throughput_0.json
echo 0.7$VC_TASK_INDEX > $out/accuracy_$VC_TASK_INDEX.json
)",
             "export PYTHON_COMMAND=python3.7\nexport SINGLESERVER_MODE=True\n");
  const CommandResult done = assay({"ais", "test", "pkg"}, 120s);
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("report >> throughput_list:[450.5, 451.5] average:451.0"),
                              HasSubstr("report >> accuracy_list:[0.7, 0.71] average:0.705"),
                              HasSubstr("\"throughput_ratio\" : \"451.0\"")));
  // benchmark.log, one log for every instance with the service's own names, stub.log.
  EXPECT_THAT(logs(), ::testing::ElementsAre(
                          "benchmark.log", MatchesRegex("job[0-9a-f]+-job-aisbench-debug-0.log"),
                          MatchesRegex("job[0-9a-f]+-job-aisbench-debug-1.log"), "stub.log"));
  EXPECT_THAT(read_file(folder_ / "pkg/log" / logs().at(1)), HasSubstr("mode True"));
  EXPECT_EQ(read_json(folder_ / "pkg/result/latest/plan.json")["vendor"], "ascend");
}

TEST_F(CloudAis, FillsLogWhileTheJobRuns) {
  package_v1("echo started; while [ ! -e " + (folder_ / "go").string() +
                 " ]; do sleep 0.05; done\n" + results_,
             "");
  const pid_t pid = start({"ais", "test", "pkg"});
  const auto filled = [&] {
    int instances = 0;
    for (const std::string& name : logs())
      if (name.find("-job-aisbench-debug-") != std::string::npos &&
          read_file_or_empty(folder_ / "pkg/log" / name) == "started\n")
        ++instances;
    return instances == 2;
  };
  EXPECT_TRUE(eventually(filled, 60s)) << read_file_or_empty(folder_ / "assay.log");
  write("go", "");
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");
}

TEST_F(CloudAis, StopsTheNewestVersionFromAnyFolder) {
  package_v1("echo started; sleep 600\n", "");
  std::filesystem::copy(folder_ / "pkg", folder_ / "other",
                        std::filesystem::copy_options::recursive);
  const pid_t pid = start({"ais", "test", "pkg", "--out", "elsewhere"});
  ASSERT_TRUE(eventually([&] { return logs().size() >= 3; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  // The line of the first document, to the letter; the other folder knows nothing of the run.
  EXPECT_EQ(assay({"ais", "stop", "other"}).out,
            "jobname:aisbench-debug jobid:3043 preversionid:13231 jobstatus:JOBSTAT_RUNNING "
            "stop status:{'is_success': True}\n");
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
}

TEST_F(CloudAis, StopPrintsTheLineOfTheDocument) {
  package("echo started; sleep 600\n");
  EXPECT_EQ(assay({"ais", "stop", "pkg"}).out, "find no match version return\n");
  const pid_t pid = start({"ais", "test", "pkg"});
  const auto running = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder_ / "pkg", std::filesystem::directory_options::skip_permission_denied))
      if (entry.path().filename() == "rank0.out.log" &&
          read_file_or_empty(entry.path()).find("started") != std::string::npos)
        return true;
    return false;
  };
  ASSERT_TRUE(eventually(running, 60s)) << read_file_or_empty(folder_ / "assay.log");
  const CommandResult stopped = assay({"ais", "stop", "pkg"});
  EXPECT_THAT(stopped.out,
              MatchesRegex("jobname:aisbench-debug.* jobid:.* preversionid:None jobstatus:Running "
                           "stop status:\\{'is_success': True\\}\n"))
      << stopped.err;
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(assay({"ais", "stop", "pkg"}).out, HasSubstr("no need stop"));
}

}  // namespace
}  // namespace assay::cloud
