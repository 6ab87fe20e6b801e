#pragma once

#include "train/base/torch.h"

namespace assay::train {

/// A convolution of images with a square window and a single stride and padding. All convolutions
/// of train/models use it: on the CPU libtorch passes them to oneDNN, some of whose kernels are
/// wrong, write outside their memory or never end. Those never run here; docs/training.md, "Kernels
/// that are not used", lists the shapes and how they were found. `bias` may be undefined.
[[nodiscard]] torch::Tensor convolution(const torch::Tensor& x, const torch::Tensor& weight,
                                        const torch::Tensor& bias, std::int64_t stride,
                                        std::int64_t padding);

}  // namespace assay::train
