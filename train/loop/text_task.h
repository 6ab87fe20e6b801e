#pragma once

#include "train/loop/task_kinds.h"

namespace assay::train {

/// Pre-training on text, words that are masked and which sentence is next: bert-tiny … bert-large.
[[nodiscard]] TaskKind text_kind();

}  // namespace assay::train
