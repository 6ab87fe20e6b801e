#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/data/source.h"

namespace assay::train::data {

/// Images that all fit into memory.
struct MemoryImages {
  ImageBatch::Shape shape;
  std::vector<std::uint8_t> pixels;  ///< [n, height, width, channels]
  std::vector<std::uint8_t> labels;  ///< [n]
};

/// How training changes an image: it is moved by up to `shift` pixels in each direction, black
/// where nothing is left, and mirrored every other time.
struct ShiftAndFlip {
  std::int64_t shift = 0;
  bool flip = false;
};

[[nodiscard]] std::shared_ptr<const ImageSource> memory_source(MemoryImages images,
                                                               ShiftAndFlip augmentation);

}  // namespace assay::train::data
