#include <chrono>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/modelarts.h"
#include "cloud/service_error.h"
#include "cloud/training_jobs_v1.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"
#include "eventually.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ModelArts : public EmulatorTest {
 protected:
  void use(const Json& settings = Json::object()) {
    start(settings);
    bucket().put("code/train.py", "print('trained')\n");
    service_.emplace(client_, credentials_, url(), kProject);
    jobs_.emplace(*service_);
    old_jobs_.emplace(*service_);
  }
  static TrainingJobSpec spec(const std::string& name) {
    TrainingJobSpec spec;
    spec.name = name;
    spec.code_dir = "/bucket-one/code/";
    spec.boot_file = "/bucket-one/code/train.py";
    spec.engine_id = kEngine;
    spec.parameters = {{"epoch_size", "90"}};
    spec.outputs = {{"train_url", "/bucket-one/out/"}};
    spec.environment = {{"GLOG_v", "3"}};
    spec.flavor_id = "modelarts.kat1.8xlarge";
    spec.node_count = 2;
    spec.log_url = "/bucket-one/log/";
    return spec;
  }
  static OldJobSpec old_spec(const std::string& name) {
    OldJobSpec spec;
    spec.name = name;
    spec.code_dir = "/bucket-one/code/";
    spec.boot_file = "/bucket-one/code/train.py";
    spec.train_url = "/bucket-one/out/V1/";
    spec.spec_code = "modelarts.kat1.8xlarge";
    spec.engine_name = "Ascend-Powered-Engine";
    spec.engine_version = kOldEngine;
    return spec;
  }
  std::string code_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const ServiceError& e) {
      return e.code();
    }
    return "no error";
  }
  /// Until the job has ended.
  TrainingJob wait(const std::string& id) {
    TrainingJob job;
    EXPECT_TRUE(testing::eventually(
        [&] {
          job = jobs_->get(id);
          return has_ended(job.phase);
        },
        std::chrono::minutes(1)));
    return job;
  }
  const Json never_ends_ = {{"job_pending_s", 0}, {"job_running_s", 3600}};

  std::optional<ModelArtsService> service_;
  std::optional<TrainingJobs> jobs_;
  std::optional<OldTrainingJobs> old_jobs_;
};

TEST_F(ModelArts, RunsAJobToItsEnd) {
  use({{"job_pending_s", 0.05}, {"job_running_s", 0.2}});
  const TrainingJob made = jobs_->create(spec("aisbench-debug"));
  EXPECT_EQ(made.name, "aisbench-debug");
  EXPECT_FALSE(has_ended(made.phase));
  EXPECT_EQ(made.tasks, (std::vector<std::string>{"worker-0", "worker-1"}));
  const TrainingJob done = wait(made.id);
  EXPECT_EQ(done.phase, JobPhase::completed);
  EXPECT_EQ(done.duration_ms, 200);
  EXPECT_EQ(done.node_count, 2);
  const auto log = jobs_->log(made.id, "worker-1");
  ASSERT_TRUE(log);
  EXPECT_THAT(log->content, HasSubstr("worker-1 tick 2\n"));
  EXPECT_EQ(log->full_size, log->content.size());
  EXPECT_EQ(jobs_->events(made.id).size(), 3U);
  const auto metrics = jobs_->metrics(made.id, "worker-0");
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[1].values[0], 97.25);
  EXPECT_TRUE(std::isnan(metrics[1].values[1]));
}

TEST_F(ModelArts, SaysWhenALogIsNotThereYet) {
  use({{"job_pending_s", 3600}});
  const TrainingJob job = jobs_->create(spec("pending"));
  EXPECT_EQ(job.phase, JobPhase::waiting);
  EXPECT_FALSE(jobs_->log(job.id, "worker-0"));
  EXPECT_TRUE(jobs_->metrics(job.id, "worker-0").empty());
}

TEST_F(ModelArts, LinksToTheWholeLog) {
  use(never_ends_);
  const TrainingJob job = jobs_->create(spec("linked"));
  const auto link = jobs_->log_link(job.id, "worker-0");
  ASSERT_TRUE(link);
  const http::Url url = http::parse_url(*link, "link");
  http::Request request;
  request.origin = url.origin;
  request.path = url.path;
  request.query = url.query;
  EXPECT_THAT(client_.send(request).body, HasSubstr("worker-0 tick 0"));
}

TEST_F(ModelArts, StopsAJobAndSaysSoTwice) {
  use(never_ends_);
  const TrainingJob job = jobs_->create(spec("stopped"));
  EXPECT_EQ(jobs_->stop(job.id).phase, JobPhase::stopping);
  EXPECT_EQ(wait(job.id).phase, JobPhase::stopped);
  EXPECT_EQ(jobs_->stop(job.id).phase, JobPhase::stopped);
}

TEST_F(ModelArts, FindsTheExactNameAmongMany) {
  use(never_ends_);
  for (int i = 0; i < 60; ++i) (void)jobs_->create(spec("bench-" + std::to_string(i)));
  (void)jobs_->create(spec("bench"));
  for (int i = 60; i < 64; ++i) (void)jobs_->create(spec("bench-" + std::to_string(i)));
  EXPECT_EQ(jobs_->list("bench").size(), 65U);
  EXPECT_EQ(jobs_->find("bench")->name, "bench");
  EXPECT_EQ(jobs_->find("bench-7")->name, "bench-7");
  EXPECT_FALSE(jobs_->find("ben"));
}

TEST_F(ModelArts, FindsTheJobAlthoughTheAnswerWasLost) {
  use(never_ends_);
  fault({{"kind", "drop-reply"}, {"method", "POST"}, {"path", "/training-jobs"}});
  const TrainingJob job = jobs_->create(spec("lost-answer"));
  EXPECT_EQ(job.name, "lost-answer");
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(ModelArts, DoesNotTakeAnothersJobForItsOwn) {
  use(never_ends_);
  (void)jobs_->create(spec("taken"));
  fault({{"kind", "drop-reply"}, {"method", "POST"}, {"path", "/training-jobs"}});
  EXPECT_THAT(error_of([&] { return jobs_->create(spec("taken")); }),
              HasSubstr("whether it had an effect is not known"));
}

TEST_F(ModelArts, SaysWhatTheServiceRefuses) {
  use(never_ends_);
  (void)jobs_->create(spec("taken"));
  EXPECT_THAT(error_of([&] { return jobs_->create(spec("taken")); }),
              AllOf(HasSubstr("ModelArts.2751"), HasSubstr("choose another job name")));
  TrainingJobSpec flavor = spec("a");
  flavor.flavor_id = "no.such.flavor";
  EXPECT_EQ(code_of([&] { (void)jobs_->create(flavor); }), "ModelArts.2763");
  TrainingJobSpec code = spec("b");
  code.code_dir = "/bucket-one/nothing/";
  code.boot_file = "/bucket-one/nothing/train.py";
  EXPECT_EQ(code_of([&] { (void)jobs_->create(code); }), "ModelArts.2757");
  TrainingJobSpec nodes = spec("c");
  nodes.node_count = 1000;
  EXPECT_EQ(code_of([&] { (void)jobs_->create(nodes); }), "ModelArts.2793");
  EXPECT_EQ(code_of([&] { (void)jobs_->get("no-such-id"); }), "ModelArts.2775");
}

TEST_F(ModelArts, RefusesABootFileOutsideTheCodeFolderBeforeItAsks) {
  use();
  TrainingJobSpec outside = spec("outside");
  outside.boot_file = "/bucket-one/train.py";
  EXPECT_THAT(error_of([&] { return jobs_->create(outside); }),
              HasSubstr("is not in the code folder"));
  EXPECT_EQ(count("POST modelarts"), 0U);
}

TEST_F(ModelArts, TellsAWrongSecretAndAWrongProject) {
  use();
  FixedCredentials wrong({access_key_, "not the secret", ""});
  ModelArtsService refused(client_, wrong, url(), kProject);
  EXPECT_THAT(error_of([&] { return TrainingJobs(refused).flavors().size(); }),
              AllOf(HasSubstr("APIGW.0301"), HasSubstr("check the access key")));
  ModelArtsService elsewhere(client_, credentials_, url(), "ffffffffffffffffffffffffffffffff");
  EXPECT_THAT(error_of([&] { return TrainingJobs(elsewhere).flavors().size(); }),
              HasSubstr("ModelArts.2786"));
}

TEST_F(ModelArts, WorksWithTokensAndRenewsThem) {
  use();
  IamOptions options;
  options.endpoint = url();
  options.user = "tester";
  options.password = password_;
  options.domain = "assay";
  options.project_name = "emulated-1";
  IamTokens tokens(client_, options);
  ModelArtsService service(client_, tokens, url(), tokens.project_id());
  TrainingJobs jobs(service);
  EXPECT_EQ(jobs.flavors().size(), 4U);
  expire_tokens();
  EXPECT_EQ(jobs.engines().at(0).name, "Ascend-Powered-Engine");
  EXPECT_EQ(count("POST iam"), 2U);
}

TEST_F(ModelArts, KnowsHowManyDevicesAFlavorHas) {
  use();
  for (const auto& flavor : jobs_->flavors()) {
    if (flavor.id == "modelarts.kat1.8xlarge") {
      EXPECT_EQ(flavor.devices, 8);
    }
    if (flavor.type == "CPU") {
      EXPECT_EQ(flavor.devices, 0);
    }
  }
}

TEST_F(ModelArts, MakesVersionsOfAJobInV1) {
  use({{"job_pending_s", 0}, {"job_running_s", 0.2}});
  const OldJob first = old_jobs_->create(old_spec("aisbench-debug"));
  EXPECT_EQ(first.version_name, "V0001");
  EXPECT_GT(first.job_id, 0);
  EXPECT_FALSE(first.resource_id.empty());
  (void)old_jobs_->create(old_spec("aisbench-debug-other"));
  const OldJob second = old_jobs_->create(old_spec("aisbench-debug"));
  EXPECT_EQ(second.job_id, first.job_id);
  EXPECT_EQ(second.version_name, "V0002");
  EXPECT_EQ(second.resource_id, first.resource_id);
  const auto versions = old_jobs_->versions(first.job_id);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].version_id, second.version_id);
  EXPECT_FALSE(old_jobs_->find("aisbench"));
  OldJob now = second;
  EXPECT_TRUE(testing::eventually(
      [&] {
        now = old_jobs_->get(second.job_id, second.version_id);
        return has_ended(now.phase);
      },
      std::chrono::minutes(1)));
  EXPECT_EQ(now.status, 10);
  const auto files = old_jobs_->log_files(second.job_id, second.version_id);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0], first.resource_id + "-job-aisbench-debug-0.log");
  const OldLogPage page = old_jobs_->log(second.job_id, second.version_id, files[0], 1);
  EXPECT_EQ(page.content, "worker-0 tick 1\nworker-0 tick 2\n");
  EXPECT_EQ(page.end_line, 3);
}

TEST_F(ModelArts, StopsAVersionInV1) {
  use(never_ends_);
  const OldJob job = old_jobs_->create(old_spec("stopped"));
  old_jobs_->stop(job.job_id, job.version_id);
  EXPECT_EQ(old_jobs_->get(job.job_id, job.version_id).phase, JobPhase::stopped);
  EXPECT_EQ(code_of([&] { old_jobs_->stop(job.job_id, job.version_id); }), "ModelArts.0107");
}

TEST_F(ModelArts, FindsTheVersionAlthoughTheAnswerWasLost) {
  use(never_ends_);
  const OldJob first = old_jobs_->create(old_spec("versions"));
  fault({{"kind", "drop-reply"}, {"method", "POST"}, {"path", "/versions"}});
  const OldJob second = old_jobs_->create(old_spec("versions"));
  EXPECT_NE(second.version_id, first.version_id);
  EXPECT_EQ(old_jobs_->versions(first.job_id).size(), 2U);
}

TEST_F(ModelArts, NamesTheFlavorsThatThereAreInV1) {
  use();
  OldJobSpec wrong = old_spec("wrong");
  wrong.spec_code = "modelarts.none";
  EXPECT_THAT(error_of([&] { return old_jobs_->create(wrong); }),
              AllOf(HasSubstr("modelarts.none"), HasSubstr("modelarts.kat1.8xlarge")));
}

}  // namespace
}  // namespace assay::cloud
