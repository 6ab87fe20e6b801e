#pragma once

#include <cstdint>
#include <memory>

#include "train/data/allocator.h"

namespace assay::train::data {

/// Several images and their labels in one buffer, which holds `capacity` rows; the first `size` are
/// valid.
struct ImageBatch {
  struct Shape {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t channels = 0;
    [[nodiscard]] std::int64_t pixels() const noexcept { return height * width * channels; }
    bool operator==(const Shape&) const = default;
  };

  ImageBatch() = default;
  ImageBatch(const Shape& sample_shape, std::int64_t rows,
             const std::shared_ptr<HostAllocator>& allocator);

  Shape shape;
  std::int64_t capacity = 0;
  std::int64_t size = 0;
  std::uint8_t* pixels = nullptr;  ///< [capacity, height, width, channels], 0…255, not normalized
  std::int64_t* labels = nullptr;  ///< [capacity], 0…classes-1
  HostBuffer storage;              ///< owns all of the above

  [[nodiscard]] std::uint8_t* image(std::int64_t row) const noexcept {
    return pixels + row * shape.pixels();
  }
  /// Bytes of the valid rows, which must go to the device.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return size * (shape.pixels() + static_cast<std::int64_t>(sizeof(std::int64_t)));
  }
};

/// Several pre-training examples, [CLS] A [SEP] B [SEP] and padding, in one buffer. All arrays are
/// int32 and follow each other in `storage` in declaration order, each aligned to 64 bytes, so that
/// a single copy can take them to the device.
struct TextBatch {
  struct Shape {
    std::int64_t sequence = 0;  ///< S: tokens per row
    std::int64_t masked = 0;    ///< P: the most masked positions per row
    bool operator==(const Shape&) const = default;
  };
  /// Label of an unused masked slot: the ignore_index of cross-entropy losses.
  static constexpr std::int32_t ignored = -100;

  TextBatch() = default;
  TextBatch(const Shape& sample_shape, std::int64_t rows,
            const std::shared_ptr<HostAllocator>& allocator);

  Shape shape;
  std::int64_t capacity = 0;
  std::int64_t size = 0;
  std::int32_t* tokens = nullptr;            ///< [capacity, S]; the pad id after the length
  std::int32_t* segments = nullptr;          ///< [capacity, S]; 0 to A's [SEP], 1 to B's, then 0
  std::int32_t* lengths = nullptr;           ///< [capacity]; tokens without padding
  std::int32_t* masked_positions = nullptr;  ///< [capacity, P]; ascending; 0 in unused slots
  std::int32_t* masked_labels = nullptr;     ///< [capacity, P]; original token; `ignored` if unused
  std::int32_t* masked_counts = nullptr;     ///< [capacity]; used slots, at least 1
  std::int32_t* nsp_labels = nullptr;        ///< [capacity]; 0: B follows A, 1: B is random
  HostBuffer storage;                        ///< owns all of the above

  /// Bytes of the valid rows, which must go to the device.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return size * 4 * (2 * shape.sequence + 2 * shape.masked + 3);
  }
};

}  // namespace assay::train::data
