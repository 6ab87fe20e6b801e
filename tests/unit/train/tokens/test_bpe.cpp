// Encoding and decoding.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "samples.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BpeTest, TheLowestRankIsMergedFirst) {
  const Bpe bpe(small_parts({"b c", "a b", "a bc"}), "test");
  EXPECT_THAT(tokens_of(bpe, "abc"), ElementsAre("abc"));
  const Bpe other(small_parts({"a b", "b c"}), "test");
  EXPECT_THAT(tokens_of(other, "abc"), ElementsAre("ab", "c"));
}

TEST(BpeTest, OfEqualRanksTheLeftmostIsMergedFirst) {
  const Bpe bpe(small_parts({"a a"}), "test");
  EXPECT_THAT(tokens_of(bpe, "aaa"), ElementsAre("aa", "a"));
}

// Readers that put merges into a map, one after the other, have the last.
TEST(BpeTest, AMergeThatIsRepeatedHasTheRankOfTheLast) {
  const Bpe bpe(small_parts({"a b", "b c", "a b"}), "test");
  EXPECT_THAT(tokens_of(bpe, "abc"), ElementsAre("a", "bc"));
}

TEST(BpeTest, MergesStayWithinAPiece) {
  const Bpe bpe(small_parts({"o _", "_ w"}), "test");
  EXPECT_THAT(tokens_of(bpe, "o w"), ElementsAre("o", " w"));
}

TEST(BpeTest, AWholeWordIsTakenWithoutMergesWhenItSaysSo) {
  BpeParts parts = small_parts({"a b"});
  parts.tokens.emplace_back("abc");  // no merge leads to it
  EXPECT_THAT(tokens_of(Bpe(parts, "test"), "abc"), ElementsAre("ab", "c"));
  parts.whole_words = true;
  const Bpe bpe(parts, "test");
  EXPECT_THAT(tokens_of(bpe, "abc"), ElementsAre("abc"));
  EXPECT_THAT(tokens_of(bpe, "abcd"), ElementsAre("ab", "c", "d"));
}

TEST(BpeTest, SpecialTokensAreTextLikeAnyOther) {
  const Bpe bpe(small_parts({}), "test");
  EXPECT_EQ(ids_of(bpe, "<|end_of_text|>").size(), 15U);
  EXPECT_EQ(bpe.end_of_text(), 256);
  EXPECT_EQ(bpe.decode(std::vector<std::int32_t>{'a', 256, 'b'}), "a<|end_of_text|>b");
}

// Merges that make every prefix of words of a random text, applied to random bytes.
TEST(BpeTest, EveryTextComesBack) {
  const Bpe bpe(small_parts({"t h", "th e", "_ the", "i n", "\xC3 \xA9", "e e", "ee ee"}), "test");
  std::mt19937 random(1);  // NOLINT: the same texts each time
  BpeEncoder encoder(bpe);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const auto size = random() % 400;
    while (text.size() < size) {
      switch (random() % 4) {
        case 0:
          text += static_cast<char>(random());
          break;
        case 1:
          text += " the thin\n";
          break;
        case 2:
          text += std::string(random() % 90, 'e');
          break;
        default:
          text += "é";
      }
    }
    std::vector<std::int32_t> ids;
    encoder.encode(text, ids);
    EXPECT_EQ(bpe.decode(ids), text);
    EXPECT_EQ(ids, ids_of(bpe, text)) << "what was remembered changes nothing";
  }
}

// Short and long pieces are merged by different code.
TEST(BpeTest, LongPiecesAreMergedAsShortOnes) {
  const Bpe bpe(small_parts({"a b", "ab a", "b a", "aba ab", "a a", "aba b"}), "test");
  std::mt19937 random(2);  // NOLINT
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 120; ++i) text += random() % 2 == 0 ? 'a' : 'b';
    // What plain search for the lowest rank gives.
    std::vector<std::int32_t> expected(text.begin(), text.end());
    for (;;) {
      std::size_t best = 0;
      std::size_t rank = bpe.parts().merges.size();
      for (std::size_t i = 0; i + 1 < expected.size(); ++i)
        for (std::size_t r = 0; r < rank; ++r)
          if (bpe.parts().merges[r].left == expected[i] &&
              bpe.parts().merges[r].right == expected[i + 1]) {
            rank = r;
            best = i;
          }
      if (rank == bpe.parts().merges.size()) break;
      expected[best] = bpe.parts().merges[rank].result;
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    EXPECT_EQ(ids_of(bpe, text), expected);
  }
}

TEST(BpeTest, AMegabyteWithoutASpaceTakesNoQuadraticTime) {
  const Bpe bpe(small_parts({"a a", "aa aa", "aaaa aaaa"}), "test");
  EXPECT_EQ(ids_of(bpe, std::string(1 << 20, 'a')).size(), std::size_t{1} << 17);
}

TEST(BpeTest, AVocabularyThatLacksAByteIsRefused) {
  BpeParts parts = small_parts({});
  parts.tokens[0x41] = "no longer A";
  EXPECT_THAT(testing::error_of([&] { return Bpe(parts, "tokenizer.json"); }),
              HasSubstr("tokenizer.json: no token stands for the byte 0x41"));
}

TEST(BpeTest, PartsThatContradictEachOtherAreRefused) {
  BpeParts parts = small_parts({"a b"});
  parts.merges.push_back({'a', 'c', 256});
  EXPECT_THAT(testing::error_of([&] { return Bpe(parts, "t"); }),
              HasSubstr("the result of merges[1] is not its two parts"));
  parts.merges[1] = {'a', 4711, 256};
  EXPECT_THAT(testing::error_of([&] { return Bpe(parts, "t"); }), HasSubstr("merges[1]"));
  parts.merges.pop_back();
  parts.special.push_back({"<pad>", 300});
  EXPECT_THAT(testing::error_of([&] { return Bpe(parts, "t"); }),
              HasSubstr("'<pad>' has the id 300, outside of the vocabulary of 258"));
}

TEST(BpeTest, AnIdWithoutATokenCannotBeDecoded) {
  const Bpe bpe(small_parts({}), "test");
  const std::vector<std::int32_t> ids{65, 9999};
  EXPECT_THAT(testing::error_of([&] { return bpe.decode(ids); }), HasSubstr("9999 is no token"));
}

}  // namespace
}  // namespace assay::train::tokens
