#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/data/source.h"

namespace assay::train::data {

/// Images that fit into memory as a whole.
struct MemoryImages {
  ImageBatch::Shape shape;
  std::vector<std::uint8_t> pixels;  ///< [n, height, width, channels]
  std::vector<std::uint8_t> labels;  ///< [n]
};

/// How training changes an image: moves it by up to `shift` pixels in each direction, filling with
/// black, and mirrors it half of the time.
struct ShiftAndFlip {
  std::int64_t shift = 0;
  bool flip = false;
};

[[nodiscard]] std::shared_ptr<const ImageSource> memory_source(MemoryImages images,
                                                               ShiftAndFlip augmentation);

}  // namespace assay::train::data
