#include "kernels/plain_math.h"

namespace assay::testing {

void convolve(const ConvolutionShape& s, ConvolutionNumbers& all) {
  const std::int64_t height = s.out_height();
  const std::int64_t width = s.out_width();
  const std::int64_t group_in = s.in / s.groups;
  const std::int64_t group_out = s.out / s.groups;
  all.y.assign(static_cast<std::size_t>(s.batch * s.out * height * width), 0);
  all.dx.assign(all.x.size(), 0);
  all.dw.assign(all.w.size(), 0);
  all.db.assign(static_cast<std::size_t>(s.out), 0);
  const double* const x = all.x.data();
  const double* const w = all.w.data();
  double* const dx = all.dx.data();
  double* const dw = all.dw.data();
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t o = 0; o < s.out; ++o) {
      const std::int64_t first = o / group_out * group_in;  // channel of x
      for (std::int64_t i = 0; i < height; ++i)
        for (std::int64_t j = 0; j < width; ++j) {
          const auto at = static_cast<std::size_t>(((n * s.out + o) * height + i) * width + j);
          const double dy = all.dy[at];
          double y = all.bias[static_cast<std::size_t>(o)];
          for (std::int64_t c = 0; c < group_in; ++c)
            for (std::int64_t ki = 0; ki < s.kernel; ++ki) {
              const std::int64_t row = i * s.stride - s.padding + ki * s.dilation;
              if (row < 0 || row >= s.height) continue;
              for (std::int64_t kj = 0; kj < s.kernel; ++kj) {
                const std::int64_t column = j * s.stride - s.padding + kj * s.dilation;
                if (column < 0 || column >= s.width) continue;
                const std::int64_t from =
                    ((n * s.in + first + c) * s.height + row) * s.width + column;
                const std::int64_t by = ((o * group_in + c) * s.kernel + ki) * s.kernel + kj;
                y += x[from] * w[by];
                dx[from] += dy * w[by];
                dw[by] += dy * x[from];
              }
            }
          all.y[at] = y;
          all.db[static_cast<std::size_t>(o)] += dy;
        }
    }
}

Numbers product(std::int64_t m, std::int64_t n, std::int64_t k, const Numbers& a,
                const Numbers& b) {
  Numbers c(static_cast<std::size_t>(m * n), 0);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
  return c;
}

}  // namespace assay::testing
