#pragma once

#include "train/models/fork.h"

namespace assay::train {

/// relu(batch_norm(x) + addend), or without the addend or the relu. The statistics are those of the
/// batch in training (running ones are updated) and the running ones in evaluation, as `norm` says.
/// One place for it, so that a fused kernel serves all models.
[[nodiscard]] torch::Tensor norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                     const torch::Tensor& addend = {}, bool relu = true);

/// norm_act() for two readers, as at the end of a residual block.
[[nodiscard]] Fork norm_act_fork(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                 const torch::Tensor& addend = {}, bool relu = true);

/// The largest of norm_act(x) in windows of 3×3 with stride 2 and padding 1.
[[nodiscard]] torch::Tensor norm_act_pool(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x);

}  // namespace assay::train
