#pragma once

#include "train/data/token_set.h"

namespace assay::train::data {

/// Text for language models: a file, or the .txt and .jsonl files of a folder, whose subfolders
/// train/ and val/ are the splits if both exist. It is tokenized once, with options.tokenizer or a
/// vocabulary learned from the training text, and kept in memory.
[[nodiscard]] TokenSet open_token_text(const TokenSetOptions& options);

/// Megatron's indexed data sets: PREFIX, PREFIX.idx, or a folder of .idx files, which are read in
/// the order of their names; its train.idx and val.idx are the splits if both exist. The vocabulary
/// is that of options.tokenizer, of PREFIX.tokenizer.json (tokenizer.json in a folder), or
/// options.vocabulary_size.
[[nodiscard]] TokenSet open_indexed_tokens(const TokenSetOptions& options);

}  // namespace assay::train::data
