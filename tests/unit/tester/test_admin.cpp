#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/sha256.h"
#include "error_of.h"
#include "serve/audit.h"
#include "temporary_folder.h"
#include "tester/admin.h"
#include "tester/test_file.h"

namespace assay::tester {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string golden_result() {
  return read_file(fs::path(ASSAY_SOURCE_DIR) / "tests/golden/report/small.result.json");
}

/// A tester's folder with one accepted test.
class Admin : public ::testing::Test {
 protected:
  Admin() {
    Records records = open_records(data_);
    alice_ = records.add_token("alice");
    TestRecord wanted;
    wanted.token = "alice";
    wanted.name = "mine";
    bool is_new = false;
    TestRecord test = records.make_test(wanted, "", is_new);
    id_ = test.id;
    Manifest manifest;
    manifest.files = {{"plan.json", 4, sha256("plan")}, {"journal.jsonl", 3, sha256("log")}};
    records.set_manifest(id_, manifest, 1000);
    const fs::path folder = data_ / "tests" / id_;
    make_directories(folder / "files");
    write_file_atomic(folder / "files/0", "plan");
    write_file_atomic(folder / "files/1", "log");
    write_file_atomic(folder / "result.json", golden_result());
    write_file_atomic(folder / "report.html", "<p>report</p>");
    test.status = TestStatus::accepted;
    test.verdict = "VALID";
    test.answer = {{"status", "accepted"}};
    records.finish(test);
    Uploads uploads(data_);
    EXPECT_EQ(take_in_folders(data_, records, uploads), 0U);
    EXPECT_TRUE(fs::exists(folder / "test.json")) << "a test of an earlier version gets its file";
  }
  void damage_database() {
    std::fstream file(data_ / "tester.db", std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(200, 'x');
    fs::remove(data_ / "tester.db-wal");
    fs::remove(data_ / "tester.db-shm");
  }
  void expect_whole(const fs::path& data) {
    Records records = open_records(data);
    const auto test = records.test(id_);
    ASSERT_TRUE(test);
    EXPECT_EQ(test->status, TestStatus::accepted);
    EXPECT_EQ(test->name, "mine");
    EXPECT_EQ(test->token, "alice");
    EXPECT_EQ(test->answer["status"], "accepted");
    EXPECT_EQ(records.manifest(id_)->files.size(), 2U);
    EXPECT_GT(records.board({}, {}).total, 0);
  }

  testing::TemporaryFolder folder_;
  const fs::path data_ = folder_.path() / "tester";
  std::string alice_;
  std::string id_;
};

TEST_F(Admin, TestsOfALostDatabaseAreFoundAgain) {
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(data_ / ("tester.db" + std::string(end)));
  {
    Records records = open_records(data_);
    Uploads uploads(data_);
    EXPECT_EQ(take_in_folders(data_, records, uploads), 1U);
    EXPECT_EQ(take_in_folders(data_, records, uploads), 0U);
    EXPECT_EQ(records.token_name(alice_), std::nullopt) << "its secret was in the database alone";
  }
  expect_whole(data_);
}

TEST_F(Admin, ADamagedDatabaseIsSaidAndRebuilt) {
  damage_database();
  EXPECT_THAT(error_of([&] { return open_records(data_).tokens().size(); }),
              HasSubstr("assay serve rebuild"));
  EXPECT_THAT(verify(data_, false), ElementsAre(HasSubstr("cannot be read")));
  const Rebuilt made = rebuild(data_);
  EXPECT_EQ(made.tests, 1U);
  EXPECT_TRUE(fs::exists(made.kept));
  expect_whole(data_);
  EXPECT_THAT(verify(data_, true), IsEmpty());
}

TEST_F(Admin, DamageBehindTheHeaderIsSaidAtTheStartWithWhatToDo) {
  {
    Records records = open_records(data_);
    records.copy_to(data_ / "whole.db");  // one file, without a log beside it
  }
  for (const char* end : {"-wal", "-shm"}) fs::remove(data_ / ("tester.db" + std::string(end)));
  fs::rename(data_ / "whole.db", data_ / "tester.db");
  {
    std::fstream file(data_ / "tester.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3 * 4096);
    file << std::string(fs::file_size(data_ / "tester.db") - 3 * 4096, 'x');
  }
  EXPECT_THAT(error_of([&] { return open_records(data_).tokens().size(); }),
              HasSubstr("assay serve rebuild"));
  EXPECT_EQ(rebuild(data_).tests, 1U);
  expect_whole(data_);
}

TEST_F(Admin, RebuildingKeepsTokensThatCanBeRead) {
  EXPECT_EQ(rebuild(data_).tokens, 1U);
  EXPECT_EQ(open_records(data_).token_name(alice_), "alice");
  expect_whole(data_);
}

TEST_F(Admin, RebuildingWaitsForNoServer) {
  const UniqueFd lock = lock_folder(data_);
  EXPECT_THAT(error_of([&] { return rebuild(data_).tests; }), HasSubstr("another tester"));
}

TEST_F(Admin, AFolderWithoutItsTestFileIsFoundByItsResult) {
  write_file_atomic(data_ / "tests" / id_ / "test.json", "{\"test_id\": \"another\"}");
  (void)rebuild(data_);
  const auto test = open_records(data_).test(id_);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->token, "recovered");
  EXPECT_EQ(test->status, TestStatus::accepted);
}

TEST_F(Admin, FoldersThatSayNothingAreRemovedAndOthersStay) {
  make_directories(data_ / "tests/20260101-abcdef/files");
  make_directories(data_ / "tests/not-a-test");
  Records records = open_records(data_);
  Uploads uploads(data_);
  EXPECT_EQ(take_in_folders(data_, records, uploads), 0U);
  EXPECT_FALSE(fs::exists(data_ / "tests/20260101-abcdef"));
  EXPECT_TRUE(fs::exists(data_ / "tests/not-a-test")) << "it is not ours";
}

TEST_F(Admin, VerifyFindsWhatIsNotAsItWas) {
  EXPECT_THAT(verify(data_, true), IsEmpty());
  const fs::path files = data_ / "tests" / id_ / "files";
  write_file_atomic(files / "0", "PLAN");
  EXPECT_THAT(verify(data_, false), IsEmpty()) << "sizes alone";
  EXPECT_THAT(verify(data_, true), ElementsAre(HasSubstr("plan.json has other content")));
  write_file_atomic(files / "0", "longer");
  fs::remove(files / "1");
  fs::remove(data_ / "tests" / id_ / "report.html");
  make_directories(data_ / "tests/stray");
  EXPECT_THAT(verify(data_, false),
              ElementsAre(HasSubstr("report.html is missing"),
                          HasSubstr("plan.json has 6 bytes instead of 4"),
                          HasSubstr("journal.jsonl is missing"), HasSubstr("tests/stray")));
}

TEST_F(Admin, ABackupIsRestored) {
  make_directories(data_ / "keys/trusted");
  write_file_atomic(data_ / "keys/trusted/lab.pub", "key\n");
  const fs::path copy = folder_.path() / "copy";
  const fs::path again = folder_.path() / "again";
  backup(data_, copy);
  EXPECT_THAT(error_of([&] {
                backup(data_, copy);
                return 0;
              }),
              HasSubstr("not empty"));
  delete_test(data_, id_);
  EXPECT_FALSE(fs::exists(data_ / "tests" / id_));
  EXPECT_EQ(open_records(data_).board({}, {}).total, 0);
  restore(copy, again);
  expect_whole(again);
  EXPECT_EQ(open_records(again).token_name(alice_), "alice");
  EXPECT_EQ(read_file(again / "keys/trusted/lab.pub"), "key\n");
  EXPECT_THAT(error_of([&] {
                restore(copy, again);
                return 0;
              }),
              HasSubstr("not empty"));
  write_file_atomic(copy / "tests" / id_ / "files/0", "PLAN");
  EXPECT_THAT(error_of([&] {
                restore(copy, folder_.path() / "third");
                return 0;
              }),
              HasSubstr("damaged"));
}

TEST_F(Admin, AnExportHasTheEvidenceUnderItsNames) {
  const fs::path out = folder_.path() / "out";
  export_test(data_, id_, out);
  EXPECT_EQ(read_file(out / "plan.json"), "plan");
  EXPECT_EQ(read_file(out / "journal.jsonl"), "log");
  EXPECT_EQ(read_file(out / "result.json"), golden_result());
  EXPECT_THAT(error_of([&] {
                export_test(data_, "../../etc", out);
                return 0;
              }),
              HasSubstr("there is no test"));
}

TEST_F(Admin, AnIdIsReservedForAToken) {
  const std::string id = reserve_test(data_, "alice", "to come");
  EXPECT_EQ(open_records(data_).test(id)->token, "alice");
  EXPECT_THAT(error_of([&] { return reserve_test(data_, "bob", ""); }), HasSubstr("no good token"));
}

TEST_F(Admin, NoTestersFolderIsSaid) {
  EXPECT_THAT(error_of([&] { return verify(folder_.path() / "none", false).size(); }),
              HasSubstr("not a tester's data folder"));
  EXPECT_THAT(error_of([&] { return reserve_test(folder_.path() / "none", "alice", ""); }),
              HasSubstr("not a tester's data folder"));
  EXPECT_FALSE(fs::exists(folder_.path() / "none"));
}

TEST(Audit, IsBoundedAndFollowsWhoRenamesIt) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "audit.jsonl";
  serve::AuditLog log(file, 1000);
  serve::HttpRequest request;
  request.path = "/" + std::string(100, 'x');
  for (int i = 0; i < 100; ++i) log.write(request, "", 200, 0, 0);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    ++files;
    EXPECT_LE(fs::file_size(entry.path()), 1000U);
  }
  EXPECT_EQ(files, serve::kAuditKept + 1U);
  fs::rename(file, folder.path() / "mine");
  log.write(request, "", 200, 0, 0);
  EXPECT_GT(fs::file_size(file), 0U);
  EXPECT_TRUE(serve::rotate_audit(file));
  EXPECT_FALSE(serve::rotate_audit(file));
}

}  // namespace
}  // namespace assay::tester
