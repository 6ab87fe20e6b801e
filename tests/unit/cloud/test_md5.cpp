#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cloud/part_hashes.h"
#include "core/digest.h"
#include "core/files.h"
#include "temporary_folder.h"

namespace assay::cloud {
namespace {

/// Every length around the ends of blocks and pieces.
TEST(Md5OfParts, IsTheMd5OfEveryPart) {
  const assay::testing::TemporaryFolder folder;
  const auto path = folder.path() / "file";
  std::mt19937_64 random(3);
  std::string content(600'000, '\0');
  for (auto& c : content) c = static_cast<char>(random());
  for (const std::size_t part :
       {1UL, 63UL, 64UL, 65UL, 1000UL, 70000UL, 262143UL, 262144UL, 262145UL}) {
    for (const std::size_t parts : {1UL, 3UL, 8UL}) {
      for (const std::size_t rest : {0UL, part / 2}) {
        const std::string data = content.substr(0, part * parts + rest);
        write_file_atomic(path, data, false);
        std::vector<std::string> expected;
        for (std::size_t at = 0; at < data.size(); at += part)
          expected.push_back(digest(Hash::md5, data.substr(at, part)));
        EXPECT_EQ(md5_of_parts(path, data.size(), part), expected) << part << " " << parts;
      }
    }
  }
}

TEST(Md5OfParts, TakesMorePartsThanThreads) {
  const assay::testing::TemporaryFolder folder;
  const auto path = folder.path() / "file";
  std::string data;
  for (int i = 0; i < 2000; ++i) data += std::to_string(i);
  write_file_atomic(path, data, false);
  std::vector<std::string> expected;
  for (std::size_t at = 0; at < data.size(); at += 300)
    expected.push_back(digest(Hash::md5, data.substr(at, 300)));
  EXPECT_EQ(md5_of_parts(path, data.size(), 300), expected);
}

}  // namespace
}  // namespace assay::cloud
