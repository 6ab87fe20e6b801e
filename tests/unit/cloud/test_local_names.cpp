#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/local_names.h"
#include "error_of.h"

namespace assay::cloud {
namespace {

using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<std::string>& keys, std::uint64_t size = 1) {
  std::vector<ObjectInfo> objects;
  for (const std::string& key : keys)
    objects.push_back({"d/" + key, key.ends_with('/') ? 0 : size, ""});
  std::vector<std::string> out;
  for (const LocalName& name : local_names(objects, "d/", "s3://bucket/d/"))
    out.push_back(name.below.string());
  return out;
}

std::string refusal_of(const std::vector<std::string>& keys) {
  return error_of([&] { return names_of(keys); });
}

TEST(LocalNames, AreTheKeysBelowThePrefix) {
  EXPECT_THAT(names_of({"a", "b/c", "b//d", "e/", "..f", "...", "ü +%"}),
              ElementsAre("a", "b/c", "b/d", "..f", "...", "ü +%"));
}

TEST(LocalNames, LeadOutOfNoFolder) {
  for (const char* key : {"../a", "a/../../b", "..", "/etc/passwd"})
    EXPECT_THAT(refusal_of({key}), HasSubstr("leads out of the folder")) << key;
}

TEST(LocalNames, ThatNoFileCanHaveAreRefused) {
  EXPECT_THAT(refusal_of({std::string(250, 'a')}), HasSubstr("no file can have the name"));
  EXPECT_THAT(refusal_of({"a/."}), HasSubstr("no file can have the name"));
  EXPECT_THAT(refusal_of({"a/.."}), HasSubstr("no file can have the name"));
  const std::vector<ObjectInfo> folder{{"d/e/", 7, ""}};
  EXPECT_THAT(error_of([&] { return local_names(folder, "d/", "s3://bucket/d/"); }),
              HasSubstr("'d/e/' has the name of a folder, and content"));
}

TEST(LocalNames, ThatWouldBeOneFileAreNamed) {
  EXPECT_THAT(refusal_of({"a/b", "a//b"}),
              AllOf(HasSubstr("'d/a/b' and 'd/a//b' would be the same file")));
  EXPECT_THAT(refusal_of({"c/./d", "c/d"}), HasSubstr("would be the same file"));
}

TEST(LocalNames, ThatAreAFileAndAFolderAreNamed) {
  EXPECT_THAT(refusal_of({"a", "a/b"}), HasSubstr("'d/a' would be a file and, for 'd/a/b'"));
  EXPECT_THAT(refusal_of({"a/b/c", "a"}), HasSubstr("'d/a' would be a file and, for 'd/a/b/c'"));
}

TEST(LocalNames, OfFilesThatAreOnTheirWayBelongToNoOther) {
  EXPECT_THAT(names_of({"x", "x.partial"}), ElementsAre("x", "x.partial"));
  EXPECT_THAT(refusal_of({"x", "x.assay-partial"}),
              HasSubstr("the name that 'd/x' has while it is fetched"));
}

}  // namespace
}  // namespace assay::cloud
