#pragma once

#include "train/data/token_set.h"

namespace assay::train::data {

/// Text for language models: a file, or the .txt and .jsonl files of a folder; folders train/ and
/// val/ in it are the splits when both are there. Its tokens are made once, by options.tokenizer or
/// by a vocabulary that is learnt from the training text, and kept in memory.
[[nodiscard]] TokenSet open_token_text(const TokenSetOptions& options);

/// Megatron's indexed data sets: PREFIX, PREFIX.idx, or a folder of .idx files, which are read one
/// after the other in the order of their names; train.idx and val.idx in it are the splits when
/// both are there. The vocabulary is that of options.tokenizer, of PREFIX.tokenizer.json (of a
/// folder: tokenizer.json in it), or options.vocabulary_size.
[[nodiscard]] TokenSet open_indexed_tokens(const TokenSetOptions& options);

}  // namespace assay::train::data
