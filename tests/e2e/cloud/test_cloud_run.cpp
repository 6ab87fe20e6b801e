#include "cloud/training_jobs_v1.h"
#include "e2e/cloud/cloud_run.h"

namespace assay::cloud {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

TEST_F(CloudRun, UploadsTrainsMirrorsFetchesAndJudges) {
  const CommandResult run = assay({"run", suite("echo rank $RANK_ID $1" + std::string(kResults))});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(log_of(0).substr(0, 7), "rank 0 ");
  EXPECT_EQ(log_of(1).substr(0, 7), "rank 1 ");
  EXPECT_THAT(run.err + run.out, AllOf(HasSubstr("\"throughput_ratio\" : \"22.0\""),
                                       HasSubstr("\"accuracy\" : \"0.75\"")));
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_THAT(metrics.dump(), AllOf(HasSubstr("throughput_ratio"), HasSubstr("22.0")));
  EXPECT_EQ(read_json(round() / "train_result_info.json")["throughput_ratio"], "22.0");
}

TEST_F(CloudRun, ItsRecordIsComputedAgainFromTheEvidence) {
  ASSERT_EQ(assay({"run", suite("true" + std::string(kResults))}).status.code, 0);
  const std::string record = read_file(round() / "train_result_info.json");
  const std::string lines = read_file(round() / "report.txt");
  fs::remove(round() / "train_result_info.json");
  fs::remove(round() / "report.txt");
  const CommandResult report = assay({"report", "results/latest"});
  EXPECT_EQ(report.status.code, 0) << report.err;
  EXPECT_EQ(read_file(round() / "train_result_info.json"), record);
  EXPECT_EQ(read_file(round() / "report.txt"), lines);
  EXPECT_THAT(report.out + report.err, HasSubstr("\"throughput_ratio\" : \"22.0\""));
}

TEST_F(CloudRun, IsWhatTheTutorialSays) {
  emulator_.reset();
  const fs::path conf = fs::path(ASSAY_SOURCE_DIR) / "conf/suites/modelarts-emulated";
  emulator_.emplace(folder_, read_json(conf / "cloud.json"));
  ::setenv("HUAWEICLOUD_SDK_AK", "AKEMULATED", 1);
  ::setenv("HUAWEICLOUD_SDK_SK", "made-up-for-this-machine", 1);
  const CommandResult run =
      assay({"run", "modelarts-emulated", "--set", "cluster.modelarts.endpoint=" + emulator_->url(),
             "--set", "cluster.modelarts.obs_endpoint=" + emulator_->url()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const auto number = [&](const std::string& name) {
    return std::stod(read_file(latest() / "fit/round1/results" / name));
  };
  const double mean = (number("0/throughput_0.json") + number("0/throughput_1.json") +
                       number("1/throughput_0.json") + number("1/throughput_1.json")) /
                      2;
  const Json record = read_json(round() / "train_result_info.json");
  EXPECT_NEAR(std::stod(record["throughput_ratio"].get<std::string>()), mean, 1e-6 * mean);
  EXPECT_EQ(record["accuracy"], "1.0");
  EXPECT_THAT(read_file(round() / "worker-1_noderank1/rank2.out.log"),
              HasSubstr("hello from card 1 of server 1"));
}

TEST_F(CloudRun, TwoRunsWithOtherCodeUseTheirOwn) {
  ASSERT_EQ(assay({"run", suite("echo code A" + std::string(kResults))}).status.code, 0);
  const fs::path first = fs::canonical(latest());
  ASSERT_EQ(assay({"run", suite("echo code B" + std::string(kResults))}).status.code, 0);
  const auto code_of = [](const fs::path& run) {
    return read_json(run / "result.json")["cases"][0]["rounds"][0]["executed"][0]["program"];
  };
  EXPECT_NE(code_of(first), code_of(latest()));
  EXPECT_THAT(read_file(first / "fit/round1/worker-0_noderank0/rank0.out.log"),
              HasSubstr("code A"));
  EXPECT_THAT(log_of(0), HasSubstr("code B"));
  // The code of the first run is still where its job would find it.
  EXPECT_THAT(code_of(first)["path"].get<std::string>(),
              HasSubstr(code_of(first)["sha256"].get<std::string>()));
}

TEST_F(CloudRun, ItsTimeIsTheServicesNotThatOfTheQuestions) {
  poll_ = "2s";
  const CommandResult run = assay({"run", suite("sleep 0.6" + std::string(kResults))});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  const TrainingJob job = jobs_->list("").at(0);
  EXPECT_DOUBLE_EQ(metrics["e2e_time"]["value"], static_cast<double>(job.duration_ms) / 1000);
  EXPECT_GE(metrics["e2e_time"]["value"], 0.6);
  EXPECT_THAT(metrics["e2e_time"]["note"].get<std::string>(), HasSubstr("service's clock"));
  EXPECT_EQ(metrics["launch_time"]["origin"], "estimated");
}

TEST_F(CloudRun, AClockThatIsTenMinutesOffMakesNoOddTimes) {
  emulator_.emplace(folder_, Json{{"access_key", "AKTEST0000000001"},
                                  {"secret_key", kSecret},
                                  {"buckets", {"bucket-one"}},
                                  {"run_jobs", true},
                                  {"job_pending_s", 0},
                                  {"job_upload_s", 0.05},
                                  {"clock_offset_s", 600}});
  service_.emplace(client_, credentials_, emulator_->url(), kProject);
  jobs_.emplace(*service_);
  const CommandResult run = assay({"run", suite("sleep 0.3" + std::string(kResults))});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_DOUBLE_EQ(metrics["e2e_time"]["value"],
                   static_cast<double>(jobs_->list("").at(0).duration_ms) / 1000);
  EXPECT_LT(metrics["launch_time"]["value"], 300);
  EXPECT_THAT(read_json(round() / "ais_result.json")["clocks"].get<std::string>(),
              ContainsRegex("moved by -(600|599)"))
      << "as late as the answer came";
}

TEST_F(CloudRun, IsIncompleteAndNamesTheFileWhenAResultIsMissing) {
  const CommandResult run =
      assay({"run", suite("[ $RANK_ID = 1 ] && exit 0\n" + std::string(kResults))});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(result()["validity"], "INCOMPLETE");
  EXPECT_THAT(run.err + run.out, HasSubstr("throughput_1.json is missing"));
  EXPECT_FALSE(fs::exists(round() / "train_result_info.json"));
}

TEST_F(CloudRun, NamesTheInstanceThatFailed) {
  const CommandResult run =
      assay({"run", suite("echo no such layer; [ $RANK_ID = 1 ] && exit 7; sleep 600")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, AllOf(HasSubstr("worker-1"), HasSubstr("exit 7")));
  EXPECT_EQ(log_of(1), "no such layer\n");
}

TEST_F(CloudRun, StopsAJobThatHangs) {
  job_fault({{"kind", "hang"}, {"after_s", 0.1}});
  const CommandResult run = assay(
      {"run", suite("while :; do echo tick; sleep 0.02; done", "", "{time: 60s, stall: 1s}")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, HasSubstr("wrote nothing for 1.00 s"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, GivesUpAJobThatNeverStartsAndWithdrawsIt) {
  job_fault({{"kind", "never-start"}});
  const CommandResult run = assay({"run", suite(kResults, "    wait: 1s")});
  EXPECT_EQ(run.status.code, 4) << run.err;
  EXPECT_THAT(run.err + run.out, HasSubstr("did not start within 1.00 s"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, RunsAPreemptedJobAgain) {
  retries_ = 1;
  job_fault({{"kind", "preempt"}, {"after_s", 0.1}});
  go();
  const CommandResult run =
      assay({"run", suite("[ -e $GO.$RANK_ID ] || { : > $GO.$RANK_ID; sleep 600; }" +
                          std::string(kResults))});
  EXPECT_EQ(run.status.code, 0) << run.err;
  EXPECT_EQ(jobs_->list("").size(), 2U);
}

TEST_F(CloudRun, SaysWhenAJobWasKilledFromTheConsole) {
  job_fault({{"kind", "kill"}, {"after_s", 0.1}});
  const CommandResult run = assay({"run", suite("sleep 600")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, HasSubstr("Terminated"));
}

TEST_F(CloudRun, TellsJobsOfTheOldInterfaceTheirEnvironment) {
  v1_ = true;
  const std::string file = suite(
      "echo mode $SINGLESERVER_MODE, $GREETING\n"
      "for a in \"$@\"; do case $a in --train_url=*) out=${a#*=};; esac; done\n"
      "mkdir -p $out/$VC_TASK_INDEX; echo 10 > $out/$VC_TASK_INDEX/throughput_0.json\n"
      "echo 0.5 > $out/accuracy_$VC_TASK_INDEX.json\n",
      "    api: v1\n    single_server: true");
  write("code/ma-pre-start.sh", "export SINGLESERVER_MODE=False\nexport KEPT=1\n");
  const CommandResult run = assay({"run", file, "--set", "cases.fit.env.GREETING=it's here"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(log_of(1), "mode True, it's here\n");
  EXPECT_EQ(read_file(folder_ / "code/ma-pre-start.sh"),
            "export SINGLESERVER_MODE=False\nexport KEPT=1\n");
}

TEST_F(CloudRun, RunsAnImageOfOnesOwn) {
  const CommandResult run =
      assay({"run", suite("RANK_ID=$VC_TASK_INDEX; echo \"$@\"" + std::string(kResults)), "--set",
             "cluster.modelarts.engine=image:atelier/mine:1.0"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(log_of(0), HasSubstr("--epoch_size=3"));
  const Json job = jobs_->list("").at(0).raw["algorithm"];
  EXPECT_EQ(job["engine"]["image_url"], "atelier/mine:1.0");
}

TEST_F(CloudRun, LeavesOutWhatTheFolderIgnores) {
  const std::string file = suite("ls -A" + std::string(kResults));
  write("code/.assayignore", "*.ckpt\n");
  write("code/big.ckpt", "not for the cloud");
  ASSERT_EQ(assay({"run", file}).status.code, 0);
  EXPECT_THAT(log_of(0),
              AllOf(HasSubstr("boot.sh"), Not(HasSubstr("ckpt")), Not(HasSubstr("assayignore"))));
}

TEST_F(CloudRun, AnEmulatorOnAUsedFolderLosesNoResults) {
  ASSERT_EQ(assay({"run", suite(kResults)}).status.code, 0);
  emulator_.reset();
  start_emulator();
  const CommandResult again = assay({"run", suite("echo again" + std::string(kResults))});
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_EQ(log_of(0), "again\n");
}

TEST_F(CloudRun, TransfersEachByteOfALogOnce) {
  const pid_t pid = start_until(suite(waits_), "started");
  go();
  ASSERT_TRUE(wait(pid, 60s));
  std::uint64_t here = log_of(0).size() + log_of(1).size();
  EXPECT_EQ(here, 2 * std::string("started\non\n").size());
  for (const auto& file : fs::directory_iterator(round() / "results")) here += file.file_size();
  EXPECT_EQ(emulator_->control(client_, "GET", "counts")["sent_object_bytes"], here);
}

TEST_F(CloudRun, MakesVersionsOfOneJobWithTheOldInterface) {
  v1_ = true;
  const std::string file = suite("echo rank $RANK_ID" + std::string(kResults), "    api: v1");
  for (int version = 1; version <= 2; ++version) {
    const CommandResult run = assay({"run", file});
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr("\"throughput_ratio\" : \"22.0\""));
    EXPECT_EQ(log_of(1), "rank 1\n");
  }
  OldTrainingJobs old(*service_);
  EXPECT_EQ(old.versions(old.find("assay")->job_id).at(0).version_name, "V0002");
}

}  // namespace
}  // namespace assay::cloud
