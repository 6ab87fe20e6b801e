// tokenizer.json: what is read, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "error_of.h"
#include "samples.h"
#include "temporary_folder.h"
#include "train/tokens/tokenizer_json.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json sample() {
  return parse_json(tokenizer_json(Bpe(small_parts({"a b", "_ ab"}, kLlama3Rules), "t")), "t");
}

std::string refusal(const Json& json) {
  return testing::error_of([&] { return parse_tokenizer(json.dump(), "t.json"); });
}

TEST(TokenizerJsonTest, WhatIsWrittenIsReadBack) {
  for (const SplitRules& rules : {kGpt2Rules, kLlama3Rules, kQwen2Rules}) {
    BpeParts parts = small_parts({"a b", "_ ab"}, rules);
    parts.whole_words = rules == kLlama3Rules;
    const Bpe bpe(parts, "t");
    const Bpe again = parse_tokenizer(tokenizer_json(bpe), "t");
    EXPECT_EQ(again.parts().tokens, bpe.parts().tokens);
    EXPECT_EQ(again.parts().merges, bpe.parts().merges);
    EXPECT_EQ(again.parts().special, bpe.parts().special);
    EXPECT_EQ(again.parts().rules, rules);
    EXPECT_EQ(again.parts().whole_words, bpe.parts().whole_words);
  }
}

TEST(TokenizerJsonTest, MergesMayBeListsOfTwo) {
  Json json = sample();
  json["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({"Ġ", "ab"})});
  EXPECT_THAT(tokens_of(parse_tokenizer(json.dump(), "t"), "ab ab"), ElementsAre("ab", " ab"));
}

TEST(TokenizerJsonTest, ASpecialTokenMayAlsoBeInTheVocabulary) {
  Json json = sample();
  json["model"]["vocab"]["<|end_of_text|>"] = 258;
  EXPECT_EQ(parse_tokenizer(json.dump(), "t").end_of_text(), 258);
}

Json with_added(const std::vector<std::pair<std::string, bool>>& tokens) {
  Json json = sample();
  for (const auto& [content, normalized] : tokens)
    json["added_tokens"].push_back({{"id", 258 + json["added_tokens"].size()},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", normalized},
                                    {"special", false}});
  return json;
}

// As Hugging Face's tokenizers find them: leftmost, the longest first, before text is cut.
TEST(TokenizerJsonTest, AddedTokensThatAreNotSpecialAreFoundInText) {
  const Bpe bpe =
      parse_tokenizer(with_added({{"  ", false}, {"    ", false}, {"<x>", false}}).dump(), "t");
  EXPECT_THAT(tokens_of(bpe, "ab      ab"), ElementsAre("ab", "    ", "  ", "ab"));
  EXPECT_THAT(tokens_of(bpe, "ab   ab"), ElementsAre("ab", "  ", " ab"));
  EXPECT_THAT(tokens_of(bpe, "<x>ab<x>"), ElementsAre("<x>", "ab", "<x>"));
  EXPECT_THAT(tokens_of(bpe, "  "), ElementsAre("  "));
  const Bpe again = parse_tokenizer(tokenizer_json(bpe), "t");
  EXPECT_EQ(again.parts().added, bpe.parts().added);
  EXPECT_EQ(again.parts().special, bpe.parts().special);
  EXPECT_THAT(tokens_of(again, "ab    ab"), ElementsAre("ab", "    ", "ab"));
}

TEST(TokenizerJsonTest, ThoseThatAreNotNormalizedAreFoundFirst) {
  const Bpe bpe = parse_tokenizer(with_added({{"abab", true}, {"ba", false}}).dump(), "t");
  EXPECT_THAT(tokens_of(bpe, "abab"), ElementsAre("a", "ba", "b"));
  const Bpe both = parse_tokenizer(with_added({{"abab", true}, {"ba", true}}).dump(), "t");
  EXPECT_THAT(tokens_of(both, "abab"), ElementsAre("abab"));
}

TEST(TokenizerJsonTest, AnAddedTokenMayBeTheVocabularysOwn) {
  Json json = with_added({{"!", false}});
  json["added_tokens"].back()["id"] = 33;
  EXPECT_THAT(ids_of(parse_tokenizer(json.dump(), "t"), "a!b"), ElementsAre(97, 33, 98));
}

TEST(TokenizerJsonTest, AnAddedTokenHasTheIdThatTheVocabularyGivesIt) {
  Json json = with_added({{"!", false}});
  EXPECT_THAT(refusal(json), HasSubstr("added_tokens[1].id: '!' has the id 259 here and 33 in "
                                       "model.vocab"));
}

TEST(TokenizerJsonTest, WhatIsNotSupportedIsNamedWithItsPlace) {
  Json json = sample();
  json["normalizer"] = {{"type", "NFC"}};
  EXPECT_THAT(refusal(json), HasSubstr("t.json: normalizer: a normalizer (\"NFC\")"));
  json = sample();
  json["model"]["byte_fallback"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.byte_fallback: "));
  json = sample();
  json["model"]["type"] = "Unigram";
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.type: 'Unigram' is not BPE"));
  json = sample();
  json["model"]["dropout"] = 0.1;
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.dropout: "));
  json = sample();
  json["model"]["end_of_word_suffix"] = "</w>";
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.end_of_word_suffix: "));
  json = sample();
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\w+";
  EXPECT_THAT(refusal(json), HasSubstr("pretokenizers[0].pattern.Regex: the pattern '\\w+'"));
  json = sample();
  json["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("pretokenizers[1].add_prefix_space"));
  json = sample();
  json["pre_tokenizer"]["pretokenizers"][1]["use_regex"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("splitting a second time"));
  json = sample();
  json["pre_tokenizer"] = nullptr;
  EXPECT_THAT(refusal(json), HasSubstr("t.json: pre_tokenizer: there is none"));
  json = sample();
  json["added_tokens"][0]["lstrip"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("added_tokens[0].lstrip"));
  EXPECT_THAT(refusal(with_added({{"New York", false}})),
              HasSubstr("added_tokens[1].content: 'New York', which is not special"));
}

TEST(TokenizerJsonTest, WhatIsWrongIsNamedWithItsPlace) {
  Json json = sample();
  json["model"]["merges"].push_back("a q x");
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.merges[2]: 'a q x' is not two tokens"));
  json = sample();
  json["model"]["merges"].push_back("a q");
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model.merges[2]: 'aq' is not in the vocabulary"));
  json = sample();
  json["model"]["vocab"]["zz"] = 97;
  EXPECT_THAT(refusal(json), HasSubstr("have the same id 97"));
  json = sample();
  json["model"]["vocab"]["zz"] = 1'000'000'000'000;
  EXPECT_THAT(refusal(json), HasSubstr("is not the id of a token"));
  json = sample();
  json["model"]["vocab"]["zz"] = 16'000'000;
  EXPECT_THAT(refusal(json), HasSubstr("far beyond the number of tokens"));
  json = sample();
  json["model"]["vocab"].erase("!");
  EXPECT_THAT(refusal(json), HasSubstr("t.json: no token stands for the byte 0x21"));
  json = sample();
  json.erase("model");
  EXPECT_THAT(refusal(json), HasSubstr("t.json: model: expected an object"));
}

TEST(TokenizerJsonTest, EveryCutFileIsRefusedWithLineAndColumn) {
  const std::string text = tokenizer_json(Bpe(small_parts({"a b"}), "t"));
  for (std::size_t size = 0; size + 2 < text.size(); size += 97)
    EXPECT_THAT(testing::error_of([&] { return parse_tokenizer(text.substr(0, size), "t.json"); }),
                ::testing::AnyOf(HasSubstr("it ends too early"), HasSubstr("it is empty"),
                                 HasSubstr("t.json:")));
}

TEST(TokenizerJsonTest, AMissingFileIsNamed) {
  EXPECT_THAT(testing::error_of([] { return read_tokenizer("/nowhere/tokenizer.json"); }),
              HasSubstr("/nowhere/tokenizer.json"));
}

TEST(TokenizerJsonTest, AFileIsRead) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("tokenizer.json", tokenizer_json(Bpe(small_parts({"a b"}), "t")));
  EXPECT_EQ(read_tokenizer(path).vocabulary(), 258);
}

}  // namespace
}  // namespace assay::train::tokens
