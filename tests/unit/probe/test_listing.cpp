#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/listing.h"
#include "temporary_folder.h"

namespace assay::probe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Listings : public ::testing::Test {
 protected:
  fs::path put(const std::string& name, const std::string& content) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }
  [[nodiscard]] fs::path at(const std::string& name) const { return folder_.path() / name; }
  testing::TemporaryFolder folder_;
};

TEST_F(Listings, AreTheSameForCopies) {
  for (const char* copy : {"one", "two"}) {
    put(std::string(copy) + "/train/a", "12345");
    put(std::string(copy) + "/val/b", "1");
  }
  const Listing one = list_data(at("one"));
  EXPECT_EQ(one.hash, list_data(at("two")).hash);
  EXPECT_EQ(one.entries, 4U);
  EXPECT_EQ(one.bytes, 6U);
  EXPECT_TRUE(one.complete);
}

TEST_F(Listings, TellOtherSizesNamesAndPlacesApart) {
  put("one/train/a", "12345");
  put("size/train/a", "1234");
  put("name/train/b", "12345");
  put("place/a", "12345");
  fs::create_directories(at("place/train"));
  for (const char* other : {"size", "name", "place"})
    EXPECT_NE(list_data(at("one")).hash, list_data(at(other)).hash) << other;
}

TEST_F(Listings, OfAFileIsItsSize) {
  EXPECT_EQ(list_data(put("a.tfrecord", "123")).hash, list_data(put("b.tfrecord", "456")).hash);
  EXPECT_NE(list_data(put("a.tfrecord", "123")).hash, list_data(put("b.tfrecord", "45")).hash);
}

TEST_F(Listings, FollowLinksToFilesButNotToFolders) {
  put("one/a", "123");
  put("one/sub/b", "1");
  fs::create_directories(at("two"));
  fs::create_symlink(at("one/a"), at("two/a"));
  fs::create_directory_symlink(at("two"), at("two/sub"));
  const Listing two = list_data(at("two"));
  EXPECT_EQ(two.entries, 2U);
  EXPECT_EQ(two.bytes, 3U);
  EXPECT_NE(two.hash, list_data(at("one")).hash);
}

TEST_F(Listings, OfWhatIsMissingSaySo) {
  EXPECT_THAT(list_data(at("nowhere")).problem, HasSubstr("does not exist"));
}

TEST_F(Listings, StopAtTheSameEntryEverywhere) {
  for (const char* copy : {"one", "two"})
    for (int i = 0; i < 20; ++i) put(std::string(copy) + "/" + std::to_string(100 + i), "x");
  put("two/119", "another size");
  const ListingLimits limits{10, std::chrono::seconds(10)};
  const Listing one = list_data(at("one"), limits);
  EXPECT_FALSE(one.complete);
  EXPECT_TRUE(one.comparable);
  EXPECT_EQ(one.entries, 10U);
  EXPECT_EQ(one.hash, list_data(at("two"), limits).hash);
}

TEST_F(Listings, CutByTimeAreNotCompared) {
  put("one/a", "x");
  const Listing one = list_data(at("one"), {10, Nanoseconds(0)});
  EXPECT_FALSE(one.complete);
  EXPECT_FALSE(one.comparable);
}

TEST_F(Listings, SurviveTheWay) {
  put("one/a", "x");
  const Listing one = list_data(at("one"));
  const Listing back = fields_from_json<Listing>(fields_to_json(one), "listing");
  EXPECT_EQ(back.path, one.path);
  EXPECT_EQ(back.hash, one.hash);
  EXPECT_EQ(back.entries, one.entries);
  EXPECT_EQ(back.bytes, one.bytes);
}

}  // namespace
}  // namespace assay::probe
