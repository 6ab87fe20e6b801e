#include <csignal>

#include "cloud/training_jobs_v1.h"
#include "e2e/cloud/cloud_run.h"
#include "send_signal.h"

namespace assay::cloud {
namespace {

using e2e::eventually;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

TEST_F(CloudRun, IsStoppedByAssayStop) {
  const pid_t pid = start_until(suite(waits_, "    stop_on_interrupt: true"), "started");
  const CommandResult stop = assay({"stop", "results/latest"});
  EXPECT_EQ(stop.status.code, 0) << stop.err;
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, StopsItsJobOnCtrlCWhenAsked) {
  const pid_t pid = start_until(suite(waits_, "    stop_on_interrupt: true"), "started");
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 2U);
}

// What was trained and paid for is not trained again.
TEST_F(CloudRun, ResumeFetchesTheResultsOfAJobThatHadEndedWhenItWasInterrupted) {
  const std::string file = suite(kResults, "    stop_on_interrupt: true");
  fault({{"kind", "drip"}, {"delay_ms", 1000}, {"path", "throughput"}, {"count", -1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return said().find("Completed") != std::string::npos; }, 60s))
      << said();
  send_signal(pid, SIGTERM);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("its results were not fetched"));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, StopsAlsoAJobWhoseCreationWasNotAnsweredYet) {
  const std::string file = suite(waits_, "    stop_on_interrupt: true");
  fault({{"kind", "delay"}, {"method", "POST"}, {"path", "/training-jobs"}, {"delay_ms", 60000}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return !jobs_->list("").empty(); }, 30s)) << said();
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped) << said();
}

TEST_F(CloudRun, SaysThatItsJobGoesOnWhenTheServiceRefusesToTellOfIt) {
  const pid_t pid = start_until(suite(waits_), "started");
  fault({{"kind", "status"}, {"status", 403}, {"method", "GET"}, {"path", "/v2/"}, {"count", -1}});
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 3) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
  clear_faults();
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
}

TEST_F(CloudRun, LeavesItsJobRunningOnCtrlCAndFollowsItWithResume) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::running);
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_EQ(log_of(1), "started\non\n");
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWhileItsJobRan) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_EQ(log_of(0), "started\non\n");
}

TEST_F(CloudRun, IsResumedAfterItWasKilledDuringTheUpload) {
  const std::string file = suite(kResults);
  fault({{"kind", "delay"}, {"method", "PUT"}, {"delay_ms", 60000}, {"count", 1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return journal_has("round_start"); }, 30s));
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, IsResumedAfterItWasKilledBeforeItKnewItsJob) {
  const std::string file = suite(waits_);
  fault({{"kind", "delay"}, {"method", "POST"}, {"path", "/training-jobs"}, {"delay_ms", 60000}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return !jobs_->list("").empty(); }, 30s)) << said();
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  EXPECT_FALSE(journal_has("job_created"));
  clear_faults();
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWhileItFetchedItsResults) {
  const std::string file = suite(kResults);
  fault({{"kind", "delay"},
         {"method", "GET"},
         {"path", "throughput_1.json"},
         {"delay_ms", 60000},
         {"count", 1}});
  const pid_t pid = start({"run", file});
  const auto is_fetching = [&] {
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "results/latest", ec))
      if (entry.path().filename() == "throughput_0.json") return true;
    return false;
  };
  ASSERT_TRUE(eventually(is_fetching, 30s)) << said();
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_THAT(read_file_or_empty(latest() / "result.json"), HasSubstr("22.0"));  // 10.5 + 11.5
}

TEST_F(CloudRun, AJobThatWasDeletedIsMadeAnewByResume) {
  const pid_t pid = start_until(suite(waits_), "started");
  jobs_->remove(jobs_->list("").at(0).id);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), AllOf(HasSubstr("does not exist any more"), HasSubstr("deleted from outside"),
                            Not(HasSubstr("the node is up"))));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, AJobThatWasDeletedWhileNobodyFollowedItIsMadeAnewAtOnce) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  jobs_->remove(jobs_->list("").at(0).id);
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out + resumed.err, HasSubstr("does not exist any more; a new one is made"));
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, AJobOfTheOldInterfaceThatWasDeletedIsMadeAnewByResume) {
  v1_ = true;
  const std::string go_file = (folder_ / "go").string();
  const pid_t pid = start_until(
      suite("echo started; while [ ! -e " + go_file + " ]; do sleep 0.02; done; echo on" + kResults,
            "    api: v1"),
      "started");
  OldTrainingJobs old(*service_);
  old.remove(old.find("assay")->job_id);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("does not exist any more"));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWithTheOldInterface) {
  v1_ = true;
  const std::string go_file = (folder_ / "go").string();
  const pid_t pid = start_until(
      suite("echo started; while [ ! -e " + go_file + " ]; do sleep 0.02; done; echo on" + kResults,
            "    api: v1"),
      "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(log_of(0), "started\non\n");
  OldTrainingJobs old(*service_);
  EXPECT_EQ(old.versions(old.find("assay")->job_id).size(), 1U);
}

}  // namespace
}  // namespace assay::cloud
