#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/data/batch.h"
#include "train/data/random.h"
#include "train/data/text_set.h"

namespace assay::train::data {

/// BERT's masking: 80 % of the chosen tokens become [MASK], 10 % a random token, 10 % stay.
struct MaskingRule {
  static constexpr double to_mask = 0.8;
  static constexpr double to_random = 0.1;

  SpecialTokens special;
  double probability = 0.15;
  std::int32_t random_low = 0;  ///< random tokens are low…high-1
  std::int32_t random_high = 0;
};

/// Writes the row [CLS] a [SEP] b [SEP] and its masks: max(1, round(probability · length)) tokens,
/// at most the batch's P, chosen evenly among those of `a` and `b`, which must not be empty and
/// must fit. `scratch` is working memory. All randomness comes from `random`.
void write_pair(const MaskingRule& rule, std::span<const std::int32_t> a,
                std::span<const std::int32_t> b, bool random_next, Random& random,
                std::vector<std::int32_t>& scratch, TextBatch& batch, std::int64_t row);

/// P for the options: as requested, or enough for a full row. Throws Error of kind config if the
/// sequence, the probability or P is invalid.
[[nodiscard]] std::int64_t masked_per_row(const TextSetOptions& options);

}  // namespace assay::train::data
