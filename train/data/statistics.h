#pragma once

#include <array>
#include <cstdint>

#include "train/data/source.h"

namespace assay::train::data {

/// Mean and standard deviation of every channel over the first `images` samples, scaled to 0…1.
void measure_channels(const ImageSource& source, std::int64_t images, std::array<float, 3>& mean,
                      std::array<float, 3>& std);

}  // namespace assay::train::data
