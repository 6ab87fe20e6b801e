#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/sync.h"
#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::HasSubstr;

class Sync : public EmulatorTest {
 protected:
  void write(const std::string& name, const std::string& content) {
    make_directories((folder_ / "code" / name).parent_path());
    write_file_atomic(folder_ / "code" / name, content, false);
  }
  SyncReport sync() {
    ObsBucket store = bucket();
    return sync_files(store, content_of(folder_ / "code").files, "job/code/");
  }
};

TEST_F(Sync, UploadsWhatChangedAndRemovesWhatIsGone) {
  write("train.py", "print(1)");
  write("lib/model.py", "model");
  write("lib/empty.py", "");
  const auto large = make_file("code/data.bin", 3 << 20);
  bucket().put("job/other", "not in the folder");
  bucket().put("job/code/stale.py", "from an older run");

  const SyncReport first = sync();
  EXPECT_EQ(first.uploaded, 4U);
  EXPECT_EQ(first.removed, 1U);
  EXPECT_EQ(first.uploaded_bytes, (3U << 20) + 13);
  EXPECT_EQ(bucket().get("job/code/lib/model.py"), "model");
  EXPECT_FALSE(bucket().head("job/code/stale.py"));
  EXPECT_TRUE(bucket().head("job/other"));

  const std::uint64_t puts = count("PUT obs");
  const SyncReport second = sync();
  EXPECT_EQ(second.uploaded, 0U);
  EXPECT_EQ(second.unchanged, 4U);
  EXPECT_EQ(count("PUT obs"), puts);

  write("train.py", "print(2)");  // as long as before
  std::filesystem::remove(folder_ / "code/lib/model.py");
  const SyncReport third = sync();
  EXPECT_EQ(third.uploaded, 1U);
  EXPECT_EQ(third.removed, 1U);
  EXPECT_EQ(bucket().get("job/code/train.py"), "print(2)");
}

TEST_F(Sync, RepairsAnObjectThatSomeoneChanged) {
  write("train.py", "print(1)");
  (void)sync();
  bucket().put("job/code/train.py", "print(9)");
  EXPECT_EQ(sync().uploaded, 1U);
  EXPECT_EQ(bucket().get("job/code/train.py"), "print(1)");
}

TEST_F(Sync, RemovesNothingWhenAnUploadFails) {
  write("a.py", "a");
  bucket().put("job/code/stale.py", "x");
  fault({{"kind", "status"}, {"status", 403}, {"code", "AccessDenied"}, {"method", "PUT"}});
  EXPECT_THAT(error_of([&] { return sync(); }), HasSubstr("AccessDenied"));
  EXPECT_TRUE(bucket().head("job/code/stale.py"));
  EXPECT_EQ(sync().removed, 1U);
}

TEST_F(Sync, KeysWithOddCharactersAreTheSameAgain) {
  write("a b/c+d %41.txt", "1");
  write("é/ü&<>.txt", "2");
  EXPECT_EQ(sync().uploaded, 2U);
  const SyncReport again = sync();
  EXPECT_EQ(again.uploaded, 0U);
  EXPECT_EQ(again.removed, 0U);
}

TEST_F(Sync, LeavesOutWhatTheFolderIgnores) {
  write(".assayignore", "*.log\n/build/\n");
  write("a.py", "1");
  write("deep/x.log", "2");
  write("build/y", "3");
  EXPECT_EQ(sync().uploaded, 1U);
  EXPECT_EQ(bucket().list("job/code/").at(0).key, "job/code/a.py");
}

TEST_F(Sync, SecretsVersionsAndRunsStayHere) {
  for (const char* name : {"a.py", "token", ".git/config", "out/run1/plan.json",
                           "out/run1/journal.jsonl", "out/run1/fit/rank0.out.log", "results/x"})
    write(name, name);
  write("mine.json", R"({"access_key": "a", "secret_key": "b"})");
  write("odd name", R"({"user": "of this very store"})");
  const FolderContent content = content_of(folder_ / "code", folder_ / "code/odd name");
  EXPECT_EQ(left_out_line(content),
            "not uploaded: mine.json, odd name, token, .git, out/run1, results (.assayignore "
            "decides)");
  ObsBucket store = bucket();
  EXPECT_EQ(sync_files(store, content.files, "job/code/").uploaded, 1U);
  write(".assayignore", "!token\n!odd*\n!/results/\n!.git\n");
  EXPECT_EQ(left_out_line(content_of(folder_ / "code", folder_ / "code/odd name")),
            "not uploaded: mine.json, odd name, .git, out/run1 (.assayignore decides)");
}

TEST_F(Sync, LinksAreFollowedAlsoToFolders) {
  namespace fs = std::filesystem;
  write("a.py", "1");
  fs::create_directories(folder_ / "elsewhere/deep");
  write_file_atomic(folder_ / "elsewhere/deep/b.py", "2", false);
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "code/data");
  fs::create_symlink("a.py", folder_ / "code/link.py");
  bucket().put("job/code/data/deep/b.py", "of an earlier run");
  const SyncReport report = sync();
  EXPECT_EQ(report.uploaded, 3U);
  EXPECT_EQ(report.removed, 0U);
  EXPECT_EQ(bucket().get("job/code/data/deep/b.py"), "2");

  fs::create_directory_symlink("..", folder_ / "elsewhere/deep/up");
  EXPECT_THAT(error_of([&] { return sync(); }), HasSubstr("leads to a folder that it lies in"));
  fs::remove(folder_ / "elsewhere/deep/up");
  fs::create_symlink("nothing", folder_ / "elsewhere/deep/lost");
  EXPECT_THAT(error_of([&] { return sync(); }), HasSubstr("the link leads nowhere"));
}

TEST_F(Sync, RefusesToEmptyABucket) {
  write("a.py", "a");
  ObsBucket store = bucket();
  for (const std::string prefix : {"", "/", "folder", "/folder/"})
    EXPECT_THAT(
        error_of([&] { return sync_files(store, content_of(folder_ / "code").files, prefix); }),
        HasSubstr("not a folder of a bucket"));
  make_directories(folder_ / "nothing");
  EXPECT_THAT(
      error_of([&] { return sync_files(store, content_of(folder_ / "nothing").files, "job/"); }),
      HasSubstr("no file"));
}

TEST_F(Sync, NamesAFolderThatDoesNotExist) {
  ObsBucket store = bucket();
  EXPECT_THAT(
      error_of([&] { return sync_files(store, content_of(folder_ / "missing").files, "job/"); }),
      HasSubstr("missing"));
}

TEST(SyncPlan, ComparesByContent) {
  const std::map<std::string, LocalFile> local = {
      {"p/new", {"new", 1, "aa"}}, {"p/same", {"same", 2, "bb"}}, {"p/other", {"other", 3, "cc"}}};
  const std::vector<ObjectInfo> remote = {
      {"p/", 0, "dd"}, {"p/gone", 1, "ee"}, {"p/same", 2, "bb"}, {"p/other", 3, "ff"}};
  const SyncPlan plan = plan_sync(local, remote, "p/");
  EXPECT_EQ(plan.upload, (std::vector<std::string>{"p/new", "p/other"}));
  EXPECT_EQ(plan.remove, (std::vector<std::string>{"p/gone"}));
  EXPECT_EQ(plan.unchanged, 1U);
}

}  // namespace
}  // namespace assay::cloud
