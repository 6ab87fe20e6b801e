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

/// Decodes JPEGs (baseline, progressive; gray, YCbCr, RGB, CMYK, YCCK) to RGB. One thread uses one
/// decoder; it keeps its memory. Damaged data never throws and never crashes: the functions give
/// false and error() says why. What libjpeg can only guess (missing or impossible data) counts as
/// damaged.
class JpegDecoder {
 public:
  JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder();

  /// Reads the header; `file` must live until decode() is done. More than 178,956,970 pixels are
  /// refused.
  [[nodiscard]] bool open(std::span<const std::uint8_t> file);
  [[nodiscard]] std::int64_t width() const noexcept;
  [[nodiscard]] std::int64_t height() const noexcept;

  /// After open(), once: decodes at least `part`, a rectangle within the image, at the smallest of
  /// libjpeg's fast scales (1/8, 1/4, 1/2, 1) that is not below `least_scale`, or at full size.
  [[nodiscard]] bool decode(const PixelRect& part, double least_scale);
  /// What was decoded, valid until the next open(). rgb_padding bytes after it may be read.
  [[nodiscard]] RgbView image() const noexcept;
  /// Where a box of the full image lies in image(), clipped to it.
  [[nodiscard]] Box map(const Box& full) const noexcept;
  [[nodiscard]] const std::string& error() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::train::data
