#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/data/image_set.h"
#include "train/data/token_source.h"

namespace assay::train::data {

struct TokenSetInfo {
  std::string name;
  std::int64_t vocabulary = 0;  ///< token ids are 0…vocabulary-1
  std::int64_t sequence = 0;    ///< S
  std::int64_t train_size = 0;  ///< rows
  std::int64_t eval_size = 0;
  /// The mean loss, in nats per token, of a predictor that knows the evaluation split's
  /// distribution: no model has a lower one except by chance. For generated sets.
  std::optional<double> best_loss;
};

struct TokenSetOptions {
  /// "language" (generated), "text" (folders of text) or "indexed" (Megatron's files of tokens).
  std::string set = "language";
  /// The folder or file of a set of files.
  std::filesystem::path path;
  /// A tokenizer.json. If empty, text learns one, and indexed sets use the one beside them.
  std::filesystem::path tokenizer;
  /// Size of the vocabulary to learn or of the generated language; with a tokenizer, at least its
  /// size, so that the vocabulary can be divisible.
  std::int64_t vocabulary_size = 0;  ///< 0: the set's default
  /// S, 8…1,048,576.
  std::int64_t sequence = 128;
  /// Seed of the generated set; each seed gives a different one.
  std::uint64_t seed = 1;
  /// Rows of the generated set; 0 means the default.
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  Progress progress;
};

struct TokenSet {
  TokenSetInfo info;
  std::shared_ptr<const TokenSource> train;
  std::shared_ptr<const TokenSource> eval;
};

/// Like open_image_set.
[[nodiscard]] TokenSet open_token_set(const TokenSetOptions& options);

/// The valid names for `set`.
[[nodiscard]] const std::vector<std::string>& token_set_names();

}  // namespace assay::train::data
