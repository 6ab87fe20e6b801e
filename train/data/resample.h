#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::train::data {

/// Unowned RGB pixels, in rows `stride` bytes apart.
struct RgbView {
  const std::uint8_t* pixels = nullptr;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t stride = 0;
};

/// A part of an image, in pixels from its upper left corner.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// Bilinear resampling with antialiasing: a triangle filter as wide as the reduction, first
/// horizontally, then vertically, rounded to bytes after each, like Pillow's resize(box=…) and
/// within 1 of it. A resampler is used by one thread and keeps its scratch memory.
class Resampler {
 public:
  /// `box` must lie within the source and not be empty. `mirror` swaps left and right. `out` is
  /// [height, width, 3], dense.
  void run(const RgbView& source, const Box& box, std::int64_t width, std::int64_t height,
           bool mirror, std::uint8_t* out);

  /// The filter of one direction; for tests and for the two passes.
  struct Taps {
    std::int64_t stride = 0;                // coefficients per output pixel, a multiple of 4
    std::vector<std::int32_t> first;        // each output pixel's first source pixel
    std::vector<std::int32_t> count;        // coefficients without padding
    std::vector<std::int16_t> coefficient;  // in 1/16384; padded with zeros
  };

 private:
  static void make_taps(std::int64_t source, double low, double high, std::int64_t size,
                        std::vector<double>& weights, Taps& taps);
  void horizontal(const RgbView& source, std::int64_t first_row, std::int64_t rows,
                  std::int64_t width);
  void vertical(std::int64_t first_row, std::int64_t width, std::int64_t height, std::uint8_t* out);

  Taps across_;
  Taps down_;
  std::vector<double> weights_;
  std::vector<std::uint8_t> narrow_;  // source rows already reduced to `width` pixels
};

/// Bytes after a source's last pixel that may be read.
constexpr std::size_t rgb_padding = 32;

}  // namespace assay::train::data
