#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "train/data/text_set.h"
#include "train/data/vocabulary.h"
#include "train/data/words.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::write;

std::vector<std::string> words_of(std::string_view text, bool lower_case = true) {
  std::vector<std::string> words;
  WordSplitter splitter(text, lower_case);
  for (std::string_view word; splitter.next(word);) words.emplace_back(word);
  return words;
}

TEST(Words, SplitAtSpacePunctuationAndCjk) {
  EXPECT_THAT(words_of("  Hello,\tWORLD! it's\n"),
              ElementsAre("hello", ",", "world", "!", "it", "'", "s"));
  EXPECT_THAT(words_of("ab中文c"), ElementsAre("ab", "中", "文", "c"));
  EXPECT_THAT(words_of("Hello", false), ElementsAre("Hello"));
  EXPECT_THAT(words_of(" \n "), ElementsAre());
}

TEST(Words, LowerCaseDropsAccents) {
  EXPECT_THAT(words_of("ÀÉÎõü Ångström ŁódŹ ΑΩ ЖЯ e\xCC\x81 Œuvre"),
              ElementsAre("aeiou", "angstrom", "łodz", "αω", "жя", "e", "œuvre"));
}

TEST(Words, BytesThatAreNoTextAreLeftOut) {
  EXPECT_THAT(words_of("a\xff\xfe"
                       "b \xe4\xb8 c\x01"
                       "d"),
              ElementsAre("ab", "cd"));
  std::size_t at = 0;
  EXPECT_EQ(next_code_point("\xc0\x80", at), 0xFFFDU);  // overlong
  EXPECT_EQ(at, 1U);
  at = 0;
  EXPECT_EQ(next_code_point("\xed\xa0\x80", at), 0xFFFDU);  // a surrogate
  at = 0;
  EXPECT_EQ(next_code_point("\xf0\x9f\x98\x80", at), 0x1F600U);
  EXPECT_EQ(at, 4U);
}

const std::vector<std::string> small{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",  "ab",
                                     "##bc",  "##c",   "##bd",  "##a",   "é",      "##é"};

TEST(Vocabulary, TakesTheLongestPieceFirst) {
  const Vocabulary vocabulary(small, "test");
  const auto encode = [&](std::string_view word) {
    std::vector<std::int32_t> ids{99};
    vocabulary.encode(word, ids);
    return std::vector<std::int32_t>(ids.begin() + 1, ids.end());
  };
  EXPECT_THAT(encode("abc"), ElementsAre(6, 8));  // not a ##bc
  EXPECT_THAT(encode("aaa"), ElementsAre(5, 10, 10));
  EXPECT_THAT(encode("aé"), ElementsAre(5, 12));
  EXPECT_THAT(encode("abd"), ElementsAre(1));  // greedy: a ##bd is not tried
  EXPECT_THAT(encode("xyz"), ElementsAre(1));
  EXPECT_THAT(encode(std::string(101, 'a')), ElementsAre(1));
  EXPECT_EQ(encode(std::string(100, 'a')).size(), 100U);
}

TEST(Vocabulary, FilesThatCannotBeAreExplained) {
  const assay::testing::TemporaryFolder folder;
  const auto message = [&](const std::string& content) {
    write(folder.path() / "vocab.txt", content);
    return error_of([&] { return Vocabulary::read(folder.path() / "vocab.txt"); }).message();
  };
  EXPECT_THAT(message("[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n"), HasSubstr("no [MASK]"));
  EXPECT_THAT(message("[PAD]\na\na\n"), HasSubstr("line 3 has the token 'a' again"));
  EXPECT_THAT(message("[PAD]\n\na\n"), HasSubstr("line 2 is empty"));
  EXPECT_THAT(message(""), HasSubstr("no [PAD]"));
  write(folder.path() / "vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nfish\r\n");
  EXPECT_EQ(Vocabulary::read(folder.path() / "vocab.txt").token(5), "fish");
}

// The same by brute force: every merge recounts everything and tries every pair.
std::vector<std::string> learn_slowly(const WordCounts& counts, std::size_t size) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::map<std::string, std::int32_t> characters;
  std::vector<std::pair<std::vector<std::string>, std::int64_t>> words;
  for (const auto& [text, count] : counts) {
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < text.size(); ++i) {
      pieces.push_back((i == 0 ? "" : "##") + text.substr(i, 1));
      characters[pieces.back()] = 0;
    }
    words.emplace_back(pieces, count);
  }
  for (const auto& [character, unused] : characters) tokens.push_back(character);
  while (tokens.size() < size) {
    std::map<std::string, double> single;
    std::map<std::pair<std::string, std::string>, double> pairs;
    double all = 0;
    for (const auto& [pieces, count] : words)
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        single[pieces[i]] += static_cast<double>(count);
        all += static_cast<double>(count);
        if (i > 0) pairs[{pieces[i - 1], pieces[i]}] += static_cast<double>(count);
      }
    double best = 1e-9;
    std::pair<std::string, std::string> chosen;
    for (const auto& [pair, count] : pairs) {
      const double gain =
          count * std::log(count * all / (single[pair.first] * single[pair.second]));
      if (count >= 2 && gain > best * (1 + 1e-12)) {
        best = gain;
        chosen = pair;
      }
    }
    if (chosen.first.empty()) break;
    const std::string merged = chosen.first + chosen.second.substr(2);
    tokens.push_back(merged);
    for (auto& [pieces, count] : words)
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        if (pieces[i] == chosen.first && pieces[i + 1] == chosen.second) {
          pieces[i] = merged;
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return tokens;
}

TEST(LearnVocabulary, MakesTheMergesThatBruteForceFinds) {
  // Counts are chosen so that no two pairs gain the same.
  const WordCounts words{{"low", 503},    {"lower", 211}, {"newest", 613},
                         {"widest", 307}, {"new", 401},   {"wider", 101},
                         {"lowest", 97},  {"solo", 89},   {"a", 1009}};
  const std::vector<std::string> expected = learn_slowly(words, 45);
  EXPECT_GT(expected.size(), 30U);
  EXPECT_EQ(learn_vocabulary(words, 45), expected);
}

TEST(LearnVocabulary, EveryWordOfTheTextCanBeWrittenWithIt) {
  const WordCounts words{{"hello", 5}, {"yellow", 4}, {"jello", 3}, {"ééé", 2}, {"zz", 1}};
  const Vocabulary vocabulary(learn_vocabulary(words, 60), "learnt");
  for (const auto& [word, count] : words) {
    std::vector<std::int32_t> ids;
    vocabulary.encode(word, ids);
    std::string text;
    for (const std::int32_t id : ids) {
      const std::string& token = vocabulary.token(id);
      text += token.starts_with("##") ? token.substr(2) : token;
    }
    EXPECT_EQ(text, word);
  }
}

TEST(LearnVocabulary, ASmallOneHasTheMostFrequentCharacters) {
  WordCounts words{{"zyx", 100}};
  for (char c = 'a'; c <= 'w'; ++c) words[std::string(2, c)] = 1;
  const std::vector<std::string> tokens = learn_vocabulary(words, 8);
  EXPECT_THAT(tokens, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##x", "##y", "z"));
}

// They are unknown whatever is learnt; a file of one line would be merged for hours.
TEST(LearnVocabulary, WordsThatAreTooLongAreNotLookedAt) {
  const std::vector<std::string> tokens =
      learn_vocabulary({{"ab", 3}, {std::string(1'000'000, 'q'), 1}}, 100);
  EXPECT_THAT(tokens, ::testing::Not(::testing::Contains(HasSubstr("q"))));
}

class TextFolderTest : public ::testing::Test {
 protected:
  void fill() {
    // Every document has words of its own, numbered, so that a token says where it is from.
    std::string text;
    for (int document = 0; document < 60; ++document) {
      for (int sentence = 0; sentence < 12; ++sentence) {
        for (int word = 0; word < 8; ++word)
          text += "w" + std::to_string(document) + "x" + std::to_string(sentence * 8 + word) + " ";
        text += sentence % 3 == 0 ? ". " : "\n";
      }
      text += "\n\n";
    }
    write(folder_.path() / "all.txt", text);
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n";
    for (int document = 0; document < 60; ++document)
      for (int word = 0; word < 96; ++word)
        vocabulary += "w" + std::to_string(document) + "x" + std::to_string(word) + "\n";
    write(folder_.path() / "vocab" / "vocab", vocabulary);
  }
  [[nodiscard]] TextSetOptions options() const {
    TextSetOptions options;
    options.set = "text";
    options.path = folder_.path();
    options.vocabulary = folder_.path() / "vocab" / "vocab";
    options.sequence = 48;
    return options;
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(TextFolderTest, PairsAreConsecutiveTextHalfOfTheTime) {
  fill();
  const TextSet set = open_text_set(options());
  EXPECT_EQ(set.info.vocabulary, 6 + 60 * 96);
  EXPECT_EQ(set.info.masked, 8);
  const std::int64_t size = set.train->size();
  ASSERT_GT(size, 59);
  TextBatch batch(set.train->shape(), 1, heap_allocator());
  const auto reader = set.train->make_reader();
  int random_next = 0;
  for (std::int64_t key = 0; key < 1000; ++key) {
    reader->read({key % size, key / size, 3}, batch, 0);
    std::vector<std::int32_t> tokens(batch.tokens, batch.tokens + batch.lengths[0]);
    for (std::int32_t m = 0; m < batch.masked_counts[0]; ++m)
      tokens[batch.masked_positions[m]] = batch.masked_labels[m];
    std::vector<std::int32_t> a;
    std::vector<std::int32_t> b;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i)
      if (tokens[i] > 5) (batch.segments[i] == 0 ? a : b).push_back(tokens[i] - 6);
    ASSERT_FALSE(a.empty());
    ASSERT_FALSE(b.empty());
    for (std::size_t i = 1; i < a.size(); ++i) ASSERT_EQ(a[i], a[i - 1] + 1);
    for (std::size_t i = 1; i < b.size(); ++i) ASSERT_EQ(b[i], b[i - 1] + 1);
    random_next += batch.nsp_labels[0];
    if (batch.nsp_labels[0] == 1)
      ASSERT_NE(a[0] / 96, b[0] / 96);
    else
      ASSERT_EQ(a[0] / 96, b[0] / 96);
  }
  EXPECT_NEAR(random_next, 500, 60);
}

TEST_F(TextFolderTest, EveryFiftiethDocumentIsHeldOut) {
  fill();
  const TextSet set = open_text_set(options());
  const auto documents = [](const TextSource& source) {
    std::set<std::int32_t> result;
    TextBatch batch(source.shape(), 1, heap_allocator());
    const auto reader = source.make_reader();
    for (std::int64_t i = 0; i < source.size(); ++i) {
      reader->read({i, 0, 0}, batch, 0);
      for (std::int32_t m = 0; m < batch.masked_counts[0]; ++m)
        if (batch.masked_labels[m] > 5) result.insert((batch.masked_labels[m] - 6) / 96);
    }
    return result;
  };
  EXPECT_THAT(documents(*set.eval), ElementsAre(49));
  EXPECT_EQ(documents(*set.train).size(), 59U);
}

TEST_F(TextFolderTest, TrainAndValFoldersAreTheSplits) {
  write(folder_.path() / "train/a.txt", "the cat sat on the mat and the dog sat on the log .\n");
  write(folder_.path() / "val/b.txt", "the dog sat on the mat and the cat sat on the log .\n");
  TextSetOptions learnt = options();
  learnt.vocabulary.clear();
  learnt.vocabulary_size = 100;
  const TextSet set = open_text_set(learnt);
  EXPECT_EQ(set.train->size(), 1);
  EXPECT_EQ(set.eval->size(), 1);
  EXPECT_LE(set.info.vocabulary, 100);
  const TextSet again = open_text_set(learnt);
  EXPECT_EQ(again.info.vocabulary, set.info.vocabulary);
}

TEST_F(TextFolderTest, AFileWithZeroBytesIsNamed) {
  fill();
  write(folder_.path() / "utf16.txt", std::string("h\0i\0", 4));
  EXPECT_THAT(error_of([&] { return open_text_set(options()); }).what(),
              HasSubstr("utf16.txt: the file holds zero bytes"));
}

// A model that predicts [UNK] everywhere would be nearly always right.
TEST_F(TextFolderTest, AVocabularyThatDoesNotKnowTheTextIsAnError) {
  fill();
  write(folder_.path() / "vocab/vocab", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n");
  EXPECT_THAT(error_of([&] { return open_text_set(options()); }).what(),
              HasSubstr("of the text's tokens are not in the vocabulary"));
}

TEST_F(TextFolderTest, ALinkToNothingIsNamed) {
  fill();
  std::filesystem::create_symlink("/nowhere/x", folder_.path() / "more");
  EXPECT_THAT(error_of([&] { return open_text_set(options()); }).what(),
              HasSubstr("more: the link leads to nothing"));
}

TEST_F(TextFolderTest, ALinkToNothingThatCannotBeTextIsPassedOver) {
  fill();
  std::filesystem::create_symlink("ann@host.1234", folder_.path() / ".#a.txt.lock");
  std::filesystem::create_symlink("/nowhere/x.png", folder_.path() / "x.png");
  EXPECT_NO_THROW((void)open_text_set(options()));
}

TEST_F(TextFolderTest, FoldersWithoutTextAreExplained) {
  const auto message = [&] { return error_of([&] { return open_text_set(options()); }).message(); };
  EXPECT_THAT(message(), HasSubstr("no .txt files"));
  write(folder_.path() / "a.txt", "one document only\n");
  EXPECT_THAT(message(), HasSubstr("too few to hold one out"));
  write(folder_.path() / "a.txt", "one\n\ntwo\n");
  write(folder_.path() / "vocab/vocab", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  EXPECT_THAT(message(), HasSubstr("no document of 8 tokens"));
}

}  // namespace
}  // namespace assay::train::data
