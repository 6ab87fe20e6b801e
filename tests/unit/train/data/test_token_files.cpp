// Sequences of tokens from files: packing, splits, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "temporary_folder.h"
#include "train/data/packed_tokens.h"
#include "train/data/token_set.h"
#include "train/tokens/indexed_writer.h"
#include "train/tokens/learn_bpe.h"
#include "train/tokens/tokenizer_json.h"

namespace assay::train::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const tokens::TokenStream> stream_of(
    const std::vector<std::vector<std::int32_t>>& documents) {
  auto stream = std::make_shared<tokens::MemoryTokens>();
  for (const auto& document : documents) {
    stream->append(document);
    stream->end_document();
  }
  return stream;
}

struct Row {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> documents;
};

Row row_of(const PackedTokens& source, std::int64_t index) {
  const auto size = static_cast<std::size_t>(source.shape().row());
  Row row{std::vector<std::int32_t>(size), std::vector<std::int32_t>(size)};
  source.write(index, row.tokens.data(), row.documents.data());
  return row;
}

TEST(PackedTokensTest, RowsFollowEachOtherAndShareOneToken) {
  const PackedTokens source(stream_of({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}), 0, 10, 3, 100);
  ASSERT_EQ(source.size(), 3);
  EXPECT_THAT(row_of(source, 0).tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(row_of(source, 1).tokens, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(row_of(source, 2).tokens, ElementsAre(7, 8, 9, 10));
}

TEST(PackedTokensTest, DocumentsAreCountedFromTheRowsFirstToken) {
  const PackedTokens source(stream_of({{1, 2}, {3}, {4, 5, 6, 7}, {8}}), 0, 8, 3, 100);
  ASSERT_EQ(source.size(), 2);
  EXPECT_THAT(row_of(source, 0).documents, ElementsAre(0, 0, 1, 2));
  // It begins where a document does: that is its own document 0.
  EXPECT_THAT(row_of(source, 1).tokens, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(row_of(source, 1).documents, ElementsAre(0, 0, 0, 0));
}

TEST(PackedTokensTest, APartOfAStreamIsASplit) {
  const PackedTokens source(stream_of({{1, 2, 3}, {4, 5, 6, 7, 8}}), 3, 8, 2, 100);
  ASSERT_EQ(source.size(), 2);
  EXPECT_THAT(row_of(source, 0).tokens, ElementsAre(4, 5, 6));
  EXPECT_THAT(row_of(source, 1).tokens, ElementsAre(6, 7, 8));
}

TEST(PackedTokensTest, ATailThatFillsNoRowIsLeftOut) {
  EXPECT_EQ(PackedTokens(stream_of({{1, 2, 3, 4}}), 0, 4, 4, 100).size(), 0);
  EXPECT_EQ(PackedTokens(stream_of({{1, 2, 3, 4, 5}}), 0, 5, 4, 100).size(), 1);
}

TEST(PackedTokensTest, ATokenOutsideOfTheVocabularyIsAnError) {
  const PackedTokens source(stream_of({{1, 2, 300, 4}}), 0, 4, 3, 256);
  EXPECT_THAT(assay::testing::error_of([&] { return row_of(source, 0).tokens; }),
              HasSubstr("token 2: the token 300 is not of the vocabulary of 256"));
}

// Every token of a stream that ranks read, in any number and from any position on, is read once.
TEST(PackedTokensTest, RanksShareTheRowsAndGoOnAtTheExactToken) {
  std::vector<std::int32_t> tokens(1 + 24 * 4);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
  const auto source = std::make_shared<const PackedTokens>(stream_of({tokens}), 0, 97, 4, 1000);
  const auto rows = [&](std::int64_t rank, std::int64_t world, Position start) {
    LoaderOptions options;
    options.batch_size = 4 / world;
    options.rank = rank;
    options.world = world;
    options.start = start;
    options.epochs = 2;
    options.threads = 1;
    TokenLoader loader(source, options);
    std::vector<std::vector<std::int32_t>> out;  // first tokens of each batch's rows
    for (TokenLoan loan = loader.next(); loan; loan = loader.next()) {
      out.emplace_back();
      for (std::int64_t row = 0; row < loan->size; ++row)
        out.back().push_back(loan->tokens[row * loan->shape.row()]);
    }
    return out;
  };
  const auto alone = rows(0, 1, {});
  ASSERT_EQ(alone.size(), 12U);
  const auto first = rows(0, 2, {});
  const auto second = rows(1, 2, {});
  for (std::size_t i = 0; i < alone.size(); ++i) {
    std::vector<std::int32_t> both = first[i];
    both.insert(both.end(), second[i].begin(), second[i].end());
    EXPECT_EQ(both, alone[i]);
  }
  const auto resumed = rows(1, 2, {1, 2});
  EXPECT_EQ(resumed, std::vector(second.begin() + 8, second.end()));
}

class TokenFilesTest : public ::testing::Test {
 protected:
  TokenSet open(const std::string& set, const std::filesystem::path& path) {
    options_.set = set;
    options_.path = path;
    return open_token_set(options_);
  }
  std::string refusal(const std::string& set, const std::filesystem::path& path) {
    return assay::testing::error_of([&] { return open(set, path); });
  }
  void write_indexed(const std::string& name, std::int32_t documents, std::int32_t length) {
    tokens::IndexedWriter writer(folder_.path() / name, 100, true);
    for (std::int32_t d = 0; d < documents; ++d) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), d % 100));
      writer.end_document();
    }
    writer.finish();
  }

  assay::testing::TemporaryFolder folder_;
  TokenSetOptions options_ = [] {
    TokenSetOptions options;
    options.sequence = 8;
    return options;
  }();
};

TEST_F(TokenFilesTest, TextIsLearntFromAndPacked) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the cat sat on the mat, and then it went. ";
  folder_.write("train/a.txt", text);
  folder_.write("val/b.jsonl", "{\"text\": \"the cat went on the mat and sat.\"}\n");
  options_.vocabulary_size = 300;
  const TokenSet set = open("text", folder_.path());
  EXPECT_EQ(set.info.vocabulary, 300);
  EXPECT_EQ(set.info.sequence, 8);
  EXPECT_GT(set.info.train_size, 100);
  EXPECT_EQ(set.info.eval_size, set.eval->size());
  EXPECT_FALSE(set.info.best_loss);
}

TEST_F(TokenFilesTest, ATokenizerMustFitTheVocabulary) {
  folder_.write("text/a.txt", std::string(500, 'x'));
  const auto tokenizer = folder_.write(
      "tokenizer.json",
      tokens::tokenizer_json(tokens::learn_bpe(tokens::PieceCounts(tokens::kGpt2Rules), 257)));
  options_.tokenizer = tokenizer;
  EXPECT_EQ(open("text", folder_.path() / "text").info.vocabulary, 257);
  options_.vocabulary_size = 320;
  EXPECT_EQ(open("text", folder_.path() / "text").info.vocabulary, 320);
  options_.vocabulary_size = 256;
  EXPECT_THAT(refusal("text", folder_.path() / "text"),
              HasSubstr("tokenizer.json: the tokenizer has 257 tokens, the vocabulary 256"));
}

TEST_F(TokenFilesTest, OfAnIndexedSetTheLastDocumentsAreHeldOut) {
  write_indexed("set", 100, 10);
  options_.vocabulary_size = 100;
  const TokenSet set = open("indexed", folder_.path() / "set");
  // 2 % of 1000 tokens are two documents.
  EXPECT_EQ(set.info.train_size, (980 - 1) / 8);
  EXPECT_EQ(set.info.eval_size, (20 - 1) / 8);
}

TEST_F(TokenFilesTest, OfOneLongDocumentTheEndIsHeldOut) {
  write_indexed("set", 1, 1000);
  options_.vocabulary_size = 100;
  const TokenSet set = open("indexed", folder_.path() / "set.idx");
  EXPECT_EQ(set.info.train_size, (980 - 1) / 8);
  EXPECT_EQ(set.info.eval_size, (20 - 1) / 8);
}

TEST_F(TokenFilesTest, AFolderOfIndexedSetsIsOneSetOrTwoSplits) {
  write_indexed("data/a", 50, 10);
  write_indexed("data/b", 50, 10);
  options_.vocabulary_size = 100;
  EXPECT_EQ(open("indexed", folder_.path() / "data").info.train_size, (980 - 1) / 8);
  write_indexed("split/train", 50, 10);
  write_indexed("split/val", 3, 10);
  const TokenSet set = open("indexed", folder_.path() / "split");
  EXPECT_EQ(set.info.train_size, (500 - 1) / 8);
  EXPECT_EQ(set.info.eval_size, (30 - 1) / 8);
}

TEST_F(TokenFilesTest, WhatIsMissingIsNamed) {
  write_indexed("set", 100, 10);
  EXPECT_THAT(refusal("indexed", folder_.path() / "set"),
              HasSubstr("how many tokens the vocabulary has is not known"));
  EXPECT_THAT(refusal("indexed", ""), HasSubstr("the set 'indexed' needs a path"));
  options_.vocabulary_size = 100;
  EXPECT_THAT(refusal("indexed", folder_.path() / "none"), HasSubstr("none.bin"));
  std::filesystem::create_directory(folder_.path() / "empty");
  EXPECT_THAT(refusal("indexed", folder_.path() / "empty"), HasSubstr("there is no .idx file"));
  options_.sequence = 4096;
  EXPECT_THAT(refusal("indexed", folder_.path() / "set"),
              HasSubstr("do not fill a sequence of 4096 and one more"));
}

}  // namespace
}  // namespace assay::train::data
