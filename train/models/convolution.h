#pragma once

#include "train/base/torch.h"

namespace assay::train {

/// A convolution of images with a square window, one stride and one padding. All convolutions of
/// train/models go through here: libtorch gives those on the CPU to oneDNN, some of whose kernels
/// are wrong, write beside their memory or never end. Those never run; docs/training.md, "Kernels
/// that are not used", has the shapes and how they were found. `bias` may be undefined.
[[nodiscard]] torch::Tensor convolution(const torch::Tensor& x, const torch::Tensor& weight,
                                        const torch::Tensor& bias, std::int64_t stride,
                                        std::int64_t padding);

}  // namespace assay::train
