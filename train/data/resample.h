#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::train::data {

/// RGB pixels that are not owned, in rows `stride` bytes apart.
struct RgbView {
  const std::uint8_t* pixels = nullptr;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t stride = 0;
};

/// A part of an image, in pixels from its left upper corner.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// Bilinear resampling with antialiasing: a triangle filter as wide as the reduction, first
/// horizontally, then vertically, rounded to bytes after each, like Pillow's resize(box=…) and
/// within 1 of it. One thread uses one resampler; it keeps its scratch memory.
class Resampler {
 public:
  /// `box` lies within the source and is not empty. `mirror` turns the result left to right.
  /// `out` is [height, width, 3], dense.
  void run(const RgbView& source, const Box& box, std::int64_t width, std::int64_t height,
           bool mirror, std::uint8_t* out);

  /// The filter of one direction; for tests and for the two passes.
  struct Taps {
    std::int64_t stride = 0;                // coefficients per output pixel, a multiple of 4
    std::vector<std::int32_t> first;        // first source pixel of every output pixel
    std::vector<std::int32_t> count;        // coefficients that are not padding
    std::vector<std::int16_t> coefficient;  // in 1/16384; zeros pad
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
  std::vector<std::uint8_t> narrow_;  // rows of the source, already `width` pixels wide
};

/// Bytes that may be read after the last pixel of a source.
constexpr std::size_t rgb_padding = 32;

}  // namespace assay::train::data
