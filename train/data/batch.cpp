#include "train/data/batch.h"

#include "train/data/token_source.h"

namespace assay::train::data {

namespace {

constexpr std::size_t aligned(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
}

}  // namespace

ImageBatch::ImageBatch(const Shape& sample_shape, std::int64_t rows,
                       const std::shared_ptr<HostAllocator>& allocator)
    : shape(sample_shape),
      capacity(rows),
      storage(allocator, aligned(rows * shape.pixels()) + aligned(rows * 8)) {
  std::byte* const start = storage.data();
  pixels = reinterpret_cast<std::uint8_t*>(start);
  labels = reinterpret_cast<std::int64_t*>(start + aligned(rows * shape.pixels()));
}

TextBatch::TextBatch(const Shape& sample_shape, std::int64_t rows,
                     const std::shared_ptr<HostAllocator>& allocator)
    : shape(sample_shape),
      capacity(rows),
      storage(allocator, 2 * aligned(rows * shape.sequence * 4) +
                             2 * aligned(rows * shape.masked * 4) + 3 * aligned(rows * 4)) {
  std::byte* next = storage.data();
  const auto take = [&](std::int64_t count) {
    auto* const array = reinterpret_cast<std::int32_t*>(next);
    next += aligned(count * 4);
    return array;
  };
  tokens = take(rows * shape.sequence);
  segments = take(rows * shape.sequence);
  lengths = take(rows);
  masked_positions = take(rows * shape.masked);
  masked_labels = take(rows * shape.masked);
  masked_counts = take(rows);
  nsp_labels = take(rows);
}

TokenBatch::TokenBatch(const Shape& sample_shape, std::int64_t rows,
                       const std::shared_ptr<HostAllocator>& allocator)
    : shape(sample_shape), capacity(rows), storage(allocator, 2 * aligned(rows * shape.row() * 4)) {
  std::byte* const start = storage.data();
  tokens = reinterpret_cast<std::int32_t*>(start);
  documents = reinterpret_cast<std::int32_t*>(start + aligned(rows * shape.row() * 4));
}

}  // namespace assay::train::data
