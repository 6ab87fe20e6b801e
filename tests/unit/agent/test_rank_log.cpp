#include <csignal>
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/output_log.h"
#include "core/error.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

std::string numbered_lines(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += std::to_string(1'000'000 + i) + "\n";  // 8 bytes each
  return text;
}

TEST(RankLog, KeepsEverythingBelowTheLimitInOneFile) {
  const testing::TemporaryFolder folder;
  RankLog log(folder.path() / "r", 1000);
  log.append("hello ");
  log.append("world\n");
  EXPECT_EQ(read_file(folder.path() / "r"), "hello world\n");
  EXPECT_EQ(log.dropped_bytes(), 0u);
}

TEST(RankLog, KeepsTheBeginningAndTheEndOfAFlood) {
  const testing::TemporaryFolder folder;
  RankLog log(folder.path() / "r", 800);
  log.append(numbered_lines(0, 1000));
  const std::string head = read_file(folder.path() / "r.head");
  const std::string tail = read_file(folder.path() / "r.1") + read_file(folder.path() / "r");
  EXPECT_EQ(head, numbered_lines(0, 50));
  EXPECT_TRUE(tail.ends_with(numbered_lines(999, 1000)));
  EXPECT_LE(head.size() + tail.size(), 800u);
  EXPECT_EQ(head.size() + tail.size() + log.dropped_bytes(), log.received_bytes());
}

TEST(RankLog, CountsTheSameWhateverThePieces) {
  const testing::TemporaryFolder folder;
  RankLog whole(folder.path() / "a", 800);
  RankLog pieces(folder.path() / "b", 800);
  const std::string flood = numbered_lines(0, 1000);
  whole.append(flood);
  for (std::size_t i = 0; i < flood.size(); i += 7)
    pieces.append(std::string_view(flood).substr(i, 7));
  EXPECT_EQ(whole.dropped_bytes(), pieces.dropped_bytes());
  EXPECT_EQ(read_file(folder.path() / "a"), read_file(folder.path() / "b"));
}

TEST(RankLog, GoesOnAndCountsWhenTheDiskIsFull) {
  RankLog log("/dev/full", 0);
  log.append("lost");
  EXPECT_EQ(log.dropped_bytes(), 4u);
  EXPECT_EQ(log.write_error(), "No space left on device");
}

// Every file that there is, with what it holds: as the judge and a person with sha256sum see it.
void expect_files_as_they_are(const RankLog& log, const std::filesystem::path& folder) {
  std::map<std::string, evidence::FileRecord> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    found[name] = *evidence::measure_file(entry.path(), name);
  }
  std::map<std::string, evidence::FileRecord> listed;
  for (const evidence::FileRecord& file : log.files()) listed[file.name] = file;
  EXPECT_EQ(listed, found);
}

TEST(RankLog, KnowsTheHashesOfItsFilesAtEveryMoment) {
  const testing::TemporaryFolder folder;
  RankLog log(folder.path() / "r", 800);
  expect_files_as_they_are(log, folder.path());
  const std::string flood = numbered_lines(0, 300);
  for (std::size_t i = 0; i < flood.size(); i += 61) {
    log.append(std::string_view(flood).substr(i, 61));
    expect_files_as_they_are(log, folder.path());
  }
  EXPECT_EQ(log.files().size(), 3U);
}

TEST(RankLog, HashesOnlyWhatReachedTheFile) {
  const testing::TemporaryFolder folder;
  RankLog log(folder.path() / "r", 0);
  // A size limit stands in for a full disk.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  log.append("1234\n6789\n1234\n");
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(log.dropped_bytes(), 5U);
  expect_files_as_they_are(log, folder.path());
  log.append("more\n");
  expect_files_as_they_are(log, folder.path());
}

TEST(RankLog, KnowsItsFilesWhenItCannotRotate) {
  const testing::TemporaryFolder folder;
  RankLog log(folder.path() / "r", 80);
  std::filesystem::create_directories(folder.path() / "r.head" / "x");  // in the way
  log.append(numbered_lines(0, 7));
  EXPECT_GT(log.dropped_bytes(), 0U);
  std::filesystem::remove_all(folder.path() / "r.head");
  expect_files_as_they_are(log, folder.path());
}

TEST(RankLog, SaysWhichFileCannotBeCreated) {
  try {
    RankLog log("/no/such/folder/rank0.out.log", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "/no/such/folder/rank0.out.log");
  }
}

}  // namespace
}  // namespace assay::agent
