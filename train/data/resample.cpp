#include "train/data/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::train::data {

namespace {

constexpr int precision = 14;
constexpr std::int32_t half = 1 << (precision - 1);

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> precision, 0, 255));
}

void across_row(const std::uint8_t* source, const Resampler::Taps& taps, std::int64_t begin,
                std::int64_t end, std::uint8_t* out) {
  for (std::int64_t x = begin; x < end; ++x) {
    const std::uint8_t* pixel = source + std::int64_t{3} * taps.first[x];
    const std::int16_t* const coefficient = taps.coefficient.data() + x * taps.stride;
    std::int32_t sum[3] = {half, half, half};
    for (std::int32_t k = 0; k < taps.count[x]; ++k, pixel += 3)
      for (int c = 0; c < 3; ++c) sum[c] += coefficient[k] * pixel[c];
    for (int c = 0; c < 3; ++c) out[3 * x + c] = to_byte(sum[c]);
  }
}

void down_row(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* coefficient,
              std::int64_t count, std::int64_t begin, std::int64_t bytes, std::uint8_t* out) {
  for (std::int64_t i = begin; i < bytes; ++i) {
    std::int32_t sum = half;
    for (std::int64_t k = 0; k < count; ++k) sum += coefficient[k] * rows[k * stride + i];
    out[i] = to_byte(sum);
  }
}

#if defined(__x86_64__)

// Four source pixels at a time: pairs of pixels (0, 1) in the low half, (2, 3) in the high half, as
// 16-bit numbers r0 r1 g0 g1 b0 b1, so that one multiply-add computes both taps of all colors.
// Writes one byte too many per pixel and therefore leaves the last pixel to across_row.
__attribute__((target("avx2"))) void across_row_avx2(const std::uint8_t* source,
                                                     const Resampler::Taps& taps,
                                                     std::int64_t width, std::uint8_t* out) {
  const __m256i spread =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                       -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i pair_of_lane = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  for (std::int64_t x = 0; x + 1 < width; ++x) {
    const std::uint8_t* pixel = source + std::int64_t{3} * taps.first[x];
    const std::int16_t* coefficient = taps.coefficient.data() + x * taps.stride;
    __m256i sum = _mm256_setzero_si256();
    for (std::int32_t k = 0; k < taps.count[x]; k += 4, pixel += 12, coefficient += 4) {
      const __m256i bytes =
          _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel)));
      const __m256i pairs = _mm256_shuffle_epi8(bytes, spread);
      const __m256i four =
          _mm256_castsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(coefficient)));
      const __m256i weights = _mm256_permutevar8x32_epi32(four, pair_of_lane);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, weights));
    }
    __m128i colors = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    colors = _mm_srai_epi32(_mm_add_epi32(colors, _mm_set1_epi32(half)), precision);
    colors = _mm_packus_epi16(_mm_packs_epi32(colors, colors), colors);
    const int packed = _mm_cvtsi128_si32(colors);
    std::memcpy(out + 3 * x, &packed, 4);
  }
  across_row(source, taps, width - 1, width, out);
}

__attribute__((target("avx2"))) void down_row_avx2(const std::uint8_t* rows, std::int64_t stride,
                                                   const std::int16_t* coefficient,
                                                   std::int64_t count, std::int64_t bytes,
                                                   std::uint8_t* out) {
  std::int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    __m256i low = _mm256_set1_epi32(half);
    __m256i high = low;
    for (std::int64_t k = 0; k < count; k += 2) {
      // Coefficients are padded with zeros; rows are not.
      const std::uint8_t* const one = rows + k * stride + i;
      const std::uint8_t* const two = k + 1 < count ? one + stride : one;
      int pair = 0;
      std::memcpy(&pair, coefficient + k, 4);
      const __m256i weights = _mm256_set1_epi32(pair);
      const __m256i a =
          _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(one)));
      const __m256i b =
          _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(two)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights));
    }
    const __m256i words =
        _mm256_packs_epi32(_mm256_srai_epi32(low, precision), _mm256_srai_epi32(high, precision));
    const __m128i result =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), result);
  }
  down_row(rows, stride, coefficient, count, i, bytes, out);
}

const bool have_avx2 = __builtin_cpu_supports("avx2") != 0;

#endif

}  // namespace

void Resampler::make_taps(std::int64_t source, double low, double high, std::int64_t size,
                          std::vector<double>& weights, Taps& taps) {
  const double scale = (high - low) / static_cast<double>(size);
  const double reach = std::max(scale, 1.0);  // half the width of the triangle
  taps.stride = (static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1 + 3) / 4 * 4;
  taps.first.resize(static_cast<std::size_t>(size));
  taps.count.resize(static_cast<std::size_t>(size));
  taps.coefficient.assign(static_cast<std::size_t>(size * taps.stride), 0);
  weights.resize(static_cast<std::size_t>(taps.stride));
  for (std::int64_t i = 0; i < size; ++i) {
    const double center = low + (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t first =
        std::max<std::int64_t>(static_cast<std::int64_t>(center - reach + 0.5), 0);
    const std::int64_t last =
        std::min<std::int64_t>(static_cast<std::int64_t>(center + reach + 0.5), source);
    const std::int64_t count = last - first;
    double total = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const double distance = std::abs((static_cast<double>(first + k) - center + 0.5) / reach);
      total += weights[k] = std::max(1 - distance, 0.0);
    }
    for (std::int64_t k = 0; k < count; ++k)
      taps.coefficient[i * taps.stride + k] =
          static_cast<std::int16_t>(std::lround(weights[k] / total * (1 << precision)));
    taps.first[i] = static_cast<std::int32_t>(first);
    taps.count[i] = static_cast<std::int32_t>(count);
  }
}

void Resampler::horizontal(const RgbView& source, std::int64_t first_row, std::int64_t rows,
                           std::int64_t width) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const std::uint8_t* const in = source.pixels + (first_row + y) * source.stride;
    std::uint8_t* const out = narrow_.data() + y * width * 3;
#if defined(__x86_64__)
    if (have_avx2) {
      across_row_avx2(in, across_, width, out);
      continue;
    }
#endif
    across_row(in, across_, 0, width, out);
  }
}

void Resampler::vertical(std::int64_t first_row, std::int64_t width, std::int64_t height,
                         std::uint8_t* out) {
  const std::int64_t bytes = width * 3;
  for (std::int64_t y = 0; y < height; ++y) {
    const std::uint8_t* const rows = narrow_.data() + (down_.first[y] - first_row) * bytes;
    const std::int16_t* const coefficient = down_.coefficient.data() + y * down_.stride;
#if defined(__x86_64__)
    if (have_avx2) {
      down_row_avx2(rows, bytes, coefficient, down_.count[y], bytes, out + y * bytes);
      continue;
    }
#endif
    down_row(rows, bytes, coefficient, down_.count[y], 0, bytes, out + y * bytes);
  }
}

void Resampler::run(const RgbView& source, const Box& box, std::int64_t width, std::int64_t height,
                    bool mirror, std::uint8_t* out) {
  make_taps(source.width, box.left, box.right, width, weights_, across_);
  make_taps(source.height, box.top, box.bottom, height, weights_, down_);
  if (mirror) {
    std::reverse(across_.first.begin(), across_.first.end());
    std::reverse(across_.count.begin(), across_.count.end());
    for (std::int64_t i = 0, j = width - 1; i < j; ++i, --j)
      std::swap_ranges(across_.coefficient.begin() + i * across_.stride,
                       across_.coefficient.begin() + (i + 1) * across_.stride,
                       across_.coefficient.begin() + j * across_.stride);
  }
  const std::int64_t first_row = down_.first.front();
  const std::int64_t rows = down_.first.back() + down_.count.back() - first_row;
  narrow_.resize(static_cast<std::size_t>(rows * width * 3) + rgb_padding);
  horizontal(source, first_row, rows, width);
  vertical(first_row, width, height, out);
}

}  // namespace assay::train::data
