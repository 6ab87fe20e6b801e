#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/job_forms.h"

namespace assay::client {
namespace {

using ::testing::HasSubstr;

jobs::Submission full_submission() {
  jobs::Submission job;
  job.name = "ResNet 50";
  job.command = "python train.py --name 'x y'";
  job.nodes = 2;
  job.procs = 8;
  job.devices = 8;
  job.device_type = "H200";
  job.whole_nodes = true;
  job.image = "torch:2";
  job.queue = "night";
  job.priority = 200;
  job.preemptible = true;
  job.time = jobs::WrittenDuration{std::chrono::hours(2)};
  job.retries.count = 3;
  job.env = {{"A", "b c"}};
  job.secrets = {{"HF_TOKEN", "hf"}, {"KEY", "KEY"}};
  job.mounts = {{"/data", "/in", true}};
  job.endpoints = {{jobs::EndpointKind::jupyter, "", {}}, {jobs::EndpointKind::port, "ui", 8080}};
  job.after = {4};
  job.array = "0-9%4";
  return job;
}

TEST(JobForms, ACommandSaysAllThatIsNotAsUsual) {
  EXPECT_EQ(as_command(full_submission()),
            R"(assay submit --command 'python train.py --name '\''x y'\''' --name 'ResNet 50' )"
            "--nodes 2 --procs 8 --devices 8 --device-type H200 --whole-nodes --image torch:2 "
            "--queue night --priority 200 --preemptible --time 2h --retries 3 --env 'A=b c' "
            "--secret hf=HF_TOKEN --secret KEY "
            "--mount /data:/in:ro --endpoint jupyter --endpoint ui=8080 --after 4 --array 0-9%4");
}

TEST(JobForms, ASuiteIsNamedByItsFile) {
  jobs::Submission job;
  job.name = "nightly";
  job.suite = "name: nightly\n";
  EXPECT_EQ(as_command(job, "", "nightly.yaml"), "assay submit nightly.yaml --name nightly");
}

TEST(JobForms, CurlSendsTheWholeSubmissionAndNoToken) {
  const std::string curl = as_curl(full_submission(), "https://assay:8480", "vision");
  EXPECT_THAT(curl, HasSubstr("https://assay:8480/api/v1/jobs"));
  EXPECT_THAT(curl, HasSubstr("$ASSAY_TOKEN"));
  EXPECT_THAT(curl, HasSubstr(R"("team":"vision")"));
  EXPECT_THAT(curl, HasSubstr(R"("array":"0-9%4")"));
}

// Whoever adds a field to a submission gives it an option, or this fails.
struct Names {
  std::vector<std::string>& out;
  template <class T>
  void operator()(const char* key, T&) const {
    out.emplace_back(key);
  }
  template <class T>
  void optional(const char* key, T&) const {
    out.emplace_back(key);
  }
};

TEST(JobForms, EveryFieldOfASubmissionHasAnOption) {
  std::vector<std::string> fields;
  jobs::Submission job;
  jobs::Submission::fields(job, Names{fields});
  for (const std::string& field : fields) EXPECT_NE(option_of(field), field);
  EXPECT_EQ(option_of("mounts[1].target"), "--mount");
  EXPECT_EQ(option_of("retries.count"), "--retries");
  EXPECT_EQ(option_of("env.LD LIBRARY"), "--env");
  EXPECT_EQ(option_of("secrets.HF_TOKEN"), "--secret");
  EXPECT_EQ(option_of("env.ASSAY_KEEP_OPEN"), "--keep");
}

}  // namespace
}  // namespace assay::client
