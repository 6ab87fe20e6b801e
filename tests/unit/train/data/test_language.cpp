#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "train/data/markov_language.h"
#include "train/data/token_set.h"

namespace assay::train::data {
namespace {

TokenSetOptions little_language() {
  TokenSetOptions options;
  options.sequence = 64;
  options.train_size = 96;
  options.eval_size = 64;
  return options;
}

TEST(LanguageTest, ProbabilitiesAreADistributionOfTheStatedEntropy) {
  const Language language(100, 3);
  for (const auto& [before, last] : {std::pair{0, 0}, std::pair{7, 99}, std::pair{42, 13}}) {
    double sum = 0;
    double entropy = 0;
    for (int next = 0; next < 100; ++next) {
      const double p = language.probability(before, last, next);
      sum += p;
      if (p > 0) entropy -= p * std::log(p);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(entropy, language.entropy(), 1e-12);
  }
}

TEST(LanguageTest, TokensAreDrawnWithTheirProbabilities) {
  const Language language(64, 4);
  Random random(9);
  constexpr int kDraws = 200'000;
  std::vector<int> counts(64);
  for (int i = 0; i < kDraws; ++i) ++counts[language.draw(5, 6, random)];
  for (int next = 0; next < 64; ++next) {
    const double p = language.probability(5, 6, next);
    EXPECT_NEAR(counts[next], p * kDraws, 5 * std::sqrt(p * kDraws) + 1e-9) << next;
  }
}

TEST(LanguageTest, TheTokenBeforeTheLastMatters) {
  const Language language(64, 4);
  int different = 0;
  for (int next = 0; next < 64; ++next)
    if (language.probability(1, 6, next) != language.probability(2, 6, next)) ++different;
  EXPECT_GT(different, 4);
}

TEST(LanguageTest, TheBestLossOfTheEvaluationIsNearTheEntropy) {
  TokenSetOptions options = little_language();
  options.eval_size = 1000;
  const TokenSet set = open_token_set(options);
  const double entropy = Language(set.info.vocabulary, options.seed).entropy();
  // The deviation of -ln p is about 1 nat: 5 deviations of the mean of 64,000.
  EXPECT_NEAR(*set.info.best_loss, entropy, 0.02);
}

TEST(LanguageTest, RowsBeginWithADocumentAndCountThem) {
  const TokenSet set = open_token_set(little_language());
  TokenBatch batch(set.train->shape(), 1, heap_allocator());
  const auto reader = set.train->make_reader();
  int documents = 0;
  for (std::int64_t index = 0; index < set.train->size(); ++index) {
    reader->read({index, 0, 0}, batch, 0);
    EXPECT_EQ(batch.tokens[0], 0);
    EXPECT_EQ(batch.documents[0], 0);
    for (std::int64_t i = 1; i < batch.shape.row(); ++i) {
      EXPECT_EQ(batch.documents[i] - batch.documents[i - 1], batch.tokens[i] == 0 ? 1 : 0);
      EXPECT_LT(batch.tokens[i], set.info.vocabulary);
    }
    documents += batch.documents[64];
  }
  EXPECT_GT(documents, 40);  // 96 are expected
  EXPECT_LT(documents, 160);
}

std::vector<std::int32_t> row_tokens(const TokenBatch& batch) {
  return {batch.tokens, batch.tokens + batch.size * batch.shape.row()};
}

TEST(LanguageTest, TheBatchesOfTwoRanksAreThoseOfOne) {
  const TokenSet set = open_token_set(little_language());
  const auto batches = [&](std::int64_t rank, std::int64_t world, std::int64_t size) {
    LoaderOptions options;
    options.batch_size = size;
    options.rank = rank;
    options.world = world;
    return std::make_unique<TokenLoader>(set.train, options);
  };
  const auto one = batches(0, 1, 8);
  const auto first = batches(0, 2, 4);
  const auto second = batches(1, 2, 4);
  for (int i = 0; i < 30; ++i) {  // more than two epochs
    std::vector<std::int32_t> both = row_tokens(*first->next());
    const std::vector<std::int32_t> more = row_tokens(*second->next());
    both.insert(both.end(), more.begin(), more.end());
    EXPECT_EQ(row_tokens(*one->next()), both);
  }
}

TEST(LanguageTest, AStreamGoesOnAtTheTokenWhereItWasLeftAlsoWithOtherRanks) {
  const TokenSet set = open_token_set(little_language());
  LoaderOptions options;
  options.batch_size = 8;
  TokenLoader whole(set.train, options);
  for (int i = 0; i < 17; ++i) static_cast<void>(whole.next());
  options.start = {1, 5};  // 12 batches an epoch
  options.batch_size = 4;
  options.world = 2;
  TokenLoader rest(set.train, options);
  const std::vector<std::int32_t> expected = row_tokens(*whole.next());
  const std::vector<std::int32_t> mine = row_tokens(*rest.next());
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), expected.begin()));
}

TEST(LanguageTest, WhatCannotBeIsAnErrorWithAdvice) {
  TokenSetOptions options = little_language();
  options.vocabulary_size = 10;
  const auto open = [&] { return open_token_set(options); };
  EXPECT_THAT(assay::testing::error_of(open), ::testing::HasSubstr("use 64 to 1048576"));
  options = little_language();
  options.sequence = 4;
  EXPECT_THAT(assay::testing::error_of(open), ::testing::HasSubstr("a sequence of 4 tokens"));
  options = little_language();
  options.set = "langage";
  EXPECT_THAT(assay::testing::error_of(open), ::testing::HasSubstr("did you mean 'language'"));
}

}  // namespace
}  // namespace assay::train::data
