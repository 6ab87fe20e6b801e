// Vocabularies that are learnt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "samples.h"
#include "train/tokens/byte_alphabet.h"
#include "train/tokens/learn_bpe.h"
#include "train/tokens/tokenizer_json.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> merges_of(const Bpe& bpe) {
  std::vector<std::string> out;
  for (const Merge& merge : bpe.parts().merges)
    out.push_back(bpe.decode({{merge.left}}) + "+" + bpe.decode({{merge.right}}));
  return out;
}

Bpe learn(std::string_view text, std::int64_t size) {
  PieceCounts counts(kGpt2Rules);
  counts.add(text);
  return learn_bpe(counts, size);
}

TEST(LearnBpeTest, TheMostFrequentNeighboursAreMergedFirst) {
  const Bpe bpe = learn("abab abab ab", 259);
  EXPECT_THAT(merges_of(bpe), ElementsAre("a+b", " +ab"));
  EXPECT_EQ(bpe.vocabulary(), 259);
  EXPECT_EQ(bpe.end_of_text(), 258);
}

TEST(LearnBpeTest, OfEquallyFrequentNeighboursTheLowestIdsAreMerged) {
  EXPECT_THAT(merges_of(learn("cd cd ab ab", 258)), ElementsAre("a+b"));
}

TEST(LearnBpeTest, ItStopsWhenNothingOccursTwice) {
  const Bpe bpe = learn("abc", 1000);
  EXPECT_EQ(bpe.vocabulary(), 257);
}

TEST(LearnBpeTest, TheOrderAndThePartsOfTheTextDoNotMatter) {
  PieceCounts one(kLlama3Rules);
  one.add("the cat sat on the mat");
  one.add(" and the hat");
  PieceCounts two(kLlama3Rules);
  two.add(" and the hat");
  PieceCounts three(kLlama3Rules);
  three.add("the cat sat on the mat");
  two.merge(three);
  EXPECT_EQ(tokenizer_json(learn_bpe(one, 270)), tokenizer_json(learn_bpe(two, 270)));
}

TEST(LearnBpeTest, RunsOfOneByteAreCountedAsTheyAreMerged) {
  // aaa has two pairs; after a+a it has aa and a.
  EXPECT_THAT(merges_of(learn("aaa aaa", 259)), ElementsAre("a+a", "aa+a"));
}

TEST(LearnBpeTest, ASizeBelowTheBytesIsRefused) {
  EXPECT_THAT(testing::error_of([] { return learn("text", 256); }),
              HasSubstr("a vocabulary of 256"));
}

TEST(AlphabetTest, EveryByteIsACharacterAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_alphabet(to_alphabet(all)), all);
  EXPECT_EQ(to_alphabet(" a\n"), "ĠaĊ");
  EXPECT_EQ(from_alphabet("a b"), std::nullopt);
  EXPECT_EQ(from_alphabet("▁a"), std::nullopt);
  EXPECT_EQ(alphabet_order()[0], '!');
}

}  // namespace
}  // namespace assay::train::tokens
