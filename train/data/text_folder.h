#pragma once

#include "train/data/text_set.h"

namespace assay::train::data {

/// BERT pre-training pairs of the .txt files below options.path (UTF-8; a blank line ends a
/// document). The text is tokenized once and kept in memory, four bytes a token. A sample is a run
/// of sentences of one document that fills a row, cut in two at a random end of a sentence; every
/// other time the second part is replaced by the beginning of a run of another document.
[[nodiscard]] TextSet open_text_folder(const TextSetOptions& options);

}  // namespace assay::train::data
