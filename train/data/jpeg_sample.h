#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "train/data/jpeg.h"
#include "train/data/random.h"
#include "train/data/resample.h"

namespace assay::train::data {

/// A random part of an image: 8 % to 100 % of its area, its aspect ratio between 3/4 and 4/3; the
/// middle of it when ten draws do not fit. The usual augmentation of ImageNet training.
[[nodiscard]] PixelRect random_resized_crop(Random& random, std::int64_t width,
                                            std::int64_t height);

/// The part that resizing the short side to round(size · 8/7) (256 for 224) and cutting size×size
/// out of the middle leaves.
[[nodiscard]] Box centre_crop(std::int64_t width, std::int64_t height, std::int64_t size);

/// Turns the bytes of a JPEG into a sample. Not thread-safe: use one per thread.
class JpegSampler {
 public:
  /// With `random` (training): a random resized crop, mirrored every other time; without: the
  /// center crop. Writes `size`×`size` RGB. False when the JPEG is damaged; error() says how.
  [[nodiscard]] bool make(std::span<const std::uint8_t> file, std::int64_t size, Random* random,
                          std::uint8_t* out);
  [[nodiscard]] const std::string& error() const noexcept { return decoder_.error(); }

 private:
  JpegDecoder decoder_;
  Resampler resampler_;
};

}  // namespace assay::train::data
