// Files of text as tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "samples.h"
#include "temporary_folder.h"
#include "train/tokens/tokenize.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenizeTest : public ::testing::Test {
 protected:
  std::vector<TextFile> files(const std::vector<std::filesystem::path>& paths = {}) {
    const std::vector<std::filesystem::path> folder{folder_.path()};
    return find_text_files(paths.empty() ? folder : paths);
  }
  // The documents as text; the end token shows as <|end_of_text|>.
  std::vector<std::string> documents(const TokenizeOptions& options) {
    MemoryTokens tokens;
    done_ = tokenize(files(), bpe_, options, tokens);
    std::vector<std::int32_t> all(static_cast<std::size_t>(tokens.size()));
    tokens.read(0, tokens.size(), bpe_.vocabulary(), all.data());
    std::vector<std::string> out;
    for (std::size_t i = 1; i < tokens.starts().size(); ++i)
      out.push_back(bpe_.decode(std::span(all).subspan(
          static_cast<std::size_t>(tokens.starts()[i - 1]),
          static_cast<std::size_t>(tokens.starts()[i] - tokens.starts()[i - 1]))));
    return out;
  }
  std::string refusal(const TokenizeOptions& options = {}) {
    return testing::error_of([&] { return documents(options); });
  }

  testing::TemporaryFolder folder_;
  Bpe bpe_{small_parts({"t h", "th e"}, kLlama3Rules), "test"};
  Tokenized done_;
};

TEST_F(TokenizeTest, AFileIsADocumentAndSoIsALineOfJson) {
  folder_.write("b.txt", "the first\n\nparagraphs\n");
  folder_.write("a/deep.jsonl",
                "{\"text\": \"the \\u00e9 \\\"one\\\"\", \"id\": 1}\n\n{\"id\": "
                "[{\"text\": 3}], \"text\": \"two\"}");
  folder_.write("ignored.md", "not this");
  TokenizeOptions options;
  options.end_token = bpe_.end_of_text();
  EXPECT_THAT(documents(options), ElementsAre("the é \"one\"<|end_of_text|>", "two<|end_of_text|>",
                                              "the first\n\nparagraphs\n<|end_of_text|>"));
  EXPECT_EQ(done_.documents, 3);
}

TEST_F(TokenizeTest, BytesAreThoseOfTheTextAndNotOfTheFile) {
  folder_.write("a.jsonl", "{\"id\": 12345, \"text\": \"the \\u00e9\"}\n");
  folder_.write("b.txt", "the end");
  static_cast<void>(documents({}));
  EXPECT_EQ(done_.bytes, 6 + 7);
  EXPECT_EQ(done_.file_bytes, 36 + 7);
}

TEST_F(TokenizeTest, ThreadsAndPartsChangeNothing) {
  std::string text;
  std::string lines;
  for (int i = 0; i < 60'000; ++i) {
    text += "the number " + std::to_string(i * 7919) + " then\n\nthe  end. ";
    if (i % 10 == 0) lines += "{\"text\": \"line " + std::to_string(i) + "\\n\"}\n";
  }
  folder_.write("a.txt", text);
  folder_.write("b.jsonl", lines);
  TokenizeOptions one;
  one.threads = 1;
  TokenizeOptions three;
  three.threads = 3;
  const std::vector<std::string> alone = documents(one);
  const std::int64_t tokens = done_.tokens;
  EXPECT_EQ(documents(three), alone);
  EXPECT_EQ(done_.tokens, tokens);
  ASSERT_EQ(alone.size(), 6'001U);
  EXPECT_EQ(alone[0], text);
  // Cut into parts, the text has the tokens that it has as a whole.
  std::vector<std::int32_t> ids;
  BpeEncoder encoder(bpe_);
  for (const std::string& document : alone) encoder.encode(document, ids);
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), tokens);
}

TEST_F(TokenizeTest, EmptyDocumentsAreLeftOutAndCounted) {
  folder_.write("a.jsonl", "{\"text\": \"\"}\n{\"text\": \"x\"}\n");
  folder_.write("b.txt", "");
  folder_.write("c.txt", "\xEF\xBB\xBFy");
  TokenizeOptions options;
  options.end_token = bpe_.end_of_text();
  EXPECT_THAT(documents(options), ElementsAre("x<|end_of_text|>", "y<|end_of_text|>"));
  EXPECT_EQ(done_.empty_documents, 1);
}

TEST_F(TokenizeTest, SpecialTokensInTextAreText) {
  folder_.write("a.txt", "x<|end_of_text|>y");
  EXPECT_THAT(documents({}), ElementsAre("x<|end_of_text|>y"));
  EXPECT_EQ(done_.tokens, 17);
}

TEST_F(TokenizeTest, ProgressIsInBytesOfText) {
  folder_.write("a.txt", "the text");
  std::int64_t last = 0;
  std::int64_t all = 0;
  TokenizeOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total, std::int64_t) {
    last = done;
    all = total;
  };
  (void)documents(options);
  EXPECT_EQ(last, 8);
  EXPECT_EQ(all, 8);
}

TEST_F(TokenizeTest, BadLinesAreNamed) {
  folder_.write("a.jsonl", "{\"text\": \"fine\"}\n\n{\"content\": \"x\"}\n");
  EXPECT_THAT(refusal(), HasSubstr("a.jsonl:3: the line has no 'text'"));
  TokenizeOptions options;
  options.key = "content";
  EXPECT_THAT(refusal(options), HasSubstr("a.jsonl:1: the line has no 'content'"));
  folder_.write("a.jsonl", "{\"text\": \"fine\"}\n{\"text\": 7}\n");
  EXPECT_THAT(refusal(), HasSubstr("a.jsonl:2: 'text' is not text"));
  folder_.write("a.jsonl", "{\"text\": \"cut of");
  EXPECT_THAT(refusal(), HasSubstr("a.jsonl:1: not a line of JSON"));
  folder_.write("a.jsonl", "plain text\n");
  EXPECT_THAT(refusal(), HasSubstr("a.jsonl:1: not a line of JSON"));
  folder_.write("a.jsonl", "{\"text\": \"half \\ud800\"}\n");
  EXPECT_THAT(refusal(), HasSubstr("a.jsonl:1: 'text': half of a character"));
  folder_.write("a.jsonl", std::string("{\"text\": \"a\0b\"}\n", 16));
  EXPECT_THAT(refusal(), HasSubstr("zero bytes"));
}

TEST_F(TokenizeTest, WhatIsNotTextIsRefused) {
  EXPECT_THAT(refusal(), HasSubstr("there is no .txt or .jsonl file in this folder"));
  const auto packed = folder_.write("a.jsonl.gz", "x");
  EXPECT_THAT(testing::error_of([&] { return files({packed}); }),
              HasSubstr("a .gz file is not text"));
  EXPECT_THAT(testing::error_of([&] { return files({folder_.path() / "none.txt"}); }),
              HasSubstr("none.txt"));
}

TEST_F(TokenizeTest, AMembersNameMayBeWrittenWithEscapes) {
  folder_.write("a.jsonl", "{\"te\\u0078t\": \"ab\", \"te\\\\xt\": \"no\"}\n");
  EXPECT_EQ(documents({}).size(), 1U);
}

TEST_F(TokenizeTest, LinksAreFollowed) {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder other;
  other.write("b.txt", "b");
  folder_.write("a.txt", "a");
  fs::create_directory_symlink(other.path(), folder_.path() / "linked");
  fs::create_symlink(other.path() / "b.txt", folder_.path() / "c.txt");
  EXPECT_EQ(files().size(), 3U);
  for (const char* const name : {"gone.txt", "gone"}) {
    fs::create_symlink("/nowhere/x", folder_.path() / name);
    EXPECT_THAT(testing::error_of([&] { return files(); }),
                HasSubstr(std::string(name) + ": the link leads to nothing"));
    fs::remove(folder_.path() / name);
  }
  fs::create_directory_symlink("..", other.path() / "up");
  EXPECT_THAT(testing::error_of([&] { return files(); }),
              HasSubstr("linked/up: the folder leads back to one above it"));
}

TEST_F(TokenizeTest, PiecesAreCountedOverAllFiles) {
  folder_.write("a.txt", "ab ab");
  folder_.write("b.jsonl", "{\"text\": \"ab\"}\n");
  PieceCounts plain(kLlama3Rules);
  plain.add("ab ab");
  plain.add("ab");
  const Bpe bpe = learn_bpe(count_pieces(files(), kLlama3Rules, {}), 258);
  EXPECT_EQ(bpe.parts().tokens, learn_bpe(plain, 258).parts().tokens);
  EXPECT_EQ(bpe.parts().tokens[256], "ab");
}

}  // namespace
}  // namespace assay::train::tokens
