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

TEST(Pattern, KnowsItsGroupsByName) {
  const Pattern pattern("(?P<step>[0-9]+) (x) (?P<value>[0-9]+)");
  EXPECT_EQ(pattern.group("step"), 1U);
  EXPECT_EQ(pattern.group("value"), 3U);
  EXPECT_EQ(pattern.group("other"), std::nullopt);
}

TEST(Pattern, SearchesFromAPlaceInItsContext) {
  EXPECT_EQ((*Pattern("a=([0-9])").search("a=1 a=2", 1))[1], "2");
  EXPECT_FALSE(Pattern("^a").search("aa", 1));
  EXPECT_FALSE(Pattern("\\ba").search("aa", 1));
  EXPECT_FALSE(Pattern("a").search("a", 1));
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

std::string pattern_problem(const std::string& text) {
  try {
    (void)Pattern(text);
  } catch (const PatternError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Pattern, AnErrorNamesWhatIsWrong) {
  EXPECT_THAT(pattern_problem("(a"), HasSubstr("missing )"));
  EXPECT_THAT(pattern_problem("a**"), HasSubstr("**"));
  EXPECT_THAT(pattern_problem("[z-a]"), HasSubstr("z-a"));
}

TEST(Pattern, WhatNeedsBacktrackingIsRefusedByName) {
  EXPECT_EQ(pattern_problem(R"((\w+) \1)"), R"(back-references (\1) are not supported)");
  EXPECT_EQ(pattern_problem("a(?=b)"), "look-ahead (?= ) is not supported");
  EXPECT_EQ(pattern_problem("a(?!b)"), "look-ahead (?! ) is not supported");
  EXPECT_THAT(pattern_problem("(?<=a)b"), HasSubstr("look-behind"));
}

TEST(Pattern, OneThatWouldTakeTooMuchMemoryIsRefused) {
  EXPECT_THAT(pattern_problem("((x{1,1000}){1,1000}){1,1000}"), HasSubstr("repetition"));
  EXPECT_THAT(pattern_problem("[^x]" + std::string(10'000'000, 'a')), HasSubstr("too large"));
}

TEST(Pattern, ACarelessOneDoesNotTakeForEver) {
  EXPECT_FALSE(Pattern("^(a+)+$").found_in(std::string(1'000'000, 'a') + "b"));
}

TEST(Pattern, MatchesBytesThatAreNotText) {
  EXPECT_EQ(Pattern("a.b")
                .search("\xff\xfe"
                        "a\xff"
                        "b")
                .value()[0],
            "a\xff"
            "b");
  EXPECT_TRUE(Pattern("31 °C").found_in("t: 31 °C"));
}

TEST(Pattern, EmptyMatchesEndAtTheEndOfTheText) {
  EXPECT_THAT(Pattern("a*").search_all("baac"), SizeIs(4));  // "", "aa", "", ""
}

TEST(Pattern, TheStartOfALineIsOnlyAtItsStart) {
  EXPECT_THAT(Pattern("^a").search_all("aaa"), SizeIs(1));
}

}  // namespace
}  // namespace assay
