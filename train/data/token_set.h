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
  /// The mean loss, in nats a token, of a predictor that knows the distribution that the evaluation
  /// split was drawn from: no model has less there but by chance. Of generated sets.
  std::optional<double> best_loss;
};

struct TokenSetOptions {
  /// "language" (generated), "text" (folders of text) or "indexed" (Megatron's files of tokens).
  std::string set = "language";
  /// Of a set of files: the folder or the file.
  std::filesystem::path path;
  /// A tokenizer.json. Empty: of text, one is learnt; of indexed sets, the one beside them.
  std::filesystem::path tokenizer;
  /// Tokens of the vocabulary to learn, and of the generated language; with a tokenizer, as many
  /// as it has or more, so that the vocabulary divides.
  std::int64_t vocabulary_size = 0;  ///< 0: the set's default
  /// S, 8…1,048,576.
  std::int64_t sequence = 128;
  /// Seed of the generated set: each seed gives another one.
  std::uint64_t seed = 1;
  /// Rows of the generated set; 0 is its default.
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  Progress progress;
};

struct TokenSet {
  TokenSetInfo info;
  std::shared_ptr<const TokenSource> train;
  std::shared_ptr<const TokenSource> eval;
};

/// Same as open_image_set.
[[nodiscard]] TokenSet open_token_set(const TokenSetOptions& options);

/// The names that `set` may have.
[[nodiscard]] const std::vector<std::string>& token_set_names();

}  // namespace assay::train::data
