// Against a plain implementation in Python: the tokenizers' own regular expressions, and merges as
// the papers have them.
#include <random>

#include <gtest/gtest.h>

#include "core/json.h"
#include "core/subprocess.h"
#include "core/utf8.h"
#include "needs.h"
#include "samples.h"
#include "temporary_folder.h"
#include "train/tokens/learn_bpe.h"
#include "train/tokens/tokenizer_json.h"

namespace assay::train::tokens {
namespace {

const char* const kScript = R"(
import json, sys, regex
from collections import Counter
data = json.load(open(sys.argv[1]))
tokenizer = json.load(open(sys.argv[2]))
split = tokenizer["pre_tokenizer"]
pattern = regex.compile(data["pattern"])
chars = {}
n = 0
for b in range(256):
    if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255: chars[b] = chr(b)
    else: chars[b] = chr(256 + n); n += 1
vocab = tokenizer["model"]["vocab"]
ranks = {tuple(m.split(" ")): i for i, m in enumerate(tokenizer["model"]["merges"])}
def words(text):
    return [[chars[b] for b in w.encode()] for w in pattern.findall(text)]
def merge(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair: out.append(word[i] + word[i + 1]); i += 2
        else: out.append(word[i]); i += 1
    return out
def encode(text):
    ids = []
    for word in words(text):
        while len(word) > 1:
            best = min(zip(word, word[1:]), key=lambda p: ranks.get(p, 1 << 30))
            if best not in ranks: break
            word = merge(word, best)
        ids += [vocab[t] for t in word]
    return ids
# Learning: count all pairs anew before each merge.
order = {c: i for i, c in enumerate(sorted(chars.values()))}
counts = Counter()
for text in data["learn"]:
    for w in words(text): counts[tuple(w)] += 1
learnt = []
while len(order) < 256 + data["merges"]:
    pairs = Counter()
    for w, c in counts.items():
        for p in zip(w, w[1:]): pairs[p] += c
    if not pairs: break
    best = min(pairs, key=lambda p: (-pairs[p], order[p[0]], order[p[1]]))
    if pairs[best] < 2: break
    learnt.append(" ".join(best))
    order.setdefault(best[0] + best[1], 256 + len(learnt))
    new = Counter()
    for w, c in counts.items(): new[tuple(merge(list(w), best))] += c
    counts = new
print(json.dumps({"ids": [encode(t) for t in data["texts"]], "merges": learnt}))
)";

// Code points that Unicode has had for long: tables of different ages agree on them.
std::string random_text(std::mt19937& random, std::size_t size) {
  static const std::vector<std::string> parts{
      "the",    " and",   "'s",     "'LL",     "'\u017F", "don't", " ",     "  ", "\n",
      "\r\n",   "\t",     "123",    "4567",    " 9",      "²",     "Ⅷ",     "٣",  ".",
      "...",    "!?",     "_",      "é",       "ß",       "я",     "漢字",  "한", "\u00A0",
      "\u3000", "\u0085", "\u200B", "e\u0301", "😀",       "€",     "(see",  "x)", "$5",
      "\v",     "\u2028", "of",     " in",     "ing",     "'tis",  "\n\n ", "A'S"};
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += parts[random() % parts.size()];
  return text;
}

class ReferenceTest : public ::testing::TestWithParam<SplitRules> {};

TEST_P(ReferenceTest, TokensAndMergesAreThoseOfThePlainImplementation) {
  const std::string python = needs::python_with("regex");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-regex");
  const SplitRules rules = GetParam();
  std::mt19937 random(3);  // NOLINT: the same texts each time
  PieceCounts counts(rules);
  Json data{{"pattern", pattern_of(rules)}, {"merges", 120}};
  for (int i = 0; i < 12; ++i) {
    const std::string text = random_text(random, 150);
    counts.add(text);
    data["learn"].push_back(text);
  }
  const Bpe bpe = learn_bpe(counts, 257 + 120);
  std::vector<std::string> texts{""};
  for (int i = 0; i < 200; ++i) texts.push_back(random_text(random, random() % 60));
  texts.push_back(std::string(300, 'e') + "ing the");
  data["texts"] = texts;
  const testing::TemporaryFolder folder;
  const auto input = folder.write("data.json", data.dump());
  const auto tokenizer = folder.write("tokenizer.json", tokenizer_json(bpe));
  CommandOptions options;
  options.timeout = std::chrono::seconds(50);
  const CommandResult result =
      run_command({python, "-c", kScript, input.string(), tokenizer.string()}, options);
  ASSERT_TRUE(result.ok()) << result.err;
  const Json expected = parse_json(result.out, "reference");
  const Json written = parse_json(tokenizer_json(bpe), "tokenizer");
  EXPECT_EQ(written["model"]["merges"], expected["merges"]);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(ids_of(bpe, texts[i]), expected["ids"][i].get<std::vector<std::int32_t>>())
        << Json(texts[i]).dump();
}

INSTANTIATE_TEST_SUITE_P(Rules, ReferenceTest,
                         ::testing::Values(kGpt2Rules, kLlama3Rules, kQwen2Rules),
                         [](const auto& info) {
                           return std::string(info.param == kGpt2Rules     ? "Gpt2"
                                              : info.param == kLlama3Rules ? "Llama3"
                                                                           : "Qwen2");
                         });

}  // namespace
}  // namespace assay::train::tokens
