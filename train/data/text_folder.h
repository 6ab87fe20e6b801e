#pragma once

#include "train/data/text_set.h"

namespace assay::train::data {

/// BERT pre-training pairs from the .txt files below options.path (UTF-8; a blank line ends a
/// document). The text is tokenized once and kept in memory, at four bytes per token. A sample is a
/// run of sentences of one document that fills a row, divided at a random end of a sentence; half
/// of the time the second part is replaced by the beginning of a run from another document.
[[nodiscard]] TextSet open_text_folder(const TextSetOptions& options);

}  // namespace assay::train::data
