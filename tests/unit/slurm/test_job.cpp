#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/job.h"

namespace assay::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SlurmJob, ALineOfSqueueIsAJob) {
  const auto jobs = parse_jobs(
      "17\x1fRUNNING\x1fNone\x1f"
      "ann\x1fgpu\x1f"
      "2\x1fn[1-2]\x1f"
      "1763380000\x1f"
      "1763380060\x1f"
      "1763383660\x1f/data/jobs/7/attempt-1/work\x1f"
      "assay-7\n");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, "17");
  EXPECT_EQ(jobs[0].state, JobState::running);
  EXPECT_EQ(jobs[0].user, "ann");
  EXPECT_EQ(jobs[0].partition, "gpu");
  EXPECT_EQ(jobs[0].nodes, 2);
  EXPECT_EQ(jobs[0].node_list, "n[1-2]");
  EXPECT_EQ(jobs[0].submit_s, 1763380000);
  EXPECT_EQ(jobs[0].start_s, 1763380060);
  EXPECT_EQ(jobs[0].end_s, 1763383660);
  EXPECT_EQ(jobs[0].work_folder, "/data/jobs/7/attempt-1/work");
  EXPECT_EQ(jobs[0].name, "assay-7");
}

TEST(SlurmJob, WhatIsNoJobIsLeftOut) {
  EXPECT_THAT(parse_jobs(""), IsEmpty());
  EXPECT_THAT(parse_jobs("nonsense\n\n17\x1fRUNNING\n"), IsEmpty());
  EXPECT_THAT(parse_jobs("17|RUNNING|None|ann|gpu|2|n1|1|2|3|/|x\n"), IsEmpty());
}

TEST(SlurmJob, TimesThatSlurmDoesNotKnowAreNone) {
  const auto jobs = parse_jobs(
      "17\x1fPENDING\x1fPriority\x1f"
      "ann\x1fgpu\x1f"
      "1\x1f\x1f"
      "1763380000\x1fN/A\x1fN/A\x1f/\x1fx\n");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].start_s, 0);
  EXPECT_EQ(jobs[0].node_list, "");
}

TEST(SlurmJob, IsReadFromSlurmsAccounting) {
  const auto job = parse_accounting("17|TIMEOUT|n[1-2]|1763380060|1763383660\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "17");
  EXPECT_EQ(job->state, JobState::timeout);
  EXPECT_EQ(job->node_list, "n[1-2]");
  EXPECT_EQ(job->start_s, 1763380060);
  EXPECT_EQ(job->end_s, 1763383660);
  const auto requeued = parse_accounting(
      "17|NODE_FAIL|n1|1763380060|1763380070\n17|CANCELLED by 0|None "
      "assigned|Unknown|1763390000\n");
  ASSERT_TRUE(requeued);
  EXPECT_EQ(requeued->state, JobState::cancelled);
  EXPECT_EQ(requeued->state_text, "CANCELLED by 0");
  EXPECT_EQ(requeued->node_list, "");
  EXPECT_EQ(requeued->start_s, 0);
  for (const char* nothing : {"", "\n", "17|RUNNING\n", "|||| \n"})
    EXPECT_FALSE(parse_accounting(nothing)) << nothing;
}

TEST(SlurmJob, OnlyWhatSlurmSaysToHaveEndedHas) {
  for (const char* state : {"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING",
                            "REQUEUED", "SOMETHING_NEW", ""})
    EXPECT_TRUE(is_active(parse_job_state(state))) << state;
  for (const char* state :
       {"COMPLETED", "CANCELLED", "CANCELLED by 1000", "CANCELLED+", "FAILED", "TIMEOUT",
        "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED"})
    EXPECT_FALSE(is_active(parse_job_state(state))) << state;
}

TEST(SlurmJob, AStateOfANewerSlurmIsKeptAsItWasSaid) {
  const auto job = parse_accounting("17|EXPEDITING|n1|1763380060|Unknown\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, JobState::unknown);
  EXPECT_EQ(job->state_text, "EXPEDITING");
  EXPECT_EQ(parse_job_state("COMPLETED_SOMEHOW"), JobState::unknown) << "the whole word counts";
}

TEST(SlurmJob, EveryStateIsReadByItsName) {
  for (const JobState state : enum_values<JobState>())
    EXPECT_EQ(parse_job_state(to_text(state)), state);
}

TEST(SlurmJob, APendingJobSaysWhyInPlainWords) {
  EXPECT_EQ(describe_pending({.id = "17", .state = JobState::pending, .reason = "Resources"}),
            "job 17 is pending: Resources (the nodes it needs are in use)");
  EXPECT_EQ(describe_pending({.id = "17", .state = JobState::pending, .reason = "Mystery"}),
            "job 17 is pending: Mystery");
  EXPECT_EQ(describe_pending({.id = "17", .state = JobState::pending, .reason = "None"}),
            "job 17 is pending");
  EXPECT_EQ(describe_pending({.id = "17", .state = JobState::running}), "");
  EXPECT_EQ(reason_in_words("QOSMaxCpuPerUserLimit"), "a limit of the QOS is reached");
  EXPECT_EQ(reason_in_words("ReqNodeNotAvail, UnavailableNodes:n1"),
            "nodes it needs are down or reserved");
}

TEST(SlurmJob, AnEndThatSlurmCausedIsExplained) {
  EXPECT_THAT(describe_end({.id = "17", .state = JobState::preempted}), HasSubstr("pre-empted"));
  EXPECT_THAT(describe_end({.id = "17", .state = JobState::node_fail}), HasSubstr("node"));
  EXPECT_THAT(describe_end({.id = "17", .state = JobState::cancelled}), HasSubstr("cancelled"));
  EXPECT_THAT(describe_end({.id = "17", .state = JobState::timeout}), HasSubstr("time limit"));
  EXPECT_EQ(describe_end({.id = "17", .state = JobState::completed}), "");
}

}  // namespace
}  // namespace assay::slurm
