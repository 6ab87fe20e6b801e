// The platform with Slurm beneath it: a real slurmctld, four nodes, the real server and commands.

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json_access.h"
#include "core/text.h"
#include "e2e/platform/platform_test.h"
#include "e2e/slurm_cluster.h"

namespace assay::e2e {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SlurmPlatform : public PlatformTest {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);  // Slurm's commands print local times
    slurm_.emplace(folder_, 4, 2, memory());
    if (!slurm_->missing().empty()) GTEST_SKIP() << slurm_->missing();
    if (!slurm_->broken().empty()) GTEST_SKIP() << slurm_->broken();
    PlatformTest::SetUp();
  }
  void TearDown() override {
    stop_server();
    slurm_.reset();
    ::unsetenv("TZ");
    PlatformTest::TearDown();
  }
  [[nodiscard]] std::vector<std::string> server_options() const override { return {"--slurm"}; }
  [[nodiscard]] virtual SlurmMemory memory() const { return SlurmMemory::minutes; }

  /// A command that writes a line to a file of that name, and goes on until there is the file "go".
  [[nodiscard]] std::string until_told(const std::string& name) const {
    return "echo $ASSAY_RESTART_COUNT >> " + (folder_ / name).string() + "; while [ ! -e " +
           (folder_ / "go").string() + " ]; do sleep 0.1; done";
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    return read_file_or_empty(folder_ / name);
  }
  [[nodiscard]] bool has(const std::string& name, const std::string& text) const {
    return eventually([&] { return text_of(name) == text; }, seconds(120));
  }
  /// What `assay WORDS` prints, as soon as that has `text` in it; else what it printed last.
  [[nodiscard]] std::string shows(const std::vector<std::string>& words, const std::string& text) {
    std::string out;
    (void)eventually(
        [&] {
          out = assay(words).out;
          return out.find(text) != std::string::npos;
        },
        seconds(120));
    return out;
  }
  [[nodiscard]] std::string waits_for(long id) {
    return text_at(member_at(job(id), "pending"), "words");
  }
  static std::string slurm(std::vector<std::string> argv) {
    CommandOptions options;
    options.timeout = seconds(30);
    const CommandResult result = run_command(argv, options);
    EXPECT_TRUE(result.ok()) << argv.front() << ": " << result.err;
    return std::string(trim(result.out));
  }

  std::optional<SlurmCluster> slurm_;
};

TEST_F(SlurmPlatform, AJobOnFourNodesIsSubmittedFollowedAndJudged) {
  const CommandResult result =
      assay({"submit", "--command", "echo hello from rank $RANK of $WORLD_SIZE on $SLURMD_NODENAME",
             "--name", "hello", "--nodes", "4", "--no-code", "--follow"},
            seconds(200));
  EXPECT_EQ(result.status.code, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("job 1 is finished, VALID"));
  EXPECT_THAT(assay({"job", "1", "--logs"}).out, AllOf(HasSubstr("hello from rank 0 of 4 on n1"),
                                                       HasSubstr("hello from rank 3 of 4 on n4")));
  const CommandResult shown = assay({"job", "1"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("handed_over"), HasSubstr("Slurm job 1")));
}

TEST_F(SlurmPlatform, AJobThatSlurmLetsWaitSaysWhyAndRunsLater) {
  const long first =
      submit({"--command", until_told("first"), "--nodes", "4", "--procs", "2", "--time", "20m"});
  ASSERT_TRUE(becomes(first, "running"));
  const long second = submit({"--command", "true", "--nodes", "4", "--time", "5m"});
  EXPECT_TRUE(eventually([&] { return waits_for(second).find("are in use") != std::string::npos; },
                         seconds(120)))
      << waits_for(second);
  EXPECT_EQ(state(second), "scheduling");
  EXPECT_THAT(assay({"queue"}).out, HasSubstr("are in use"));
  // Slurm's planner says when: within the time that the first one has.
  EXPECT_TRUE(
      eventually([&] { return !text_at(job(second), "estimated_start").empty(); }, seconds(180)));
  // Nodes are looked at from time to time.
  EXPECT_TRUE(eventually(
      [&] { return assay({"nodes"}).out.find("allocated") != std::string::npos; }, seconds(60)));
  EXPECT_THAT(assay({"nodes"}).out, HasSubstr("8 of 8 devices used"));
  write("go", "");
  EXPECT_TRUE(becomes(first, "finished"));
  EXPECT_TRUE(becomes(second, "finished"));
}

TEST_F(SlurmPlatform, AJobIsCancelledWithAGraceWhileItRunsAndWhileItWaits) {
  const std::string saved = (folder_ / "saved").string();
  const long first = submit({"--command",
                             "trap 'echo saved > " + saved + "; exit 0' TERM; echo >> " +
                                 (folder_ / "ran").string() + "; while :; do sleep 0.1; done",
                             "--nodes", "4", "--procs", "1", "--devices", "2"});
  ASSERT_TRUE(has("ran", "\n\n\n\n"));
  const long second = submit({"--command", "true", "--nodes", "4"});
  EXPECT_EQ(assay({"cancel", std::to_string(second)}).status.code, 0);
  EXPECT_TRUE(becomes(second, "killed"));
  EXPECT_EQ(assay({"cancel", std::to_string(first)}).status.code, 0);
  EXPECT_TRUE(becomes(first, "killed"));
  EXPECT_EQ(text_of("saved"), "saved\n");
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, seconds(60)));
}

TEST_F(SlurmPlatform, AJobIsPausedAndGoesOn) {
  const long id = submit(
      {"--command", "[ \"$ASSAY_RESTART_COUNT\" -gt 0 ] && exec echo again; exec sleep 600"});
  ASSERT_TRUE(becomes(id, "running"));
  EXPECT_EQ(assay({"pause", std::to_string(id)}).status.code, 0);
  ASSERT_TRUE(becomes(id, "paused"));
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, seconds(60)));
  EXPECT_EQ(assay({"resume", std::to_string(id)}).status.code, 0);
  EXPECT_TRUE(becomes(id, "finished"));
  EXPECT_EQ(member_at(job(id), "life").value("restarts", 0), 1);
}

TEST_F(SlurmPlatform, NothingIsLostWithAServerThatIsKilled) {
  const long first =
      submit({"--command", until_told("first"), "--nodes", "4", "--procs", "1", "--devices", "2"});
  ASSERT_TRUE(becomes(first, "running"));
  ASSERT_TRUE(eventually([&] { return text_of("first").size() == 8; }, seconds(60)));
  const long second =
      submit({"--command", "echo $ASSAY_RESTART_COUNT >> " + (folder_ / "second").string()});
  ASSERT_TRUE(eventually([] { return SlurmCluster::jobs().size() == 2; }, seconds(60)));
  kill_server();
  write("go", "");  // one ends and one begins without a server
  ASSERT_TRUE(has("second", "0\n"));
  start_server();
  EXPECT_TRUE(becomes(first, "finished"));
  EXPECT_TRUE(becomes(second, "finished"));
  EXPECT_EQ(text_of("first"), "0\n0\n0\n0\n");
  EXPECT_EQ(text_of("second"), "0\n");
}

TEST_F(SlurmPlatform, ASlurmctldThatIsAwayIsSaidAndNothingIsLostNorRunTwice) {
  const long first = submit({"--command", until_told("first")});
  ASSERT_TRUE(has("first", "0\n"));
  slurm_->kill("slurmctld");
  const long second =
      submit({"--command", "echo $ASSAY_RESTART_COUNT >> " + (folder_ / "second").string()});
  EXPECT_THAT(shows({"nodes"}, "does not answer"),
              AllOf(HasSubstr("Slurm does not answer since"), HasSubstr("n4")));
  EXPECT_TRUE(eventually(
      [&] { return waits_for(second).find("does not answer") != std::string::npos; }, seconds(120)))
      << waits_for(second);
  write("go", "");  // what runs ends without it
  EXPECT_TRUE(becomes(first, "finished"));
  EXPECT_EQ(text_of("second"), "");
  slurm_->restart("slurmctld");
  EXPECT_TRUE(becomes(second, "finished"));
  EXPECT_EQ(text_of("first"), "0\n");
  EXPECT_EQ(text_of("second"), "0\n");
  EXPECT_TRUE(
      eventually([&] { return assay({"nodes"}).out.find("does not answer") == std::string::npos; },
                 seconds(120)));
}

TEST_F(SlurmPlatform, ASlurmctldThatHangsHoldsNobodyUp) {
  slurm_->signal("slurmctld", SIGSTOP);
  const std::string shown = shows({"nodes"}, "does not answer");
  const long id = submit({"--command", "true"});
  EXPECT_EQ(state(id), "scheduling");
  EXPECT_EQ(assay({"cancel", std::to_string(id)}).status.code, 0);
  EXPECT_TRUE(becomes(id, "killed")) << "what has not begun needs no word of Slurm";
  slurm_->signal("slurmctld", SIGCONT);
  EXPECT_THAT(shown, HasSubstr("Slurm does not answer since"));
}

TEST_F(SlurmPlatform, JobsThatWereSubmittedByHandAreShown) {
  const std::string id = slurm({"sbatch", "--parsable", "--job-name=by hand", "--nodes=2",
                                "--output=/dev/null", "--chdir=/tmp", "--wrap=sleep 600"});
  EXPECT_THAT(shows({"queue"}, "by hand"), AllOf(HasSubstr("Not submitted here, to be seen only"),
                                                 HasSubstr("running"), HasSubstr("n[1-2]")));
  const long own = submit({"--command", "true"});
  EXPECT_TRUE(becomes(own, "finished"));
  EXPECT_THAT(assay({"queue"}).out, Not(HasSubstr("assay-" + std::to_string(own))));
  EXPECT_EQ(assay({"cancel", "4711"}).status.code, 2);
  slurm({"scancel", id});
}

TEST_F(SlurmPlatform, NodesAreDrainedInSlurm) {
  EXPECT_THAT(assay({"nodes"}).out, AllOf(HasSubstr("n1"), HasSubstr("idle")));
  EXPECT_EQ(assay({"nodes", "drain", "n4", "--reason", "a fan is broken"}).status.code, 0);
  EXPECT_THAT(slurm({"sinfo", "--noheader", "--nodes=n4", "--partition=main", "--format=%T %E"}),
              HasSubstr("drained a fan is broken"));
  EXPECT_THAT(assay({"nodes"}).out, HasSubstr("drained: a fan is broken"));
  EXPECT_EQ(assay({"nodes", "undrain", "n4"}).status.code, 0);
  EXPECT_THAT(assay({"nodes"}).out, Not(HasSubstr("drained")));
  // By hand, too.
  slurm({"scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=by hand"});
  EXPECT_THAT(shows({"nodes"}, "drained: by hand"), HasSubstr("drained: by hand"));
}

TEST_F(SlurmPlatform, WhatSomebodyCancelsInSlurmIsKilled) {
  const long id = submit({"--command", until_told("ran")});
  ASSERT_TRUE(has("ran", "0\n"));
  slurm({"scancel", "--jobname=assay-" + std::to_string(id)});
  EXPECT_TRUE(becomes(id, "killed"));
  EXPECT_THAT(assay({"job", std::to_string(id)}).out, HasSubstr("cancelled from outside"));
}

TEST_F(SlurmPlatform, APreemptedJobGoesBackAndBeginsAgain) {
  const long first =
      submit({"--command", until_told("ran"), "--nodes", "4", "--procs", "1", "--devices", "2"});
  ASSERT_TRUE(eventually([&] { return text_of("ran").size() == 8; }, seconds(120)));
  // A partition is a queue by its own name.
  const long urgent = submit({"--command", "true", "--queue", "urgent", "--nodes", "4"});
  EXPECT_TRUE(becomes(urgent, "finished"));
  EXPECT_TRUE(
      eventually([&] { return text_of("ran").find('1') != std::string::npos; }, seconds(120)))
      << assay({"job", std::to_string(first)}).out;
  write("go", "");
  EXPECT_TRUE(becomes(first, "finished"));
  EXPECT_EQ(member_at(job(first), "life").value("restarts", 0), 1);
}

TEST_F(SlurmPlatform, AJobOfAnArrayHasItsTime) {
  const long first =
      submit({"--command", "sleep 600", "--time", "2s", "--array", "0-1", "--name", "short"});
  for (long id = first; id < first + 2; ++id) {
    EXPECT_TRUE(becomes(id, "killed"));
    EXPECT_EQ(text_at(member_at(job(id), "life"), "cause"), "time_limit");
  }
}

TEST_F(SlurmPlatform, WhatCannotRunSaysWhy) {
  const long many = submit({"--command", "true", "--nodes", "50"});
  EXPECT_TRUE(eventually(
      [&] { return waits_for(many).find("no such nodes, or not so many") != std::string::npos; },
      seconds(120)))
      << waits_for(many);
  EXPECT_EQ(assay({"cancel", std::to_string(many)}).status.code, 0);
  EXPECT_TRUE(becomes(many, "killed"));
  const long other = submit({"--command", "true", "--device-type", "H200"});
  ASSERT_TRUE(becomes(other, "error"));
  EXPECT_THAT(assay({"job", std::to_string(other)}).out,
              HasSubstr("no node of Slurm has devices of type H200"));
}

TEST_F(SlurmPlatform, SomebodyEntersARankOfAnotherNode) {
  const long id = submit({"--command", until_told("ran"), "--nodes", "2"});
  ASSERT_TRUE(eventually([&] { return text_of("ran").size() == 4; }, seconds(120)));
  const CommandResult inside =
      assay({"ssh", "--rank", "1", std::to_string(id), "echo $RANK on $SLURMD_NODENAME; exit 7"},
            seconds(120));
  EXPECT_THAT(inside.out, HasSubstr("1 on n2")) << inside.err;
  EXPECT_EQ(inside.status.code, 7);
  write("go", "");
  EXPECT_TRUE(becomes(id, "finished"));
}

class AccountedSlurmPlatform : public SlurmPlatform {
 protected:
  [[nodiscard]] SlurmMemory memory() const override { return SlurmMemory::accounting; }

  /// Waits until slurmctld has forgotten the jobs that have ended.
  [[nodiscard]] static bool slurmctld_forgets(const std::string& slurm_job) {
    return eventually(
        [&] {
          const CommandResult shown = run_command({"scontrol", "show", "job", slurm_job}, {});
          return shown.err.find("Invalid job id") != std::string::npos;
        },
        seconds(120));
  }
  [[nodiscard]] static std::string accounted(const std::string& slurm_job,
                                             const std::string& field) {
    return slurm({"sacct", "--jobs=" + slurm_job, "--allocations", "--noheader", "--parsable2",
                  "--format=" + field});
  }
  [[nodiscard]] static std::string only_slurm_job() {
    const auto ids = SlurmCluster::jobs();
    return ids.size() == 1 ? ids.front() : "";
  }
};

TEST_F(AccountedSlurmPlatform, WhatWasCancelledLongAgoWithoutAServerIsKnownFromTheAccounting) {
  const long id = submit({"--command", until_told("ran")});
  ASSERT_TRUE(has("ran", "0\n"));
  const std::string slurm_job = only_slurm_job();
  kill_server();
  slurm({"scancel", slurm_job});
  ASSERT_TRUE(slurmctld_forgets(slurm_job));
  // Slurm's accounting is behind by a moment.
  ASSERT_TRUE(eventually([&] { return accounted(slurm_job, "State").starts_with("CANCELLED"); },
                         seconds(60)));
  start_server();
  EXPECT_TRUE(becomes(id, "killed"));
  EXPECT_THAT(assay({"job", std::to_string(id)}).out, HasSubstr("cancelled from outside"));
  EXPECT_EQ(text_of("ran"), "0\n");
}

TEST_F(AccountedSlurmPlatform, TimesOfAJobThatSlurmctldForgotAreTheAccountings) {
  const long id = submit({"--command", until_told("ran")});
  ASSERT_TRUE(has("ran", "0\n"));
  const std::string slurm_job = only_slurm_job();
  kill_server();
  // A controller that is killed with all its processes says nothing of its end.
  slurm({"scancel", "--signal=KILL", "--full", slurm_job});
  ASSERT_TRUE(slurmctld_forgets(slurm_job));
  ASSERT_TRUE(eventually([&] { return accounted(slurm_job, "End") != "Unknown"; }, seconds(60)));
  const std::string start = accounted(slurm_job, "Start");  // local time, as sacct prints it
  const std::string end = accounted(slurm_job, "End");
  start_server();
  ASSERT_TRUE(eventually([&] { return !text_at(job(id), "ended").empty(); }, seconds(120)));
  EXPECT_THAT(text_at(job(id), "started"), HasSubstr(start));
  EXPECT_THAT(text_at(job(id), "ended"), HasSubstr(end));
}

}  // namespace
}  // namespace assay::e2e
