#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "code/code_store.h"
#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::code {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

File file(const std::string& path, const std::string& content, bool executable = false) {
  return {path, content.size(), sha256(content), executable};
}

class CodeStoreTest : public ::testing::Test {
 protected:
  CodeStore::Announced announce(const Manifest& manifest, const std::string& who = "ann") {
    return store().announce(who, manifest);
  }
  CodeStore::Received put(const std::string& content, const std::string& who = "ann") {
    return store().put(who, sha256(content), 0, content);
  }
  CodeStore& store() {
    if (!store_) store_ = std::make_unique<CodeStore>(folder_.path() / "code", options_);
    return *store_;
  }
  [[nodiscard]] std::size_t blobs() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "code/people"))
      count += entry.is_regular_file() ? 1U : 0U;
    return count;
  }

  assay::testing::TemporaryFolder folder_;
  StoreOptions options_;
  std::unique_ptr<CodeStore> store_;
};

TEST_F(CodeStoreTest, GivesBackTheFolderThatWasSent) {
  Manifest manifest;
  manifest.files = {file("run.sh", "echo", true), file("lib/a.py", "pass"),
                    file("lib/b.py", "pass"), file("empty", "")};
  manifest.links = {{"lib/run", "../run.sh"}};
  const CodeStore::Announced first = announce(manifest);
  EXPECT_THAT(first.missing, SizeIs(3));  // two files have the same content
  EXPECT_FALSE(store().has("ann", first.id));
  for (const char* content : {"echo", "pass", ""}) EXPECT_TRUE(put(content).complete);

  ASSERT_TRUE(store().has("ann", first.id));
  const fs::path made = store().folder_of(first.id);
  EXPECT_EQ(read_file(made / "lib/b.py"), "pass");
  EXPECT_EQ(read_file(made / "empty"), "");
  EXPECT_EQ(read_file(made / "lib/run"), "echo");
  EXPECT_EQ(fs::read_symlink(made / "lib/run"), "../run.sh");
  struct stat about {};
  ASSERT_EQ(::stat((made / "run.sh").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0555U);
  ASSERT_EQ(::stat((made / "lib/a.py").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0444U);
}

TEST_F(CodeStoreTest, AsksOnlyForWhatHasChanged) {
  Manifest manifest;
  manifest.files = {file("a", "one"), file("b", "two")};
  (void)announce(manifest);
  put("one");
  put("two");
  EXPECT_THAT(announce(manifest).missing, IsEmpty());
  manifest.files[1] = file("b", "three");
  EXPECT_THAT(announce(manifest).missing, ElementsAre(sha256("three")));
}

TEST_F(CodeStoreTest, AContentIsNotAnothersByItsHash) {
  Manifest manifest;
  manifest.files = {file("secret", "of ann")};
  const std::string id = announce(manifest).id;
  put("of ann");
  const CodeStore::Announced other = announce(manifest, "eve");
  EXPECT_THAT(other.missing, SizeIs(1));
  EXPECT_NE(other.id, id);
  EXPECT_FALSE(store().has("eve", id));
  EXPECT_FALSE(store().has("eve", other.id));
}

TEST_F(CodeStoreTest, TakesAContentInPartsAndGoesOnWhereItWas) {
  const std::string content = "0123456789";
  Manifest manifest;
  manifest.files = {file("a", content)};
  const std::string id = announce(manifest).id;
  EXPECT_EQ(store().put("ann", sha256(content), 0, "0123").received, 4U);
  const CodeStore::Received wrong = store().put("ann", sha256(content), 2, "23");
  EXPECT_FALSE(wrong.fits);
  EXPECT_EQ(wrong.received, 4U);
  store_.reset();  // another server
  EXPECT_THAT(assay::testing::error_of([&] { return put(content); }), HasSubstr("announce"));
  EXPECT_EQ(announce(manifest).id, id);
  EXPECT_EQ(put(content).received, 4U);
  EXPECT_TRUE(store().put("ann", sha256(content), 4, "456789").complete);
  EXPECT_EQ(read_file(store().folder_of(id) / "a"), content);
  EXPECT_TRUE(put(content).complete);  // an answer that got lost
}

TEST_F(CodeStoreTest, ThrowsAwayAContentWithAnotherHash) {
  Manifest manifest;
  manifest.files = {file("a", "good")};
  const std::string id = announce(manifest).id;
  EXPECT_THAT(
      assay::testing::error_of([&] { return store().put("ann", sha256("good"), 0, "evil"); }),
      HasSubstr("another hash"));
  EXPECT_FALSE(store().has("ann", id));
  EXPECT_EQ(blobs(), 0U);
  EXPECT_TRUE(put("good").complete);
}

TEST_F(CodeStoreTest, TakesNothingThatWasNotAnnounced) {
  Manifest manifest;
  manifest.files = {file("a", "good")};
  (void)announce(manifest);
  EXPECT_THAT(assay::testing::error_of([&] { return put("more"); }), HasSubstr("announce"));
  EXPECT_THAT(
      assay::testing::error_of([&] { return store().put("ann", sha256("good"), 0, "good!"); }),
      HasSubstr("more than the 4 bytes"));
  EXPECT_THAT(assay::testing::error_of([&] { return store().put("ann", "../../x", 0, "y"); }),
              HasSubstr("not a SHA-256"));
  EXPECT_EQ(blobs(), 0U);
}

TEST_F(CodeStoreTest, TakesManyContentsAtOnceButNoneWithAnotherHash) {
  Manifest manifest;
  manifest.files = {file("a", "one"), file("b", "two", true), file("c", "")};
  const std::string id = announce(manifest).id;
  (void)store().put("ann", sha256("one"), 0, "on");  // cut off, and now sent whole
  EXPECT_THAT(store().put_all("ann", {{sha256("one"), "one"}, {sha256("two"), "evil"}}),
              ElementsAre(sha256("two")));
  EXPECT_EQ(blobs(), 1U);
  EXPECT_FALSE(store().has("ann", id));
  EXPECT_THAT(announce(manifest).missing, SizeIs(2));
  // What is there already does no harm: an answer may have got lost.
  EXPECT_THAT(store().put_all("ann", {{sha256("one"), "one"},
                                      {sha256("two"), "two"},
                                      {sha256(""), ""},
                                      {sha256("two"), "two"}}),
              IsEmpty());
  ASSERT_TRUE(store().has("ann", id));
  EXPECT_EQ(read_file(store().folder_of(id) / "a"), "one");
  EXPECT_EQ(read_file(store().folder_of(id) / "b"), "two");
}

TEST_F(CodeStoreTest, TakesNothingInABundleThatWasNotAnnounced) {
  Manifest manifest;
  manifest.files = {file("a", "one"), {"b", 1, sha256("larger than it says")}};
  (void)announce(manifest);
  EXPECT_THAT(
      assay::testing::error_of([&] {
        return store().put_all("ann", {{sha256("one"), "one"}, {sha256("more"), "more"}}).size();
      }),
      HasSubstr("announce"));
  EXPECT_EQ(blobs(), 0U);
  EXPECT_THAT(store().put_all("ann", {{sha256("larger than it says"), "larger than it says"}}),
              SizeIs(1));
  EXPECT_EQ(blobs(), 0U);
}

TEST(Bundle, HasItsContentsAgain) {
  std::string bundle;
  for (const std::string& content : {std::string("one\n"), std::string(), std::string("\0x", 2)})
    add_to_bundle(bundle, sha256(content), content);
  const std::vector<BundledContent> contents = read_bundle(bundle);
  ASSERT_THAT(contents, SizeIs(3));
  EXPECT_EQ(contents[0].bytes, "one\n");
  EXPECT_EQ(contents[0].sha256, sha256("one\n"));
  EXPECT_EQ(contents[1].bytes, "");
  EXPECT_EQ(contents[2].bytes, std::string_view("\0x", 2));
}

TEST(Bundle, WhatIsNoneIsRefused) {
  const std::string hash = sha256("x");
  for (const std::string& bytes :
       {std::string("x"), hash + " 1", hash + " 2\nx", hash + " -1\nx", hash + "\nx", "\n" + hash,
        hash + " 1\nxx", std::string(64, '/') + " 1\nx", hash + " 99999999999999999999\nx"})
    EXPECT_THAT(assay::testing::error_of([&] { return read_bundle(bytes).size(); }),
                HasSubstr("bundle"))
        << bytes;
}

TEST_F(CodeStoreTest, RefusesAHostileManifestBeforeAnythingIsWritten) {
  Manifest manifest;
  manifest.files = {file("../../evil", "x")};
  EXPECT_THAT(assay::testing::error_of([&] { return announce(manifest); }),
              HasSubstr("leads out of the folder"));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "code/people"));
}

TEST_F(CodeStoreTest, APersonHasAQuota) {
  options_.quota = 10;
  Manifest manifest;
  manifest.files = {file("a", "12345678")};
  (void)announce(manifest);
  put("12345678");
  manifest.files = {file("b", "1234")};
  EXPECT_THAT(assay::testing::error_of([&] { return announce(manifest); }), HasSubstr("no room"));
  EXPECT_THAT(announce(manifest, "bob").missing, SizeIs(1));
}

TEST_F(CodeStoreTest, ForgetsTheOldestOfManyUnfinishedUploads) {
  options_.unfinished = 2;
  for (const char* content : {"one", "two", "three"}) {
    Manifest manifest;
    manifest.files = {file("a", content)};
    (void)announce(manifest);
  }
  EXPECT_THAT(assay::testing::error_of([&] { return put("one"); }), HasSubstr("announce"));
  EXPECT_TRUE(put("two").complete);
  EXPECT_TRUE(put("three").complete);
}

TEST_F(CodeStoreTest, WhatNoJobNeedsGoesAfterAWhile) {
  Manifest needed;
  needed.files = {file("a", "shared"), file("b", "needed")};
  Manifest old;
  old.files = {file("a", "shared"), file("b", "old")};
  const std::string kept = announce(needed).id;
  put("shared");
  put("needed");
  const std::string gone = announce(old).id;
  put("old");
  const std::int64_t now = wall_now_ns();
  EXPECT_EQ(store().collect({kept}, now).uploads, 0U);  // it may be submitted in a moment
  const CodeStore::Collected collected =
      store().collect({kept}, now + Nanoseconds(std::chrono::hours(25)).count());
  EXPECT_EQ(collected.uploads, 1U);
  EXPECT_EQ(collected.blobs, 1U);
  EXPECT_EQ(collected.bytes, 3U);
  EXPECT_TRUE(store().has("ann", kept));
  EXPECT_FALSE(store().has("ann", gone));
  EXPECT_EQ(read_file(store().folder_of(kept) / "a"), "shared");
  EXPECT_THAT(announce(old).missing, ElementsAre(sha256("old")));
}

TEST_F(CodeStoreTest, AJobThatChangesItsCopyDoesNotChangeTheStore) {
  Manifest manifest;
  manifest.files = {file("a", "good")};
  const std::string id = announce(manifest).id;
  put("good");
  const fs::path copy = folder_.path() / "copy";
  fs::copy(store().folder_of(id), copy, fs::copy_options::recursive);
  fs::permissions(copy / "a", fs::perms::owner_all);
  std::ofstream(copy / "a") << "evil";
  EXPECT_EQ(read_file(store().folder_of(id) / "a"), "good");
}

TEST_F(CodeStoreTest, AFolderThatWasBeingMadeIsMadeAnew) {
  Manifest manifest;
  manifest.files = {file("a", "good")};
  const std::string id = announce(manifest).id;
  put("good");
  fs::remove(folder_.path() / ("code/uploads/" + id + ".json"));  // killed before it was written
  store_.reset();
  EXPECT_FALSE(store().has("ann", id));
  EXPECT_THAT(announce(manifest).missing, IsEmpty());
  EXPECT_TRUE(store().has("ann", id));
}

}  // namespace
}  // namespace assay::code
