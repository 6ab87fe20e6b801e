#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "engine/slurm_job.h"
#include "temporary_folder.h"

namespace assay::engine {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

Order order() {
  Order order;
  order.execution = {7, 2};
  order.folder = "/data/jobs/7/attempt-2";
  order.submission.nodes = 2;
  order.submission.procs = 4;
  return order;
}

const std::vector<slurm::Node> kProcessorsOnly{{.name = "n1", .processors = 8}};
const std::vector<slurm::Node> kGpus{
    {.name = "n1", .processors = 8, .device_kind = "gpu", .device_type = "h200", .devices = 8}};

TEST(SlurmJobOptions, AskForNodesAndWhatEachIsToHave) {
  const auto args = sbatch_args(order(), {}, kProcessorsOnly);
  EXPECT_THAT(args, IsSupersetOf({"--job-name=assay-7", "--no-requeue", "--nodes=2-2",
                                  "--ntasks-per-node=1", "--cpus-per-task=4",
                                  "--chdir=/data/jobs/7/attempt-2/work"}));
  EXPECT_EQ(args.back(), "/data/jobs/7/attempt-2/batch.sh");
  EXPECT_THAT(args, Not(Contains(StartsWith("--time"))));
  EXPECT_THAT(args, Not(Contains(StartsWith("--partition"))));
  EXPECT_THAT(args, Not(Contains(StartsWith("--nice"))));
}

TEST(SlurmJobOptions, DevicesAreSlurmsGenericResources) {
  Order job = order();
  EXPECT_THAT(sbatch_args(job, {}, kGpus), Contains("--gres=gpu:4"));
  job.submission.device_type = "h200";
  EXPECT_THAT(sbatch_args(job, {}, kGpus), Contains("--gres=gpu:h200:4"));
  job.submission.device_type = "cpu";
  EXPECT_THAT(sbatch_args(job, {}, kGpus), Contains("--cpus-per-task=4"));
  job.submission.device_type = "b300";
  EXPECT_THROW((void)sbatch_args(job, {}, kGpus), Error);
}

TEST(SlurmJobOptions, WhereAndForHowLong) {
  Order job = order();
  job.submission.time = jobs::WrittenDuration{std::chrono::seconds(90)};
  job.submission.priority = 60;
  job.submission.whole_nodes = true;
  EXPECT_THAT(sbatch_args(job, {.partition = "gpu", .account = "vision", .qos = "high"}, {}),
              IsSupersetOf({"--partition=gpu", "--account=vision", "--qos=high", "--exclusive",
                            "--nice=40", "--time=4"}));
}

class BatchScript : public ::testing::Test {
 protected:
  /// Its exit code, with a program in place of assay.
  int run(const std::string& assay) {
    const ExecutionFolder folder(temporary_.path() / "it's one");
    const auto script = temporary_.write("batch.sh", batch_script(folder, assay));
    return run_command({"/bin/sh", script.string()}).status.code.value_or(-1);
  }
  void make_folder() { std::filesystem::create_directories(temporary_.path() / "it's one/work"); }
  std::filesystem::path program(const std::string& text) {
    return temporary_.write_program("assay", "#!/bin/sh\n" + text);
  }
  [[nodiscard]] std::string log() const {
    return read_file_or_empty(temporary_.path() / "it's one/controller.log");
  }

  testing::TemporaryFolder temporary_;
};

TEST_F(BatchScript, SaysThatItsFolderIsNotOnTheNode) {
  EXPECT_EQ(run("/bin/true"), kNoFolderCode);
}

TEST_F(BatchScript, SaysThatAssayIsNotOnTheNode) {
  make_folder();
  EXPECT_EQ(run("/nowhere/assay"), kNoProgramCode);
}

TEST_F(BatchScript, RunsTheControllerInItsWorkFolder) {
  make_folder();
  EXPECT_EQ(run(program("pwd; echo $1; touch ../end.json; exit 5\n").string()), 5);
  EXPECT_THAT(log(), ::testing::HasSubstr("it's one/work\njob-controller\n"));
  EXPECT_THAT(log(), Not(::testing::HasSubstr("--sweep")));
}

TEST_F(BatchScript, SweepsAfterAControllerThatWasKilled) {
  make_folder();
  EXPECT_EQ(run(program("echo $*; [ \"$3\" = --sweep ] || kill -KILL $$\n").string()), 128 + 9);
  EXPECT_THAT(log(), ::testing::HasSubstr("--sweep"));
}

TEST_F(BatchScript, HandsSignalsToTheController) {
  make_folder();
  // The controller signals the script itself, and ends when that comes back.
  EXPECT_EQ(run(program("trap 'touch ../end.json; exit 3' TERM\nkill -TERM $PPID\n"
                        "while :; do sleep 0.05; done\n")
                    .string()),
            3);
}

}  // namespace
}  // namespace assay::engine
