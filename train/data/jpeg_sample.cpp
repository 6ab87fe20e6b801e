#include "train/data/jpeg_sample.h"

#include <algorithm>
#include <cmath>

namespace assay::train::data {

PixelRect random_resized_crop(Random& random, std::int64_t width, std::int64_t height) {
  const auto w = static_cast<double>(width);
  const auto h = static_cast<double>(height);
  const double log_low = std::log(3.0 / 4.0);
  const double log_high = std::log(4.0 / 3.0);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = w * h * random.uniform(0.08, 1.0);
    const double aspect = std::exp(random.uniform(log_low, log_high));
    const std::int64_t part_width = std::llround(std::sqrt(area * aspect));
    const std::int64_t part_height = std::llround(std::sqrt(area / aspect));
    if (part_width >= 1 && part_width <= width && part_height >= 1 && part_height <= height)
      return {random.below(width - part_width + 1), random.below(height - part_height + 1),
              part_width, part_height};
  }
  PixelRect part{0, 0, width, height};
  if (w / h < 3.0 / 4.0)
    part.height = std::clamp<std::int64_t>(std::llround(w / (3.0 / 4.0)), 1, height);
  else if (w / h > 4.0 / 3.0)
    part.width = std::clamp<std::int64_t>(std::llround(h * (4.0 / 3.0)), 1, width);
  part.left = (width - part.width) / 2;
  part.top = (height - part.height) / 2;
  return part;
}

Box centre_crop(std::int64_t width, std::int64_t height, std::int64_t size) {
  const std::int64_t shorter = std::llround(static_cast<double>(size) * 8 / 7);
  const bool wide = width > height;
  const std::int64_t longer = shorter * std::max(width, height) / std::min(width, height);
  const std::int64_t resized_width = wide ? longer : shorter;
  const std::int64_t resized_height = wide ? shorter : longer;
  // Half pixels are rounded to even, as in Python.
  const double left = std::nearbyint(static_cast<double>(resized_width - size) / 2);
  const double top = std::nearbyint(static_cast<double>(resized_height - size) / 2);
  const double x = static_cast<double>(width) / static_cast<double>(resized_width);
  const double y = static_cast<double>(height) / static_cast<double>(resized_height);
  const auto extent = static_cast<double>(size);
  return {left * x, top * y, (left + extent) * x, (top + extent) * y};
}

bool JpegSampler::make(std::span<const std::uint8_t> file, std::int64_t size, Random* random,
                       std::uint8_t* out) {
  if (!decoder_.open(file)) return false;
  const std::int64_t width = decoder_.width();
  const std::int64_t height = decoder_.height();
  const auto extent = static_cast<double>(size);
  Box box;
  PixelRect part;
  bool mirror = false;
  if (random != nullptr) {
    part = random_resized_crop(*random, width, height);
    box = {static_cast<double>(part.left), static_cast<double>(part.top),
           static_cast<double>(part.left + part.width),
           static_cast<double>(part.top + part.height)};
    mirror = random->bits() >> 63 != 0;
  } else {
    box = centre_crop(width, height, size);
    // The filter extends beyond the box.
    const double across = std::max((box.right - box.left) / extent, 1.0) + 1;
    const double down = std::max((box.bottom - box.top) / extent, 1.0) + 1;
    part.left = std::max<std::int64_t>(static_cast<std::int64_t>(box.left - across), 0);
    part.top = std::max<std::int64_t>(static_cast<std::int64_t>(box.top - down), 0);
    part.width =
        std::min(static_cast<std::int64_t>(std::ceil(box.right + across)), width) - part.left;
    part.height =
        std::min(static_cast<std::int64_t>(std::ceil(box.bottom + down)), height) - part.top;
  }
  const double least_scale =
      std::max(extent / (box.right - box.left), extent / (box.bottom - box.top));
  if (!decoder_.decode(part, least_scale)) return false;
  resampler_.run(decoder_.image(), decoder_.map(box), size, size, mirror, out);
  return true;
}

}  // namespace assay::train::data
