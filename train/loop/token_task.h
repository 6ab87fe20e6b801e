#pragma once

#include "train/loop/task_kinds.h"

namespace assay::train {

/// Pre-training of a language model that predicts each next token: llama-tiny … llama-70b.
[[nodiscard]] TaskKind token_kind();

}  // namespace assay::train
