#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/folder_listing.h"
#include "error_of.h"

namespace assay::cloud {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

Listing of(const std::vector<std::string>& keys, std::vector<std::string> folders = {}) {
  Listing out;
  for (const std::string& key : keys) out.objects.push_back({key, 1, ""});
  out.folders = std::move(folders);
  return out;
}

TEST(Listing, IsTakenWhenAllOfItIsBelowThePrefixOnce) {
  EXPECT_NO_THROW(check_listing(of({"d/", "d/a", "d/b"}, {"d/c/"}), "d/", "store"));
  EXPECT_NO_THROW(check_listing(of({"a", "d/b"}), "", "store"));
  EXPECT_NO_THROW(check_listing({}, "d/", "store"));
}

TEST(Listing, NamesAKeyThatIsElsewhere) {
  EXPECT_THAT(error_of([] {
                check_listing(of({"d/a", "other/secret"}), "d/", "store");
              }),
              HasSubstr("asked for what is below 'd/', and lists 'other/secret'"));
  EXPECT_THAT(error_of([] { check_listing(of({"d"}), "d/", "store"); }), HasSubstr("lists 'd'"));
  EXPECT_THAT(error_of([] { check_listing(of({}, {"zz/"}), "d/", "store"); }),
              HasSubstr("lists 'zz/'"));
}

TEST(Listing, NamesAKeyThatIsThereTwice) {
  EXPECT_THAT(error_of([] {
                check_listing(of({"d/a", "d/b", "d/a"}), "d/", "store");
              }),
              HasSubstr("lists 'd/a' more than once"));
}

}  // namespace
}  // namespace assay::cloud
