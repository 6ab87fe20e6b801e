#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "code/folder_manifest.h"
#include "core/error.h"
#include "core/sha256.h"

namespace assay::code {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kHash(64, 'a');

Manifest with(std::vector<std::string> paths) {
  Manifest manifest;
  for (std::string& path : paths) manifest.files.push_back({std::move(path), 1, kHash, false});
  return manifest;
}

void expect_problem(const Manifest& manifest, const std::string& words) {
  EXPECT_THAT(problems_of(manifest, {}), Contains(HasSubstr(words)));
}

TEST(Manifest, AnOrdinaryOneHasNoProblems) {
  Manifest manifest = with({"train.py", "data/a", "data/b", "数据/α.txt", "..hidden", "a..b/c"});
  manifest.links = {{"latest", "data"}, {"data/up", "../train.py"}, {"x/y/z", "../../data/./a"}};
  EXPECT_THAT(problems_of(manifest, {}), IsEmpty());
}

TEST(HostileManifest, AbsolutePath) {
  expect_problem(with({"/etc/passwd"}), "an absolute path");
}

TEST(HostileManifest, PathThatClimbs) {
  for (const char* path : {"..", "../x", "a/../../x", "a/..", "a/../b"})
    expect_problem(with({path}), "leads out of the folder");
}

TEST(HostileManifest, EmptyParts) {
  expect_problem(with({""}), "an empty path");
  for (const char* path : {"a//b", "./a", "a/.", "a/"})
    expect_problem(with({path}), "an empty part");
}

TEST(HostileManifest, ControlCharactersAndBrokenText) {
  for (const std::string& path : {std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"),
                                  std::string("\x1b[2J"), std::string("a\x7f")})
    expect_problem(with({path}), "not plain UTF-8");
}

TEST(HostileManifest, AMarkThatCannotBeSeenIsSpelled) {
  expect_problem(with({"red\x1b[31m\n"}), "'red\\x1b[31m\\x0a'");
}

TEST(HostileManifest, LongNames) {
  expect_problem(with({std::string(256, 'a')}), "255 bytes");
  std::string deep = "a";
  for (int i = 0; i < 600; ++i) deep += "/a";
  expect_problem(with({deep}), "1024 bytes");
}

TEST(HostileManifest, Duplicates) {
  expect_problem(with({"a", "a"}), "named twice");
  Manifest manifest = with({"a"});
  manifest.links = {{"a", "b"}};
  expect_problem(manifest, "a link and another entry");
}

TEST(HostileManifest, NamesThatDifferByCaseOnly) {
  expect_problem(with({"Makefile", "makefile"}), "differ by case only");
  expect_problem(with({"Data/a", "data/b"}), "differ by case only");
}

TEST(HostileManifest, AFileBelowAFileOrALink) {
  expect_problem(with({"a", "a/b"}), "not a folder");
  Manifest manifest = with({"out/passwd"});
  manifest.links = {{"out", "elsewhere"}};
  expect_problem(manifest, "not a folder");
}

TEST(HostileManifest, LinksThatLeadOut) {
  for (const char* target : {"/etc", "..", "../x", "a/../../..", "sub/../x", "", "a\nb"}) {
    Manifest manifest;
    manifest.links = {{"link", target}};
    expect_problem(manifest, "leads out of the folder");
  }
  Manifest manifest;
  manifest.links = {{"d/link", "../../x"}};
  expect_problem(manifest, "leads out of the folder");
}

TEST(HostileManifest, WrongHashesAndSizes) {
  Manifest manifest = with({"a"});
  for (const char* hash : {"", "abc", "../../../../etc/passwd"}) {
    manifest.files[0].sha256 = hash;
    expect_problem(manifest, "not a SHA-256");
  }
  manifest.files[0].sha256 = std::string(64, 'A');
  expect_problem(manifest, "not a SHA-256");
  manifest = with({"a", "b"});
  manifest.files[1].size = 2;
  expect_problem(manifest, "two sizes");
}

TEST(HostileManifest, TooMuchNamesTheLargest) {
  Manifest manifest = with({"small", "large", "huge"});
  manifest.files[1] = {"large", 100, std::string(64, 'b'), false};
  manifest.files[2] = {"huge", 1'000'000, std::string(64, 'c'), false};
  EXPECT_THAT(problems_of(manifest, {.bytes = 1000}),
              Contains(HasSubstr("the largest are 'huge' (976.56 KiB), 'large'")));
  EXPECT_THAT(problems_of(with({"d/a", "d/b", "c"}), {.entries = 2}),
              Contains(HasSubstr("the most are in 'd' (2), 'c' (1)")));
}

TEST(HostileManifest, SizesThatOverflow) {
  Manifest manifest = with({"a", "b"});
  manifest.files[0].size = ~0ULL;
  manifest.files[1] = {"b", ~0ULL, std::string(64, 'b'), false};
  expect_problem(manifest, "in all");
}

TEST(Manifest, IsNamedByItsContentNotByItsOrder) {
  Manifest one = with({"a", "b"});
  Manifest other = with({"b", "a"});
  EXPECT_EQ(id_of(one), id_of(other));
  EXPECT_TRUE(is_code_id(id_of(one)));
  other.files[0].executable = true;
  EXPECT_NE(id_of(one), id_of(other));
}

TEST(Manifest, WhatIsNoneIsSaid) {
  for (const Json& json :
       {Json(), Json::array(), Json({{"files", 5}}), Json({{"files", {{{"path", "a"}}}}}),
        Json({{"files", {{{"path", "a"}, {"size", -1}, {"sha256", "b"}}}}})})
    EXPECT_THROW((void)read_manifest(json), Error) << json;
}

}  // namespace
}  // namespace assay::code
