#pragma once

#include "train/models/fork.h"

namespace assay::train {

/// relu(batch_norm(x) + addend), optionally without the addend or the relu. As `norm` says, uses
/// the batch's statistics in training (and updates the running ones), the running ones in
/// evaluation. Defined in one place, so that a fused kernel serves all models.
[[nodiscard]] torch::Tensor norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                     const torch::Tensor& addend = {}, bool relu = true);

/// norm_act() for two readers, as at the end of a residual block.
[[nodiscard]] Fork norm_act_fork(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                                 const torch::Tensor& addend = {}, bool relu = true);

/// The maximum of norm_act(x) in 3×3 windows with stride 2 and padding 1.
[[nodiscard]] torch::Tensor norm_act_pool(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x);

}  // namespace assay::train
