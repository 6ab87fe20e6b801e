#pragma once

#include "train/loop/task_kinds.h"

namespace assay::train {

/// Pre-training on text, with masked words and next-sentence prediction: bert-tiny … bert-large.
[[nodiscard]] TaskKind text_kind();

}  // namespace assay::train
