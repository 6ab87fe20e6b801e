#include <string>

#include <gmock/gmock.h>

#include "core/pattern.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

TEST(Pattern, GivesTheGroupsOfTheFirstMatch) {
  const Pattern pattern("(\\w+)=([0-9]+)(;)?");
  const auto groups = pattern.search("loss x=12 y=13");
  ASSERT_TRUE(groups);
  EXPECT_THAT(*groups,
              ElementsAre(Optional(std::string_view("x=12")), Optional(std::string_view("x")),
                          Optional(std::string_view("12")), std::nullopt));
  EXPECT_EQ(pattern.groups(), 3u);
}

TEST(Pattern, FindsEveryMatchInOrder) {
  const auto all = Pattern("[0-9]+").search_all("1 two 3 44");
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2][0], "44");
  EXPECT_THAT(Pattern("[0-9]+").search_all("none"), SizeIs(0));
}

TEST(Pattern, TheEmptyOneMatchesEverywhere) {
  EXPECT_TRUE(Pattern().found_in(""));
  EXPECT_TRUE(Pattern().found_in("text"));
}

TEST(Pattern, AnUnclosedGroupIsAnError) {
  EXPECT_THROW(Pattern("(a"), PatternError);
}

TEST(Pattern, AnEndlessOneIsRefusedBeforeItIsCompiled) {
  try {
    (void)Pattern(std::string(5000, '('));
    FAIL();
  } catch (const PatternError& error) {
    EXPECT_THAT(error.what(), HasSubstr("longer than 1000 bytes"));
  }
}

TEST(Pattern, ACarelessOneDoesNotTakeForEver) {
  EXPECT_FALSE(Pattern("^(a+)+$").found_in(std::string(20'000, 'a') + "b"));
}

TEST(Pattern, BackReferencesWorkOnShortTexts) {
  const Pattern twice(R"((\w+) \1)");
  EXPECT_TRUE(twice.has_back_references());
  EXPECT_TRUE(twice.found_in("say it it"));
  EXPECT_FALSE(twice.found_in(std::string(1'000'000, 'x')));
}

}  // namespace
}  // namespace assay
