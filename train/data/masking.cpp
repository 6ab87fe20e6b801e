#include "train/data/masking.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::train::data {

void write_pair(const MaskingRule& rule, std::span<const std::int32_t> a,
                std::span<const std::int32_t> b, bool random_next, Random& random,
                std::vector<std::int32_t>& scratch, TextBatch& batch, std::int64_t row) {
  const std::int64_t sequence = batch.shape.sequence;
  const std::int64_t slots = batch.shape.masked;
  const auto size_a = static_cast<std::int64_t>(a.size());
  const auto size_b = static_cast<std::int64_t>(b.size());
  const std::int64_t length = size_a + size_b + 3;
  const SpecialTokens& special = rule.special;

  std::int32_t* const tokens = batch.tokens + row * sequence;
  std::fill_n(tokens, sequence, special.pad);
  tokens[0] = special.cls;
  std::copy(a.begin(), a.end(), tokens + 1);
  tokens[size_a + 1] = special.sep;
  std::copy(b.begin(), b.end(), tokens + size_a + 2);
  tokens[length - 1] = special.sep;
  std::int32_t* const segments = batch.segments + row * sequence;
  std::fill_n(segments, sequence, 0);
  std::fill_n(segments + size_a + 2, size_b + 1, 1);
  batch.lengths[row] = static_cast<std::int32_t>(length);
  batch.nsp_labels[row] = random_next ? 1 : 0;

  scratch.clear();
  for (std::int64_t i = 1; i < length - 1; ++i)
    if (i != size_a + 1) scratch.push_back(static_cast<std::int32_t>(i));
  const auto candidates = static_cast<std::int64_t>(scratch.size());
  const std::int64_t wanted = std::llround(rule.probability * static_cast<double>(length));
  const std::int64_t count = std::clamp<std::int64_t>(wanted, 1, std::min(slots, candidates));
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(scratch[i], scratch[i + random.below(candidates - i)]);
  std::sort(scratch.begin(), scratch.begin() + count);

  std::int32_t* const positions = batch.masked_positions + row * slots;
  std::int32_t* const labels = batch.masked_labels + row * slots;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t& token = tokens[scratch[i]];
    positions[i] = scratch[i];
    labels[i] = token;
    const double fate = random.uniform();
    if (fate < MaskingRule::to_mask) {
      token = special.mask;
    } else if (fate < MaskingRule::to_mask + MaskingRule::to_random) {
      token = rule.random_low +
              static_cast<std::int32_t>(random.below(rule.random_high - rule.random_low));
    }
  }
  std::fill(positions + count, positions + slots, 0);
  std::fill(labels + count, labels + slots, TextBatch::ignored);
  batch.masked_counts[row] = static_cast<std::int32_t>(count);
}

std::int64_t masked_per_row(const TextSetOptions& options) {
  const auto wrong = [](std::string what, std::string advice) {
    throw Error(ErrorKind::config, std::move(what), "text data set", std::move(advice));
  };
  if (options.sequence < 16 || options.sequence > 8192)
    wrong(fmt::format("a sequence of {} tokens", options.sequence), "use 16 to 8192");
  if (!(options.mask_probability > 0 && options.mask_probability <= 0.5))
    wrong(fmt::format("a mask probability of {}", options.mask_probability),
          "use more than 0, at most 0.5; 0.15 is BERT's");
  if (options.masked < 0 || options.masked > options.sequence - 3)
    wrong(fmt::format("{} masked positions in a sequence of {} tokens", options.masked,
                      options.sequence),
          fmt::format("use 1 to {}, or 0 for the default", options.sequence - 3));
  if (options.masked > 0) return options.masked;
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(options.sequence) * options.mask_probability));
}

}  // namespace assay::train::data
