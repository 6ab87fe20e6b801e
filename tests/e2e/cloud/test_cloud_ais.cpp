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
    if (entry.path().filename().string().starts_with("aisbench-debug-"))
      mirrored |= read_file(entry.path()).find("trained") != std::string::npos;
  EXPECT_TRUE(mirrored);
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
