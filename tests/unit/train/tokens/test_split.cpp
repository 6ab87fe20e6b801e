// How text is cut into pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/tokens/split.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> pieces(std::string_view text, const SplitRules& rules) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at, rules);
    EXPECT_GT(end, at);
    EXPECT_LE(end, text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

TEST(SplitTest, Gpt2TakesTheBlankWithItsWord) {
  EXPECT_THAT(pieces("Hello world, it's 2023!", kGpt2Rules),
              ElementsAre("Hello", " world", ",", " it", "'s", " 2023", "!"));
}

TEST(SplitTest, Llama3CutsNumbersAfterThreeDigits) {
  EXPECT_THAT(pieces("in 12345 days", kLlama3Rules), ElementsAre("in", " ", "123", "45", " days"));
  EXPECT_THAT(pieces("12", kQwen2Rules), ElementsAre("1", "2"));
}

TEST(SplitTest, Llama3TakesAnyMarkBeforeAWord) {
  EXPECT_THAT(pieces("(see\t_below)", kLlama3Rules), ElementsAre("(see", "\t", "_below", ")"));
  EXPECT_THAT(pieces("(see\tbelow)", kLlama3Rules), ElementsAre("(see", "\tbelow", ")"));
  EXPECT_THAT(pieces("(see)", kGpt2Rules), ElementsAre("(", "see", ")"));
}

TEST(SplitTest, ContractionsInCapitalsAreThoseOfLlama3) {
  EXPECT_THAT(pieces("WE'LL", kLlama3Rules), ElementsAre("WE", "'LL"));
  EXPECT_THAT(pieces("WE'LL", kGpt2Rules), ElementsAre("WE", "'", "LL"));
  EXPECT_THAT(pieces("it'\u017F", kLlama3Rules), ElementsAre("it", "'\u017F"));
  EXPECT_THAT(pieces("'l", kLlama3Rules), ElementsAre("'l"));
}

TEST(SplitTest, WhiteSpaceLeavesItsLastToTheWord) {
  EXPECT_THAT(pieces("a   b", kGpt2Rules), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(pieces("a   ", kGpt2Rules), ElementsAre("a", "   "));
  EXPECT_THAT(pieces("a\n\nb", kGpt2Rules), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(pieces("a\n\nb", kLlama3Rules), ElementsAre("a", "\n\n", "b"));
  EXPECT_THAT(pieces("a.\n\n  b", kLlama3Rules), ElementsAre("a", ".\n\n", " ", " b"));
  EXPECT_THAT(pieces("a \n \n  b", kLlama3Rules), ElementsAre("a", " \n \n", " ", " b"));
}

TEST(SplitTest, LettersAreThoseOfAllScripts) {
  EXPECT_THAT(pieces("naïve Ωmega 漢字かな", kGpt2Rules),
              ElementsAre("naïve", " Ωmega", " 漢字かな"));
  EXPECT_THAT(pieces("x\u00A0y", kLlama3Rules), ElementsAre("x", "\u00A0y"));
}

TEST(SplitTest, BytesThatAreNotUtf8AreMarks) {
  EXPECT_THAT(pieces("a\xFF\xFE", kGpt2Rules), ElementsAre("a", "\xFF\xFE"));
  EXPECT_THAT(pieces("\xE6\xBC", kLlama3Rules), ElementsAre("\xE6\xBC"));
}

TEST(SplitTest, PatternsAndRulesBelongTogether) {
  for (const SplitRules& rules : {kGpt2Rules, kLlama3Rules, kQwen2Rules})
    EXPECT_EQ(rules_of(pattern_of(rules)), rules);
  // As the files of these models have them.
  EXPECT_EQ(
      rules_of(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
      kGpt2Rules);
  EXPECT_EQ(rules_of(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
            kLlama3Rules);
  EXPECT_EQ(rules_of(R"(\w+)"), std::nullopt);
}

TEST(SplitTest, TextCutInTwoHasTheSamePieces) {
  const std::string text = "One's 12 words.\n\n Then  more of\tit, and again\n\nmore 'tis so\n a b";
  for (const SplitRules& rules : {kGpt2Rules, kLlama3Rules, kQwen2Rules}) {
    const std::vector<std::string> whole = pieces(text, rules);
    int cuts = 0;
    for (std::size_t cut = next_cut(text, 1); cut < text.size(); cut = next_cut(text, cut + 1)) {
      std::vector<std::string> both = pieces(std::string_view(text).substr(0, cut), rules);
      for (const std::string& piece : pieces(std::string_view(text).substr(cut), rules))
        both.push_back(piece);
      EXPECT_EQ(both, whole) << cut;
      ++cuts;
    }
    EXPECT_EQ(cuts, 4);
  }
  EXPECT_EQ(next_cut("12 34", 1), 5U);
}

}  // namespace
}  // namespace assay::train::tokens
