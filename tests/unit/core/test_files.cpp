#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/regular_file.h"
#include "core/sha256.h"
#include "core/time.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay {
namespace {

TEST(WriteFileAtomic, ReplacesTheContentAndLeavesNoTemporary) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "a", "one");
  write_file_atomic(folder.path() / "a", "two");
  EXPECT_EQ(read_file(folder.path() / "a"), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(WriteFileAtomic, NamesThePathThatCannotBeWritten) {
  try {
    write_file_atomic("/no/such/folder/file", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_EQ(error.where(), "/no/such/folder/file");
  }
}

TEST(RegularFile, IsReadAndAMissingOneIsSaid) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "a", "one");
  EXPECT_EQ(read_regular_file(folder.path() / "a"), "one");
  EXPECT_THROW((void)read_regular_file(folder.path() / "b"), Error);
  EXPECT_FALSE(open_regular_file(folder.path() / "b"));
  EXPECT_EQ(read_regular_file_or_empty(folder.path() / "b"), "");
}

TEST(RegularFile, IsNoFifoNoDeviceNoLinkAndNoFolder) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "a", "one");
  std::filesystem::create_symlink(folder.path() / "a", folder.path() / "link");
  std::filesystem::create_symlink("/no/such/file", folder.path() / "dangling");
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder.path() / "link", folder.path() / "dangling", folder.path() / "fifo",
        std::filesystem::path("/dev/zero"), folder.path()}) {
    EXPECT_EQ(testing::error_of([&] { return read_regular_file(path); }),
              path.string() + ": not a regular file\n  restore the file from a copy");
    EXPECT_EQ(is_irregular(path), path != folder.path()) << path;
  }
  EXPECT_FALSE(is_irregular(folder.path() / "a"));
  EXPECT_FALSE(is_irregular(folder.path() / "b"));
}

TEST(PlainFile, MayLieBehindALinkAndIsNoFifoAndNoDevice) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "a", "one");
  std::filesystem::create_symlink(folder.path() / "a", folder.path() / "link");
  std::filesystem::create_symlink("/dev/zero", folder.path() / "endless");
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_plain_file(folder.path() / "link"), "one");
  for (const char* name : {"endless", "fifo", "."})
    EXPECT_THAT(testing::error_of([&] { return read_plain_file(folder.path() / name); }),
                ::testing::HasSubstr("not a regular file"));
  EXPECT_THROW((void)read_plain_file(folder.path() / "b"), Error);
  EXPECT_EQ(read_plain_file_or_empty(folder.path() / "fifo"), "");
}

TEST(FileLock, HasOneOwnerUntilItsDescriptorIsClosed) {
  const testing::TemporaryFolder folder;
  auto mine = try_lock_file(folder.path() / "lock");
  ASSERT_TRUE(mine);
  EXPECT_FALSE(try_lock_file(folder.path() / "lock"));
  EXPECT_TRUE(try_lock_file(folder.path() / "other"));
  mine.reset();
  EXPECT_TRUE(try_lock_file(folder.path() / "lock"));
  EXPECT_THROW((void)try_lock_file("/no/such/folder/lock"), Error);
}

TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(IsoUtc, FormatsTheEpochAndMilliseconds) {
  EXPECT_EQ(iso_utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_utc(1'794'704'396'597'000'000, true), "2026-11-15T00:59:56.597Z");
  EXPECT_EQ(compact_utc(1'794'704'396'000'000'000), "20261115T005956Z");
}

TEST(ErrorText, HasPlaceMessageAndAdvice) {
  const Error error(ErrorKind::config, "unknown key", "a.yaml:1:2", "remove it");
  EXPECT_STREQ(error.what(), "a.yaml:1:2: unknown key\n  remove it");
  EXPECT_EQ(exit_code(error.kind()), 2);
}

}  // namespace
}  // namespace assay
