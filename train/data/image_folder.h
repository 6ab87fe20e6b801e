#pragma once

#include "train/data/image_set.h"

namespace assay::train::data {

/// JPEG files in train/CLASS/ and val/CLASS/ below options.path, at any depth; the classes are the
/// folders' names in byte order and the same in both.
[[nodiscard]] ImageSet open_image_folder(const ImageSetOptions& options);

/// Sets ImageNet's normalization.
void set_imagenet_statistics(ImageSetInfo& info);

}  // namespace assay::train::data
