#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accounts/accounts.h"
#include "core/files.h"
#include "error_of.h"
#include "jobs/job_store.h"
#include "site/backup.h"
#include "site/databases.h"
#include "site/first_start.h"
#include "temporary_folder.h"

namespace assay::site {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
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
  void make_job() {
    jobs::NewJob job;
    job.owner = "admin";
    job.submission.name = "a";
    job.submission.command = "true";
    (void)jobs::JobStore(data_ / "jobs.db").submit(job, 1);
    make_directories(data_ / "jobs/1/attempt-1");
    write_file_atomic(data_ / "jobs/1/attempt-1/result.json", "{}");
  }
  testing::TemporaryFolder folder_;
  std::filesystem::path data_ = folder_.path() / "data";
  std::filesystem::path copy_ = folder_.path() / "copy";
  std::filesystem::path again_ = folder_.path() / "again";
};

TEST_F(BackupTest, AccountsAndClusterComeBack) {
  backup_platform(data_, copy_);
  (void)check_backup(copy_);
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
  (void)check_backup(copy_);
  EXPECT_EQ(read_file(copy_ / "jobs/1/attempt-1/run/result.json"), "{}");
  EXPECT_TRUE(std::filesystem::is_symlink(copy_ / "jobs/1/attempt-1/link"));
  EXPECT_EQ(read_file(copy_ / "code/uploads/u/train.sh"), "{}");
  EXPECT_FALSE(std::filesystem::exists(copy_ / "jobs/2")) << "no job of the copy";
}

// Neither the key nor what lies on the disk until Slurm has started a job.
TEST_F(BackupTest, OfSecretsItHasWhatNobodyCanReadAlone) {
  accounts::Accounts(accounts_file(data_))
      .put_secret({.of = "admin", .name = "hf", .author = "admin"}, "hunter2-and-more");
  make_job();
  write_file_atomic(data_ / "jobs/1/attempt-1/secrets.json", "{\"HF\": \"hunter2-and-more\"}");
  backup_platform(data_, copy_);
  (void)check_backup(copy_);
  for (const auto& file : std::filesystem::recursive_directory_iterator(copy_))
    if (file.is_regular_file()) {
      EXPECT_THAT(read_file(file.path()), ::testing::Not(HasSubstr("hunter2"))) << file.path();
    }
  EXPECT_TRUE(std::filesystem::exists(data_ / "jobs/1/attempt-1/secrets.json"));
  EXPECT_EQ(key_left_out(data_), data_ / accounts::kSecretsKey);
  EXPECT_EQ(key_left_out(copy_), "");
  accounts::Accounts restored(accounts_file(copy_));
  ASSERT_EQ(restored.secrets("admin", {}).size(), 1U);
  EXPECT_FALSE(restored.secrets("admin", {}).front().usable);
}

TEST_F(BackupTest, ADamagedCopyIsNotTaken) {
  backup_platform(data_, copy_);
  write_file_atomic(copy_ / "cluster.json", "{");
  EXPECT_NE(error_of([&] { (void)check_backup(copy_); }), "no error");
  write_file_atomic(copy_ / "cluster.json", "{}");
  write_file_atomic(copy_ / "accounts.db", "not a database at all, but long enough for a header");
  EXPECT_NE(error_of([&] { (void)check_backup(copy_); }), "no error");
}

TEST_F(BackupTest, ATesterWithoutJobsHasNothingToCopy) {
  backup_platform(again_, copy_);
  EXPECT_TRUE(check_backup(copy_)->files.empty());
}

TEST_F(BackupTest, WhatIsMissingChangedOrAddedIsNamed) {
  make_job();
  std::filesystem::create_symlink("result.json", data_ / "jobs/1/attempt-1/link");
  backup_platform(data_, copy_);
  ASSERT_TRUE(check_backup(copy_));
  const auto problem = [&] { return error_of([&] { (void)check_backup(copy_); }); };
  for (const char* name : {"jobs.db", "accounts.db", "cluster.json", "jobs/1/attempt-1/result.json",
                           "jobs/1/attempt-1/link"}) {
    const std::filesystem::path file = copy_ / name;
    std::filesystem::rename(file, folder_.path() / "away");
    EXPECT_THAT(problem(), HasSubstr(std::string(name) + " is missing"));
    EXPECT_FALSE(verify_platform(copy_, false).empty());
    std::filesystem::rename(folder_.path() / "away", file);
    if (std::filesystem::is_symlink(file)) continue;
    const std::string before = read_file(file);
    std::string flipped = before;
    flipped[before.size() / 2] ^= 1;
    write_file_atomic(file, flipped);
    EXPECT_THAT(problem(), HasSubstr(std::string(name) + " has other content"));
    write_file_atomic(file, before);
  }
  write_file_atomic(copy_ / "jobs/1/added", "");
  EXPECT_THAT(problem(), HasSubstr("jobs/1/added is not in the list"));
  std::filesystem::remove(copy_ / "jobs/1/added");
  EXPECT_EQ(problem(), "no error");
  EXPECT_TRUE(verify_platform(copy_, true).empty());
}

TEST_F(BackupTest, AListThatCannotBeReadIsNoReasonToTakeTheRest) {
  backup_platform(data_, copy_);
  write_file_atomic(copy_ / "backup.json", "{");
  EXPECT_THAT(error_of([&] { (void)check_backup(copy_); }), HasSubstr("list"));
  write_file_atomic(copy_ / "backup.json",
                    R"({"format": 1, "from": "", "made": "", "made_ns": 1,
                        "files": [{"path": "../data/cluster.json"}]})");
  EXPECT_THAT(error_of([&] { (void)check_backup(copy_); }), HasSubstr("leads out"));
}

TEST_F(BackupTest, OfAnEarlierVersionIsTakenWithoutAList) {
  make_job();
  backup_platform(data_, copy_);
  std::filesystem::remove(copy_ / "backup.json");
  EXPECT_FALSE(check_backup(copy_));
  std::filesystem::remove(copy_ / "jobs.db");
  EXPECT_THAT(error_of([&] { (void)check_backup(copy_); }), HasSubstr("it is missing, although"));
}

TEST_F(BackupTest, WhatHasArrivedOfAnUploadIsLeftOut) {
  make_directories(data_ / "code/people/p/partial");
  write_file_atomic(data_ / "code/people/p/partial/abcd", "a");
  backup_platform(data_, copy_);
  write_file_atomic(data_ / "code/people/p/partial/abcd", "ab");
  EXPECT_TRUE(check_backup(copy_));
}

// SQLite makes an empty file a new database.
TEST_F(BackupTest, ADatabaseThatIsGoneOrEmptyIsNotANewOne) {
  make_job();
  EXPECT_NO_THROW(require_databases(data_, true));
  EXPECT_TRUE(verify_platform(data_, false).empty());
  for (const char* name : {"jobs.db", "accounts.db"}) {
    const auto problem = [&] { return error_of([&] { require_databases(data_, false); }); };
    std::filesystem::rename(data_ / name, folder_.path() / "away");
    EXPECT_THAT(problem(), HasSubstr("it is missing, although"));
    EXPECT_THAT(verify_platform(data_, false), Contains(HasSubstr(name)));
    write_file_atomic(data_ / name, "");
    EXPECT_THAT(problem(), HasSubstr("it is empty, although"));
    EXPECT_THAT(verify_platform(data_, false), Contains(HasSubstr(name)));
    std::filesystem::rename(folder_.path() / "away", data_ / name);
  }
  EXPECT_NO_THROW(require_databases(again_, false)) << "a new folder";
  EXPECT_THAT(error_of([&] { require_databases(again_, true); }), HasSubstr("folder.json"));
}

TEST_F(BackupTest, JobsWithoutAFolderAndFoldersWithoutAJobAreFound) {
  make_job();
  make_directories(data_ / "jobs/7");
  EXPECT_THAT(verify_platform(data_, false), ElementsAre(HasSubstr("jobs/7: the database")));
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
