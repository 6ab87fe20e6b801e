#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accounts/accounts.h"
#include "core/files.h"
#include "error_of.h"
#include "jobs/job_store.h"
#include "site/backup.h"
#include "site/first_start.h"
#include "temporary_folder.h"

namespace assay::site {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    for (const char* name : {"data", "copy", "again"}) make_directories(folder_.path() / name);
    accounts::Accounts accounts(accounts_file(data_));
    make_first_admin(accounts, 1);
    write_file_atomic(data_ / "cluster.json", "{}\n");
  }
  testing::TemporaryFolder folder_;
  std::filesystem::path data_ = folder_.path() / "data";
  std::filesystem::path copy_ = folder_.path() / "copy";
  std::filesystem::path again_ = folder_.path() / "again";
};

TEST_F(BackupTest, AccountsAndClusterComeBack) {
  backup_platform(data_, copy_);
  check_backup(copy_);
  accounts::Accounts accounts(accounts_file(copy_));
  EXPECT_TRUE(accounts.find("admin"));
  EXPECT_EQ(read_file(copy_ / "cluster.json"), "{}\n");
}

TEST_F(BackupTest, RunsOfTheJobsAndWhatWasSentForThemComeBack) {
  jobs::NewJob job;
  job.owner = "admin";
  job.submission.name = "a";
  job.submission.command = "true";
  (void)jobs::JobStore(data_ / "jobs.db").submit(job, 1);
  for (const char* file : {"jobs/1/attempt-1/run/result.json", "jobs/2/attempt-1/run/result.json",
                           "code/uploads/u/train.sh"}) {
    make_directories((data_ / file).parent_path());
    write_file_atomic(data_ / file, "{}");
  }
  std::filesystem::create_symlink("/etc/passwd", data_ / "jobs/1/attempt-1/link");
  backup_platform(data_, copy_);
  check_backup(copy_);
  EXPECT_EQ(read_file(copy_ / "jobs/1/attempt-1/run/result.json"), "{}");
  EXPECT_TRUE(std::filesystem::is_symlink(copy_ / "jobs/1/attempt-1/link"));
  EXPECT_EQ(read_file(copy_ / "code/uploads/u/train.sh"), "{}");
  EXPECT_FALSE(std::filesystem::exists(copy_ / "jobs/2")) << "no job of the copy";
}

TEST_F(BackupTest, ADamagedCopyIsNotTaken) {
  backup_platform(data_, copy_);
  write_file_atomic(copy_ / "cluster.json", "{");
  EXPECT_NE(error_of([&] { check_backup(copy_); }), "no error");
  write_file_atomic(copy_ / "cluster.json", "{}");
  write_file_atomic(copy_ / "accounts.db", "not a database at all, but long enough for a header");
  EXPECT_NE(error_of([&] { check_backup(copy_); }), "no error");
}

TEST_F(BackupTest, ATesterWithoutJobsHasNothingToCopy) {
  backup_platform(again_, copy_);
  EXPECT_TRUE(std::filesystem::is_empty(copy_));
}

TEST(FirstStartTest, TheTokenOfThisMachineIsKeptWhileItIsGood) {
  const testing::TemporaryFolder folder;
  accounts::Accounts accounts(accounts_file(folder.path()));
  make_first_admin(accounts, 1);
  keep_admin_token(folder.path(), accounts, 1);
  const std::string first = read_file(folder.path() / "admin.token");
  keep_admin_token(folder.path(), accounts, 2);
  EXPECT_EQ(read_file(folder.path() / "admin.token"), first);
  accounts.revoke_token("admin", "this-machine");
  keep_admin_token(folder.path(), accounts, 3);
  EXPECT_NE(read_file(folder.path() / "admin.token"), first);
}

TEST(FirstStartTest, AServerThatIsGoneIsNotTakenForARunningOne) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(running_server(folder.path()), "");
  write_server_file(folder.path(), "http://127.0.0.1:1");
  EXPECT_EQ(running_server(folder.path()), "http://127.0.0.1:1");
  write_file_atomic(folder.path() / "server.json", R"({"url": "http://x", "pid": 999999999})");
  EXPECT_EQ(running_server(folder.path()), "");
  write_file_atomic(folder.path() / "server.json", "{");
  EXPECT_EQ(running_server(folder.path()), "");
}

}  // namespace
}  // namespace assay::site
