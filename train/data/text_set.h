#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/data/image_set.h"
#include "train/data/source.h"

namespace assay::train::data {

/// Ids of the special tokens.
struct SpecialTokens {
  std::int32_t pad = 0;
  std::int32_t unknown = 1;
  std::int32_t cls = 2;
  std::int32_t sep = 3;
  std::int32_t mask = 4;
};

struct TextSetInfo {
  std::string name;
  std::int64_t vocabulary = 0;  ///< token ids are 0…vocabulary-1
  std::int64_t sequence = 0;    ///< S
  std::int64_t masked = 0;      ///< P
  SpecialTokens special;
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  std::optional<BestAccuracy> best_mlm_accuracy;  ///< over all masked positions
  std::optional<BestAccuracy> best_nsp_accuracy;
};

struct TextSetOptions {
  /// "grammar" (generated) or "text" (a folder of .txt files).
  std::string set = "grammar";
  /// The folder for "text", with train/ and val/ if both exist; otherwise every 50th document is
  /// held out for evaluation.
  std::filesystem::path path;
  /// A WordPiece model's vocab.txt, one token per line; empty: learned from the training text.
  std::filesystem::path vocabulary;
  /// Size of the vocabulary to learn.
  std::int64_t vocabulary_size = 8192;
  /// Lower-case the text, as uncased BERT models do.
  bool lower_case = true;
  /// S, 16…8192.
  std::int64_t sequence = 64;
  /// Fraction of a row's tokens that are masked.
  double mask_probability = 0.15;
  /// P; 0 is ceil(S · mask_probability).
  std::int64_t masked = 0;
  /// Seed of the generated set; each seed gives a different set.
  std::uint64_t seed = 1;
  /// Samples of the generated set; 0 means the default (32,768 and 1,024).
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  Progress progress;
};

struct TextSet {
  TextSetInfo info;
  std::shared_ptr<const TextSource> train;
  std::shared_ptr<const TextSource> eval;
};

/// Like open_image_set. The evaluation split's masking is the same in every pass.
[[nodiscard]] TextSet open_text_set(const TextSetOptions& options);

/// The valid names for `set`.
[[nodiscard]] const std::vector<std::string>& text_set_names();

}  // namespace assay::train::data
