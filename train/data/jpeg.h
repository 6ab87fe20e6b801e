#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "train/data/resample.h"

namespace assay::train::data {

/// A part of an image in whole pixels.
struct PixelRect {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Decodes JPEGs (baseline, progressive; gray, YCbCr, RGB, CMYK, YCCK) to RGB. A decoder is used by
/// one thread and keeps its memory. Damaged data never throws or crashes: the functions return
/// false and error() says why. Anything that libjpeg can only guess (missing or impossible data)
/// counts as damaged.
class JpegDecoder {
 public:
  JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder();

  /// Reads the header; `file` must live until decode() is done. Refuses more than 178,956,970
  /// pixels.
  [[nodiscard]] bool open(std::span<const std::uint8_t> file);
  [[nodiscard]] std::int64_t width() const noexcept;
  [[nodiscard]] std::int64_t height() const noexcept;

  /// Called once after open(): decodes at least `part`, a rectangle in the image, at the smallest
  /// fast scale of libjpeg (1/8, 1/4, 1/2, 1) not below `least_scale`, or at full size.
  [[nodiscard]] bool decode(const PixelRect& part, double least_scale);
  /// The decoded part, valid until the next open(). rgb_padding bytes after it may be read.
  [[nodiscard]] RgbView image() const noexcept;
  /// The position in image() of a box of the full image, clipped to it.
  [[nodiscard]] Box map(const Box& full) const noexcept;
  [[nodiscard]] const std::string& error() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::train::data
