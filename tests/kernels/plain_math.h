#pragma once

// What kernels must compute, as plain loops in double precision.
#include <cstdint>
#include <vector>

namespace assay::testing {

using Numbers = std::vector<double>;

struct ConvolutionShape {
  std::int64_t batch = 2;
  std::int64_t in = 1;   ///< channels
  std::int64_t out = 1;  ///< channels
  std::int64_t height = 5;
  std::int64_t width = 5;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;

  [[nodiscard]] std::int64_t out_height() const { return extent(height); }
  [[nodiscard]] std::int64_t out_width() const { return extent(width); }
  [[nodiscard]] std::int64_t extent(std::int64_t size) const {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// All in the order of NCHW: x, dx are batch × in × height × width; w, dw out × in/groups × kernel
/// × kernel; y, dy batch × out × out_height × out_width; bias, db out.
struct ConvolutionNumbers {
  Numbers x, w, bias, dy;  ///< given
  Numbers y, dx, dw, db;   ///< computed
};
void convolve(const ConvolutionShape& shape, ConvolutionNumbers& numbers);

/// c = a · b, of m × k and k × n, row by row.
[[nodiscard]] Numbers product(std::int64_t m, std::int64_t n, std::int64_t k, const Numbers& a,
                              const Numbers& b);

}  // namespace assay::testing
