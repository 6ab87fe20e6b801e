#pragma once

#include "train/data/grammar_model.h"
#include "train/data/text_set.h"

namespace assay::train::data {

/// The id of the grammar's first word; special tokens precede it.
constexpr std::int32_t grammar_first_word = 5;

/// Pairs of texts in the language of GrammarModel, made on demand. A sample's texts depend only on
/// (set seed, split, index); its masks change from epoch to epoch in training and never in
/// evaluation, for any seed of the loader. docs/data.md describes how they are made.
[[nodiscard]] TextSet open_grammar(const TextSetOptions& options);

/// The two texts of a row as seen by the ideal predictor, which knows the grammar, the masking rule
/// and the chosen positions.
struct PairEvidence {
  std::vector<Evidence> a;
  std::vector<Evidence> b;
};
[[nodiscard]] PairEvidence pair_evidence(const TextBatch& batch, std::int64_t row);

/// The ideal predictor's expectation over all rows of a source.
struct IdealAccuracy {
  double mlm = 0;
  double nsp = 0;
  std::int64_t masked = 0;
};
[[nodiscard]] IdealAccuracy ideal_accuracy(const GrammarModel& model, const TextSource& source);

}  // namespace assay::train::data
