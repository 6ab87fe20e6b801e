#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/cloud/result_files.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ResultFiles of(const std::vector<std::string>& names, std::uint64_t size = 2) {
  std::vector<cloud::ObjectInfo> objects;
  for (const std::string& name : names) objects.push_back({"p/out/" + name, size, ""});
  return result_files(objects, "p/out/");
}

std::vector<std::string> kept(const ResultFiles& results) {
  std::vector<std::string> out;
  for (const auto& one : results.files) out.push_back(one.below.string());
  return out;
}

TEST(ResultFiles, AreTheJsonFilesBelowTheOutput) {
  const ResultFiles results = of({"a.json", "b/c.json", "b/d.json", "model.ckpt", "b/"});
  EXPECT_THAT(kept(results), ElementsAre("a.json", "b/c.json", "b/d.json"));
  EXPECT_THAT(results.impossible, IsEmpty());
  EXPECT_THAT(kept(of({"a.json"}, 17 << 20)), IsEmpty());
}

TEST(ResultFiles, StayInTheFolder) {
  EXPECT_THAT(kept(of({"../x.json", "/etc/x.json", "a/../../x.json", "..json"})), IsEmpty());
}

TEST(ResultFiles, NoFileIsAFolderToo) {
  ResultFiles results = of({"a.json", "a.json/b.json", "c.json"});
  EXPECT_THAT(kept(results), ElementsAre("a.json", "c.json"));
  EXPECT_THAT(results.impossible,
              ElementsAre("a.json/b.json is in a folder that is a file: a.json"));
  results = of({"a.json/b/c.json", "a.json"});
  EXPECT_THAT(kept(results), ElementsAre("a.json/b/c.json"));
  EXPECT_THAT(results.impossible, ElementsAre("a.json is a file and a folder"));
}

TEST(ResultFiles, HaveNamesThatFilesCanHave) {
  const ResultFiles results =
      of({std::string(300, 'n') + ".json", "\x01.json", "a//b.json", "a/b.json"});
  EXPECT_THAT(kept(results), ElementsAre("a/b.json"));
  EXPECT_THAT(results.impossible,
              ElementsAre(HasSubstr("n.json has a name that no file can have"),
                          ".json has a name that no file can have", "a/b.json is there twice"));
}

}  // namespace
}  // namespace assay::launch
