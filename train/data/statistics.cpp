#include "train/data/statistics.h"

#include <algorithm>
#include <cmath>

namespace assay::train::data {

void measure_channels(const ImageSource& source, std::int64_t images, std::array<float, 3>& mean,
                      std::array<float, 3>& std) {
  const ImageBatch::Shape shape = source.shape();
  ImageBatch batch(shape, 1, heap_allocator());
  const std::unique_ptr<Reader<ImageBatch>> reader = source.make_reader();
  // Integers keep the sums exact.
  std::array<std::int64_t, 3> sum{};
  std::array<std::int64_t, 3> squares{};
  images = std::min(images, source.size());
  for (std::int64_t i = 0; i < images; ++i) {
    reader->read({i, 0, 0}, batch, 0);
    const std::uint8_t* pixel = batch.pixels;
    for (std::int64_t p = 0; p < shape.height * shape.width; ++p)
      for (std::int64_t c = 0; c < shape.channels; ++c, ++pixel) {
        sum[c] += *pixel;
        squares[c] += std::int64_t{*pixel} * *pixel;
      }
  }
  const auto count = static_cast<double>(images * shape.height * shape.width);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const double average = static_cast<double>(sum[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - average * average;
    mean[c] = static_cast<float>(average / 255);
    std[c] = static_cast<float>(std::sqrt(std::max(variance, 1.0)) / 255);
  }
}

}  // namespace assay::train::data
