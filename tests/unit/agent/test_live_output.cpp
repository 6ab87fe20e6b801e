#include <fstream>

#include <gtest/gtest.h>

#include "agent/live_output.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

TEST(LiveOutput, ComesInWholeLines) {
  LiveOutput live(100);
  EXPECT_FALSE(live.take());
  live.append("one\ntw");
  EXPECT_EQ(live.take()->data, "one\n");
  live.append("o\n");
  EXPECT_EQ(live.take()->data, "two\n");
}

TEST(LiveOutput, OfALineThatDoesNotEndComesWithTheNextLook) {
  LiveOutput live(100);
  live.append("Password: ");
  EXPECT_FALSE(live.take());
  EXPECT_EQ(live.take()->data, "Password: ");
  EXPECT_FALSE(live.take());
}

TEST(LiveOutput, IsTheNewestWhereMoreCameThanFits) {
  LiveOutput live(8);
  live.append("one\ntwo\nthree\n");
  const auto piece = live.take();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->data, "three\n");
  EXPECT_EQ(piece->skipped_bytes, 8U);
}

TEST(LiveOutput, IsBoundedWhateverComes) {
  LiveOutput live(1000);
  std::uint64_t bytes = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    bytes += line.size();
    live.append(line);
  }
  const auto piece = live.take();
  ASSERT_TRUE(piece);
  EXPECT_LE(piece->data.size(), 1000U);
  EXPECT_EQ(piece->data.size() + piece->skipped_bytes, bytes);
  EXPECT_TRUE(piece->data.starts_with("line "));
  EXPECT_TRUE(piece->data.ends_with("line 9999\n"));
}

TEST(LiveOutput, OfNobodyWhoAsksIsNotKept) {
  LiveOutput live(0);
  live.append("one\n");
  EXPECT_FALSE(live.take());
}

TEST(LiveFile, IsReadAsFarAsItIsNew) {
  const testing::TemporaryFolder folder;
  LiveFile file(folder.path() / "t.csv");
  EXPECT_EQ(file.take(100), "");
  std::ofstream out(folder.path() / "t.csv");
  out << "a,b\n1,2\n3" << std::flush;
  EXPECT_EQ(file.take(100), "a,b\n1,2\n");
  out << ",4\n" << std::flush;
  EXPECT_EQ(file.take(100), "3,4\n");
  EXPECT_EQ(file.take(100), "");
}

}  // namespace
}  // namespace assay::agent
