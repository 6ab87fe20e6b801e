#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

/// The channels of space_to_depth(): 12, and four that are 0.
inline constexpr std::int64_t kStemChannels = 16;
/// Rows and columns of zeros before and after its result.
inline constexpr std::int64_t kStemBefore = 2;
inline constexpr std::int64_t kStemAfter = 1;

/// Blocks of 2×2 pixels of RGB images become one position of 12 channels (row, column, color) and
/// four zeros. x is [images, height, width, 3] floats of even height and width, y is [images,
/// height / 2 + 3, width / 2 + 3, 16] with the zeros around it.
void space_to_depth(Stream stream, Type type, std::int64_t images, std::int64_t height,
                    std::int64_t width, const float* x, void* y);

}  // namespace assay::train::cuda
