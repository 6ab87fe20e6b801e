#include <gtest/gtest.h>

#include "core/error.h"
#include "count_parameters.h"
#include "train/models/bert.h"

namespace assay::train {
namespace {

// Counted: embeddings, encoder, pooler, the transform and bias of the masked-language head (its
// matrix is the word embedding) and the next-sentence head.
TEST(BertTest, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(count_parameters(*Bert(BertOptions::named("base"))), 110'106'428);
  EXPECT_EQ(count_parameters(*Bert(BertOptions::named("large"))), 336'226'108);
}

TEST(BertTest, RefusesASizeThatDoesNotExist) {
  EXPECT_THROW(static_cast<void>(BertOptions::named("huge")), Error);
}

BertOptions small() {
  BertOptions options = BertOptions::named("tiny");
  options.vocabulary = 50;
  options.positions = 16;
  return options;
}

TEST(BertTest, PredictsOnlyThePickedPositions) {
  torch::manual_seed(1);
  Bert model(small());
  model->eval();
  BertInput input;
  input.tokens = torch::randint(0, 50, {3, 8}, torch::kLong);
  input.segments = torch::zeros({3, 8}, torch::kLong);
  input.picked = torch::arange(24, torch::kLong);
  const BertOutput all = model->forward(input);
  EXPECT_EQ(all.words.size(0), 24);
  input.picked = torch::tensor({std::int64_t{17}, std::int64_t{3}});
  const BertOutput some = model->forward(input);
  EXPECT_TRUE(torch::allclose(some.words[0], all.words[17], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(some.words[1], all.words[3], 1e-4, 1e-5));
}

TEST(BertTest, PaddingThatIsMaskedChangesNothing) {
  torch::manual_seed(1);
  Bert model(small());
  model->eval();
  BertInput input;
  input.tokens = torch::randint(0, 50, {2, 6}, torch::kLong);
  input.segments = torch::zeros({2, 6}, torch::kLong);
  input.picked = torch::tensor({std::int64_t{2}, std::int64_t{7}});
  const BertOutput bare = model->forward(input);
  BertInput padded;
  padded.tokens = torch::cat({input.tokens, torch::randint(0, 50, {2, 4}, torch::kLong)}, 1);
  padded.segments = torch::zeros({2, 10}, torch::kLong);
  padded.mask = torch::zeros({2, 1, 1, 10});
  padded.mask.slice(3, 6, 10).fill_(-1e9);
  padded.picked = torch::tensor({std::int64_t{2}, std::int64_t{11}});
  const BertOutput masked = model->forward(padded);
  EXPECT_TRUE(torch::allclose(bare.words, masked.words, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(bare.next, masked.next, 1e-4, 1e-5));
}

TEST(BertTest, TheDecoderIsTheWordEmbedding) {
  Bert model(small());
  model->eval();
  BertInput input;
  input.tokens = torch::zeros({1, 4}, torch::kLong);
  input.segments = torch::zeros({1, 4}, torch::kLong);
  input.picked = torch::tensor({std::int64_t{1}});
  model->forward(input).words.select(1, 7).sum().backward();
  // Token 7 is not in the input: its embedding gets a gradient through the decoder alone.
  EXPECT_GT(model->named_parameters()["words.weight"].grad()[7].abs().sum().item<double>(), 0);
  EXPECT_EQ(model->named_parameters()["words.weight"].grad()[8].abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace assay::train
