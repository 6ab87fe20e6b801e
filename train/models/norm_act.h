#pragma once

#include "train/torch.h"

namespace assay::train {

/// relu(batch_norm(x) + addend), or without the addend or the relu. The statistics are those of the
/// batch in training (running ones are updated) and the running ones in evaluation, as `norm` says.
/// One place for it, so that a fused kernel serves all models.
[[nodiscard]] torch::Tensor norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                     const torch::Tensor& addend = {}, bool relu = true);

}  // namespace assay::train
