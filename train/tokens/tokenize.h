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
  std::string key = "text";               ///< of JSON Lines: the member with the text
  int threads = 0;                        ///< 0: one a processor
  std::optional<std::int32_t> end_token;  ///< behind each document
  /// Bytes of the files so far, of all of them, and tokens so far.
  std::function<void(std::int64_t, std::int64_t, std::int64_t)> progress;
};

struct Tokenized {
  std::int64_t bytes = 0;       ///< of the documents' text
  std::int64_t file_bytes = 0;  ///< of the files: JSON's names and escapes included
  std::int64_t documents = 0;
  std::int64_t empty_documents = 0;  ///< left out
  std::int64_t tokens = 0;           ///< the end tokens included
};

/// Gives the tokens of all documents of `files` to `sink`, in order: what it gets does not depend
/// on the threads. Special tokens in text are text. Throws Error of kind environment with the place
/// of what cannot be read.
Tokenized tokenize(std::span<const TextFile> files, const Bpe& bpe, const TokenizeOptions& options,
                   TokenSink& sink);

/// How often the pieces of all documents occur, to learn a vocabulary from. `progress` gets no
/// tokens.
[[nodiscard]] PieceCounts count_pieces(std::span<const TextFile> files, const SplitRules& rules,
                                       const TokenizeOptions& options);

}  // namespace assay::train::tokens
