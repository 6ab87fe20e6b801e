#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "train/tokens/bpe.h"
#include "train/tokens/learn_bpe.h"
#include "train/tokens/text_files.h"
#include "train/tokens/token_stream.h"

namespace assay::train::tokens {

struct TokenizeOptions {
  std::string key = "text";               ///< for JSON Lines: the member with the text
  int threads = 0;                        ///< 0: one per processor
  std::optional<std::int32_t> end_token;  ///< appended to each document
  /// Reports the bytes of files so far, their total, and the tokens so far.
  std::function<void(std::int64_t, std::int64_t, std::int64_t)> progress;
};

struct Tokenized {
  std::int64_t bytes = 0;       ///< of the documents' texts
  std::int64_t file_bytes = 0;  ///< of the files, including JSON's names and escapes
  std::int64_t documents = 0;
  std::int64_t empty_documents = 0;  ///< left out
  std::int64_t tokens = 0;           ///< including end tokens
};

/// Passes the tokens of all documents in `files` to `sink`, in order and independent of the number
/// of threads. Special tokens in text are treated as text. Throws Error of kind environment with
/// the place of anything unreadable.
Tokenized tokenize(std::span<const TextFile> files, const Bpe& bpe, const TokenizeOptions& options,
                   TokenSink& sink);

/// Counts the pieces of all documents, for learning a vocabulary. `progress` gets no tokens.
[[nodiscard]] PieceCounts count_pieces(std::span<const TextFile> files, const SplitRules& rules,
                                       const TokenizeOptions& options);

}  // namespace assay::train::tokens
