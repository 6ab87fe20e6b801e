#pragma once

#include "train/base/torch.h"

namespace assay::train {

/// Whether cuda_cross_entropy() supports these logits, [rows, at least `classes`].
[[nodiscard]] bool cuda_cross_entropy_fits(const torch::Tensor& logits);

/// Like torch::cross_entropy_loss with the mean over rows with a label other than `ignored`, for
/// the first `classes` columns, in one forward and one backward pass over logits of any type.
[[nodiscard]] torch::Tensor cuda_cross_entropy(const torch::Tensor& logits, std::int64_t classes,
                                               const torch::Tensor& labels, std::int64_t ignored,
                                               double smoothing);

}  // namespace assay::train
