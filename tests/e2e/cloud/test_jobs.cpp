#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/modelarts.h"
#include "cloud/training_jobs_v1.h"
#include "core/files.h"
#include "core/text.h"
#include "e2e/cloud/emulator_process.h"
#include "eventually.h"

namespace assay::cloud {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// $out and $in of a boot file: what it was given as --train_url and --data_url.
constexpr const char* kArguments = R"(
for a in "$@"; do case $a in --train_url=*) out=${a#*=};; --data_url=*) in=${a#*=};; esac; done
)";

/// A dead process that its parent has not noticed yet does not live.
bool lives(pid_t pid) {
  const std::string stat = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

/// Jobs of a shell script that really run.
class RunningJobs : public EmulatorTest {
 protected:
  void use(const std::string& script, Json settings = Json::object()) {
    Json all = {{"run_jobs", true}, {"job_pending_s", 0}, {"job_upload_s", 0.05}};
    all.update(settings);
    start(all);
    bucket().put("code/boot.sh", kArguments + script);
    service_.emplace(client_, credentials_, url(), kProject);
    jobs_.emplace(*service_);
  }
  static TrainingJobSpec spec(int nodes, const std::string& flavor = "modelarts.vm.cpu.2u") {
    TrainingJobSpec spec;
    spec.name = "job";
    spec.code_dir = "/bucket-one/code/";
    spec.boot_file = "/bucket-one/code/boot.sh";
    spec.engine_id = kEngine;
    spec.outputs = {{"train_url", "/bucket-one/out/"}};
    spec.flavor_id = flavor;
    spec.node_count = nodes;
    spec.log_url = "/bucket-one/log/";
    return spec;
  }
  void wait_for(const char* what, const std::function<bool()>& condition) {
    ASSERT_TRUE(testing::eventually(condition, std::chrono::minutes(1))) << what;
  }
  TrainingJob wait(const std::string& id) {
    wait_for("the job ends", [&] { return has_ended(jobs_->get(id).phase); });
    return jobs_->get(id);
  }
  TrainingJob run(const TrainingJobSpec& spec) { return wait(jobs_->create(spec).id); }
  std::string log_of(const TrainingJob& job, int worker) {
    const std::string key =
        "log/modelarts-job-" + job.id + "-worker-" + std::to_string(worker) + ".log";
    return bucket().head(key) ? bucket().get(key) : "";
  }
  void wait_for_word(const TrainingJob& job, const std::string& word) {
    wait_for("the log is uploaded while the job runs",
             [&] { return log_of(job, 0).find(word) != std::string::npos; });
  }

  std::optional<ModelArtsService> service_;
  std::optional<TrainingJobs> jobs_;
};

TEST_F(RunningJobs, StartTheBootFileOnEveryCardOfEveryInstance) {
  use("echo $RANK_ID $RANK_SIZE $ASCEND_DEVICE_ID $VC_TASK_INDEX $MA_NUM_HOSTS $VC_WORKER_HOSTS "
      "> $out/rank_$RANK_ID.txt; grep -c rank_id $RANK_TABLE_FILE > $out/table_$RANK_ID.txt");
  const TrainingJob job = run(spec(2, "modelarts.kat1.2xlarge"));
  EXPECT_EQ(job.phase, JobPhase::completed) << job.message;
  EXPECT_EQ(bucket().get("out/rank_0.txt"), "0 4 0 0 2 127.0.0.1,127.0.0.1\n");
  EXPECT_EQ(bucket().get("out/rank_3.txt"), "3 4 1 1 2 127.0.0.1,127.0.0.1\n");
  EXPECT_EQ(bucket().get("out/table_2.txt"), "4\n");
}

TEST_F(RunningJobs, StartTheBootFileOnceForEveryInstanceWithoutCards) {
  use("echo ${RANK_ID-none} $VC_TASK_INDEX >> $out/$VC_TASK_INDEX.txt");
  EXPECT_EQ(run(spec(2)).phase, JobPhase::completed);
  EXPECT_EQ(bucket().get("out/0.txt"), "none 0\n");
  EXPECT_EQ(bucket().get("out/1.txt"), "none 1\n");
}

TEST_F(RunningJobs, HaveTheirCodeInputsParametersAndEnvironment) {
  use("cat \"$in/train/a.txt\" lib/b.txt; echo $PRE $MINE; echo \"$@\"");
  bucket().put("data/train/a.txt", "data\n");
  bucket().put("code/lib/b.txt", "library\n");
  bucket().put("code/ma-pre-start.sh", "export PRE=prepared\n");
  TrainingJobSpec wanted = spec(1);
  wanted.inputs = {{"data_url", "/bucket-one/data/"}};
  wanted.parameters = {{"epoch_size", "90"}, {"name", "two words"}};
  wanted.environment = {{"MINE", "given"}};
  const TrainingJob job = run(wanted);
  EXPECT_EQ(job.phase, JobPhase::completed) << job.message;
  EXPECT_THAT(log_of(job, 0), StartsWith("data\nlibrary\nprepared given\n"));
  EXPECT_THAT(log_of(job, 0), HasSubstr("--epoch_size=90 --name=two words\n"));
}

TEST_F(RunningJobs, UploadTheirLogsWhileTheyRun) {
  use("echo first; while [ ! -e $GO ]; do sleep 0.02; done; echo second");
  TrainingJobSpec wanted = spec(1);
  wanted.environment = {{"GO", (folder_ / "go").string()}};
  const TrainingJob job = jobs_->create(wanted);
  wait_for_word(job, "first\n");
  EXPECT_EQ(jobs_->get(job.id).phase, JobPhase::running);
  EXPECT_EQ(jobs_->log(job.id, "worker-0")->content, "first\n");
  write_file_atomic(folder_ / "go", "", false);
  EXPECT_EQ(wait(job.id).phase, JobPhase::completed);
  EXPECT_EQ(log_of(job, 0), "first\nsecond\n");
}

TEST_F(RunningJobs, FailWithTheirFirstProcessThatFailsAndNameIt) {
  use("[ $VC_TASK_INDEX = 1 ] && exit 3; sleep 600");
  const TrainingJob job = run(spec(2));
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("worker-1: exit 3"));
  EXPECT_THAT(job.message, Not(HasSubstr("worker-0")));
}

TEST_F(RunningJobs, FailWhenTheirInputsAreNotThere) {
  use("true");
  TrainingJobSpec wanted = spec(1);
  wanted.inputs = {{"data_url", "/bucket-one/nowhere/"}};
  const TrainingJob job = run(wanted);
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("there is nothing at /bucket-one/nowhere/"));
}

TEST_F(RunningJobs, LeaveNoProcessBehindWhenTheyAreStopped) {
  use("setsid sleep 600 & echo pid $!; trap 'echo asked; exit 1' TERM; wait; sleep 600");
  const TrainingJob job = jobs_->create(spec(1));
  wait_for_word(job, "\n");
  const pid_t pid = std::stoi(log_of(job, 0).substr(4));
  EXPECT_TRUE(lives(pid));
  (void)jobs_->stop(job.id);
  const TrainingJob ended = wait(job.id);
  EXPECT_EQ(ended.phase, JobPhase::stopped);
  EXPECT_THAT(log_of(job, 0), HasSubstr("asked"));
  EXPECT_FALSE(lives(pid));
}

TEST_F(RunningJobs, EndWithTheEmulator) {
  use("setsid sleep 600 & echo $! > $PIDS; echo started; wait");
  TrainingJobSpec wanted = spec(1);
  wanted.environment = {{"PIDS", (folder_ / "pids").string()}};
  wait_for_word(jobs_->create(wanted), "started");
  const pid_t pid = std::stoi(read_file(folder_ / "pids"));
  EXPECT_TRUE(lives(pid));
  end();
  EXPECT_FALSE(lives(pid));
}

TEST_F(RunningJobs, EndWithAnEmulatorThatIsKilled) {
  use("echo $$ > $PIDS; echo started; exec sleep 600");
  TrainingJobSpec wanted = spec(1);
  wanted.environment = {{"PIDS", (folder_ / "pids").string()}};
  wait_for_word(jobs_->create(wanted), "started");
  const pid_t pid = std::stoi(read_file(folder_ / "pids"));
  EXPECT_TRUE(lives(pid));
  kill_emulator();
  wait_for("the kernel ends its processes", [&] { return !lives(pid); });
}

TEST_F(RunningJobs, AreEndedWhenTheyUseTooMuchCpuTime) {
  use("while :; do :; done", {{"job_cpu_s", 1}});
  const TrainingJob job = run(spec(1));
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("SIGXCPU"));
}

TEST_F(RunningJobs, AreEndedWhenTheirTimeIsOver) {
  use("sleep 600", {{"job_time_s", 0.2}});
  const TrainingJob job = run(spec(1));
  EXPECT_EQ(job.phase, JobPhase::stopped);
  EXPECT_THAT(job.message, HasSubstr("ran out of its time"));
}

TEST_F(RunningJobs, OfMoreProcessesThanAllowedFail) {
  use("true", {{"job_processes", 8}});
  const TrainingJob job = run(spec(2, "modelarts.kat1.8xlarge"));
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("16 processes, the emulator starts at most 8"));
}

TEST_F(RunningJobs, WaitUntilThereIsRoom) {
  use("[ -e $GO ] || { echo first; while [ ! -e $GO ]; do sleep 0.02; done; }",
      {{"job_processes", 1}});
  TrainingJobSpec wanted = spec(1);
  wanted.environment = {{"GO", (folder_ / "go").string()}};
  const TrainingJob first = jobs_->create(wanted);
  wait_for_word(first, "first");
  wanted.name = "job-2";
  const TrainingJob second = jobs_->create(wanted);
  EXPECT_EQ(jobs_->get(second.id).phase, JobPhase::waiting);
  write_file_atomic(folder_ / "go", "", false);
  EXPECT_EQ(wait(first.id).phase, JobPhase::completed);
  EXPECT_EQ(wait(second.id).phase, JobPhase::completed);
}

TEST_F(RunningJobs, CanBeToldToFail) {
  use("echo started; sleep 600");
  job_fault({{"kind", "fail"}, {"task", 1}, {"after_s", 0.1}});
  const TrainingJob job = run(spec(2));
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("worker-1: exit 137 SIGKILL"));
}

TEST_F(RunningJobs, CanBeToldNeverToStart) {
  use("true");
  job_fault({{"kind", "never-start"}});
  const TrainingJob job = jobs_->create(spec(1));
  EXPECT_EQ(jobs_->get(job.id).phase, JobPhase::waiting);
  EXPECT_FALSE(jobs_->log(job.id, "worker-0"));
  (void)jobs_->stop(job.id);
  EXPECT_EQ(wait(job.id).phase, JobPhase::stopped);
}

TEST_F(RunningJobs, CanBeToldToHangAndAreStoppedThen) {
  use("while :; do echo tick; sleep 0.02; done");
  job_fault({{"kind", "hang"}, {"after_s", 0.1}});
  const TrainingJob job = jobs_->create(spec(1));
  std::string before;
  wait_for("the log grows no more", [&] {
    const std::string now = log_of(job, 0);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // fifty ticks
    before = log_of(job, 0);
    return !now.empty() && now == before;
  });
  EXPECT_EQ(jobs_->get(job.id).phase, JobPhase::running);
  (void)jobs_->stop(job.id);
  EXPECT_EQ(wait(job.id).phase, JobPhase::stopped);
}

TEST_F(RunningJobs, CanBePreempted) {
  use("echo started; sleep 600");
  job_fault({{"kind", "preempt"}, {"after_s", 0.1}});
  const TrainingJob job = run(spec(1));
  EXPECT_EQ(job.phase_text, "Abnormal");
  EXPECT_EQ(job.phase, JobPhase::failed);
  EXPECT_THAT(job.message, HasSubstr("preempted"));
}

TEST_F(RunningJobs, CanBeRescheduledAndThenRunAgain) {
  use("echo started; [ -e $MARK ] && exit 0; : > $MARK; sleep 600");
  job_fault({{"kind", "reschedule"}, {"after_s", 0.3}});
  TrainingJobSpec wanted = spec(1);
  wanted.environment = {{"MARK", (folder_ / "mark").string()}};
  const TrainingJob job = run(wanted);
  EXPECT_EQ(job.phase, JobPhase::completed) << job.message;
  EXPECT_EQ(log_of(job, 0), "started\nstarted\n");
  EXPECT_EQ(job.raw["status"]["running_records"][0]["end_recover"], "job_reschedule");
}

TEST_F(RunningJobs, CanBeKilledFromTheConsole) {
  use("echo started; sleep 600");
  job_fault({{"kind", "kill"}, {"job", "job"}, {"after_s", 0.1}});
  EXPECT_EQ(run(spec(1)).phase, JobPhase::stopped);
}

TEST_F(RunningJobs, RunAsVersionsInV1) {
  use("echo $RANK_ID of $RANK_SIZE; echo 1.5 > $out/throughput_$RANK_ID.json");
  OldTrainingJobs old(*service_);
  OldJobSpec wanted;
  wanted.name = "aisbench-debug";
  wanted.code_dir = "/bucket-one/code/";
  wanted.boot_file = "/bucket-one/code/boot.sh";
  wanted.train_url = wanted.log_url = "/bucket-one/out/V1/";
  wanted.spec_code = "modelarts.kat1.xlarge";
  wanted.engine_name = "Ascend-Powered-Engine";
  wanted.engine_version = kOldEngine;
  wanted.node_count = 2;
  const OldJob job = old.create(wanted);
  wait_for("the version ends",
           [&] { return has_ended(old.get(job.job_id, job.version_id).phase); });
  EXPECT_EQ(old.get(job.job_id, job.version_id).status, 10);
  EXPECT_EQ(bucket().get("out/V1/throughput_1.json"), "1.5\n");
  EXPECT_EQ(bucket().get("out/V1/" + job.resource_id + "-job-aisbench-debug-1.log"), "1 of 2\n");
}

}  // namespace
}  // namespace assay::cloud
