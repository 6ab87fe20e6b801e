#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "train/data/jpeg.h"
#include "train/data/random.h"
#include "train/data/resample.h"

namespace assay::train::data {

/// A random part of an image: 8 % to 100 % of its area, with an aspect ratio between 3/4 and 4/3;
/// its middle if ten draws do not fit. The usual augmentation of ImageNet training.
[[nodiscard]] PixelRect random_resized_crop(Random& random, std::int64_t width,
                                            std::int64_t height);

/// The part that remains after resizing the short side to round(size · 8/7) (256 for 224) and
/// cutting size×size out of the middle.
[[nodiscard]] Box centre_crop(std::int64_t width, std::int64_t height, std::int64_t size);

/// Makes a sample from the bytes of a JPEG. Not thread-safe: use one per thread.
class JpegSampler {
 public:
  /// With `random` (training): a random resized crop, mirrored half of the time; otherwise the
  /// center crop. Writes `size`×`size` RGB. Returns false if the JPEG is damaged; error() says how.
  [[nodiscard]] bool make(std::span<const std::uint8_t> file, std::int64_t size, Random* random,
                          std::uint8_t* out);
  [[nodiscard]] const std::string& error() const noexcept { return decoder_.error(); }

 private:
  JpegDecoder decoder_;
  Resampler resampler_;
};

}  // namespace assay::train::data
