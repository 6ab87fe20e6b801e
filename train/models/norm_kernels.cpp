#include "train/models/norm_kernels.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <ATen/Parallel.h>

#include "core/clones.h"

namespace assay::train {
namespace {

constexpr std::int64_t kBlockElements = 1 << 14;

// Adds distances from an origin near the mean: squares of the values themselves would lose a
// variance that is small relative to the mean.
ASSAY_CLONES void add_squares(std::int64_t rows, std::int64_t channels, const float* __restrict x,
                              const float* __restrict origin, float* __restrict sum,
                              float* __restrict square) {
  std::int64_t r = 0;
  // Four rows at a time, because reading and writing the sums costs more than the rows.
  for (; r + 4 <= rows; r += 4, x += 4 * channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float a = x[c] - origin[c];
      const float b = x[c + channels] - origin[c];
      const float d = x[c + 2 * channels] - origin[c];
      const float e = x[c + 3 * channels] - origin[c];
      sum[c] += (a + b) + (d + e);
      square[c] += (a * a + b * b) + (d * d + e * e);
    }
  for (; r < rows; ++r, x += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float distance = x[c] - origin[c];
      sum[c] += distance;
      square[c] += distance * distance;
    }
}

ASSAY_CLONES void transform(std::int64_t rows, std::int64_t channels, const float* __restrict x,
                            const float* __restrict scale, const float* __restrict shift,
                            float floor, float* __restrict y) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = x[c] * scale[c] + shift[c];
      y[c] = value < floor ? floor : value;  // keeps NaN
    }
}

ASSAY_CLONES void transform_add(std::int64_t rows, std::int64_t channels, const float* __restrict x,
                                const float* __restrict addend, const float* __restrict scale,
                                const float* __restrict shift, float floor, float* __restrict y) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels, addend += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = x[c] * scale[c] + shift[c] + addend[c];
      y[c] = value < floor ? floor : value;  // keeps NaN
    }
}

// Where relu passed the value.
enum class Mask { everywhere, where_y, where_x };

// g or 0, selected by bits: for `pass ? g : 0` GCC makes loads that depend on the mask, at half the
// speed.
[[gnu::always_inline]] inline float where(bool pass, float g) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(g) & (pass ? ~0U : 0U));
}

// Sums of g and g · (x - mean). The pointers are parameters, because only there does GCC respect
// __restrict after inlining.
template <Mask kMask, bool kOther, bool kKeep>
[[gnu::always_inline]] inline void add_products(
    std::int64_t rows, std::int64_t channels, const float* __restrict x, const float* __restrict dy,
    const float* __restrict other, const float* __restrict y, const float* __restrict scale,
    const float* __restrict shift, const float* __restrict mean, float* __restrict masked,
    float* __restrict sum, float* __restrict product) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = x[c];
      float g = dy[c];
      if constexpr (kOther) g += other[c];
      if constexpr (kMask == Mask::where_y) {
        const float result = y[c];
        g = where(result > 0.0F, g);
      } else if constexpr (kMask == Mask::where_x) {
        const float result = value * scale[c] + shift[c];
        g = where(result > 0.0F, g);
      }
      if constexpr (kKeep) masked[c] = g;
      sum[c] += g;
      product[c] += g * (value - mean[c]);
    }
    x += channels;
    dy += channels;
    if constexpr (kOther) other += channels;
    if constexpr (kMask == Mask::where_y) y += channels;
    if constexpr (kKeep) masked += channels;
  }
}

// The function for one combination, compiled for every vector width.
#define ASSAY_PRODUCTS(name, mask, two, keep)                                                     \
  ASSAY_CLONES void name(                                                                         \
      std::int64_t rows, std::int64_t channels, const float* __restrict x,                        \
      const float* __restrict dy, const float* __restrict other, const float* __restrict y,       \
      const float* __restrict scale, const float* __restrict shift, const float* __restrict mean, \
      float* __restrict masked, float* __restrict sum, float* __restrict product) {               \
    add_products<mask, two, keep>(rows, channels, x, dy, other, y, scale, shift, mean, masked,    \
                                  sum, product);                                                  \
  }
ASSAY_PRODUCTS(products_plain, Mask::everywhere, false, false)
ASSAY_PRODUCTS(products_x, Mask::where_x, false, false)
ASSAY_PRODUCTS(products_plain_two, Mask::everywhere, true, true)
ASSAY_PRODUCTS(products_x_two, Mask::where_x, true, true)
ASSAY_PRODUCTS(products_y, Mask::where_y, false, true)
ASSAY_PRODUCTS(products_y_two, Mask::where_y, true, true)
#undef ASSAY_PRODUCTS

ASSAY_CLONES void input_masked(std::int64_t rows, std::int64_t channels, const float* __restrict x,
                               const float* __restrict dy, const float* __restrict scale,
                               const float* __restrict shift, const float* __restrict a,
                               const float* __restrict b, const float* __restrict c0,
                               float* __restrict dx) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, dy += channels, dx += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = x[c];
      const float up = dy[c];
      const float g = where(value * scale[c] + shift[c] > 0.0F, up);
      dx[c] = a[c] * g + (b[c] * value + c0[c]);
    }
}

ASSAY_CLONES void input_plain(std::int64_t rows, std::int64_t channels, const float* __restrict x,
                              const float* __restrict g, const float* __restrict a,
                              const float* __restrict b, const float* __restrict c0,
                              float* __restrict dx) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, g += channels, dx += channels)
    for (std::int64_t c = 0; c < channels; ++c) dx[c] = a[c] * g[c] + (b[c] * x[c] + c0[c]);
}

struct Blocks {
  std::int64_t rows;  // of one block
  std::int64_t count;

  explicit Blocks(const NormShape& shape)
      : rows(std::max<std::int64_t>(1, kBlockElements / shape.channels)),
        count((shape.rows + rows - 1) / rows) {}

  template <typename F>
  void each(const NormShape& shape, const F& f) const {
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        f(i, i * rows, std::min(rows, shape.rows - i * rows));
    });
  }
};

// Runs `add(row, rows, first, second)` over all blocks and adds up their two sums per channel.
template <typename F>
void add_blocks(const NormShape& shape, double* first, double* second, const F& add) {
  const Blocks blocks(shape);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<float> sums(static_cast<std::size_t>(blocks.count) * 2 * channels);
  blocks.each(shape, [&](std::int64_t block, std::int64_t row, std::int64_t rows) {
    float* const own = sums.data() + static_cast<std::size_t>(block) * 2 * channels;
    add(row, rows, own, own + channels);
  });
  std::fill(first, first + channels, 0.0);
  std::fill(second, second + channels, 0.0);
  for (std::int64_t block = 0; block < blocks.count; ++block) {
    const float* const own = sums.data() + static_cast<std::size_t>(block) * 2 * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      first[c] += static_cast<double>(own[c]);
      second[c] += static_cast<double>(own[channels + c]);
    }
  }
}

}  // namespace

void norm_statistics(const NormShape& shape, const float* x, double* mean, double* variance) {
  const std::vector<float> origin(x, x + shape.channels);  // the first row
  add_blocks(
      shape, mean, variance, [&](std::int64_t row, std::int64_t rows, float* sum, float* square) {
        add_squares(rows, shape.channels, x + row * shape.channels, origin.data(), sum, square);
      });
  const auto count = static_cast<double>(shape.rows);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const double offset = mean[c] / count;
    variance[c] = std::max(0.0, variance[c] / count - offset * offset);
    mean[c] = static_cast<double>(origin[static_cast<std::size_t>(c)]) + offset;
  }
}

void norm_forward(const NormShape& shape, const float* x, const float* addend, const float* scale,
                  const float* shift, bool relu, float* y) {
  const float floor = relu ? 0.0F : -__builtin_inff();
  Blocks(shape).each(shape, [&](std::int64_t, std::int64_t row, std::int64_t rows) {
    const std::int64_t at = row * shape.channels;
    if (addend == nullptr)
      transform(rows, shape.channels, x + at, scale, shift, floor, y + at);
    else
      transform_add(rows, shape.channels, x + at, addend + at, scale, shift, floor, y + at);
  });
}

void norm_backward_sums(const NormShape& shape, const float* x, const NormGradient& gradient,
                        const float* mean, const float* inverse, float* masked, double* sum,
                        double* product) {
  const bool two = gradient.other != nullptr;
  auto* kernel = two ? products_plain_two : products_plain;
  if (gradient.y != nullptr)
    kernel = two ? products_y_two : products_y;
  else if (gradient.scale != nullptr)
    kernel = two ? products_x_two : products_x;
  add_blocks(
      shape, sum, product, [&](std::int64_t row, std::int64_t rows, float* first, float* second) {
        const std::int64_t at = row * shape.channels;
        const auto here = [at](auto* p) { return p == nullptr ? nullptr : p + at; };
        kernel(rows, shape.channels, x + at, gradient.dy + at, here(gradient.other),
               here(gradient.y), gradient.scale, gradient.shift, mean, here(masked), first, second);
      });
  for (std::int64_t c = 0; c < shape.channels; ++c) product[c] *= static_cast<double>(inverse[c]);
}

void norm_backward_input(const NormShape& shape, const float* x, const NormGradient& gradient,
                         const float* a, const float* b, const float* c, float* dx) {
  Blocks(shape).each(shape, [&](std::int64_t, std::int64_t row, std::int64_t rows) {
    const std::int64_t at = row * shape.channels;
    if (gradient.scale == nullptr)
      input_plain(rows, shape.channels, x + at, gradient.dy + at, a, b, c, dx + at);
    else
      input_masked(rows, shape.channels, x + at, gradient.dy + at, gradient.scale, gradient.shift,
                   a, b, c, dx + at);
  });
}

}  // namespace assay::train
