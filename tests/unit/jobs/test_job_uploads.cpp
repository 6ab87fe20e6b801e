#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/job_store.h"
#include "jobs/job_uploads.h"
#include "temporary_folder.h"

namespace assay::jobs {
namespace {

TEST(JobUploads, AreThoseThatJobsNameWhileTheStoreIsOpen) {
  const testing::TemporaryFolder folder;
  JobStore store(folder.path() / "jobs.db");
  EXPECT_TRUE(uploads_in(folder.path() / "jobs.db").empty());
  for (const char* code : {"one", "", "two", "one"}) {
    NewJob job;
    job.submission.name = "a";
    job.submission.command = "true";
    job.owner = "ann";
    job.code = code;
    (void)store.submit(job, 1);
  }
  EXPECT_THAT(uploads_in(folder.path() / "jobs.db"), ::testing::ElementsAre("one", "two"));
}

}  // namespace
}  // namespace assay::jobs
