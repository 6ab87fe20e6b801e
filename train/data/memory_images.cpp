#include "train/data/memory_images.h"

#include <algorithm>
#include <cstring>

#include "train/data/random.h"

namespace assay::train::data {

namespace {

class MemorySource final : public ImageSource {
 public:
  MemorySource(MemoryImages images, ShiftAndFlip augmentation)
      : images_(std::move(images)), augmentation_(augmentation) {}

  [[nodiscard]] std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(images_.labels.size());
  }
  [[nodiscard]] ImageBatch::Shape shape() const noexcept override { return images_.shape; }
  [[nodiscard]] std::unique_ptr<Reader<ImageBatch>> make_reader() const override;

  void copy(const SampleKey& key, ImageBatch& batch, std::int64_t row) const {
    const std::uint8_t* const from = images_.pixels.data() + key.index * images_.shape.pixels();
    std::uint8_t* const to = batch.image(row);
    batch.labels[row] = images_.labels[key.index];
    Random random(key.seed, 0x5F1Fu, key.epoch, key.index);
    const std::int64_t shift = augmentation_.shift;
    const std::int64_t down = shift > 0 ? random.below(2 * shift + 1) - shift : 0;
    const std::int64_t right = shift > 0 ? random.below(2 * shift + 1) - shift : 0;
    const bool flip = augmentation_.flip && random.bits() >> 63 != 0;
    if (down == 0 && right == 0 && !flip)
      std::memcpy(to, from, static_cast<std::size_t>(images_.shape.pixels()));
    else
      shifted(from, down, right, flip, to);
  }

 private:
  // to(y, x) = from(y - down, x - right), then mirrored.
  void shifted(const std::uint8_t* from, std::int64_t down, std::int64_t right, bool flip,
               std::uint8_t* to) const {
    const auto [height, width, channels] = images_.shape;
    const std::int64_t begin = std::max<std::int64_t>(right, 0);
    const std::int64_t end = width + std::min<std::int64_t>(right, 0);
    std::memset(to, 0, static_cast<std::size_t>(images_.shape.pixels()));
    if (begin >= end) return;  // a narrow image was moved out of sight
    for (std::int64_t y = std::max<std::int64_t>(down, 0);
         y < height + std::min<std::int64_t>(down, 0); ++y) {
      const std::uint8_t* const row = from + (y - down) * width * channels;
      std::uint8_t* const out = to + y * width * channels;
      if (!flip) {
        std::memcpy(out + begin * channels, row + (begin - right) * channels,
                    static_cast<std::size_t>((end - begin) * channels));
        continue;
      }
      for (std::int64_t x = begin; x < end; ++x)
        for (std::int64_t c = 0; c < channels; ++c)
          out[(width - 1 - x) * channels + c] = row[(x - right) * channels + c];
    }
  }

  MemoryImages images_;
  ShiftAndFlip augmentation_;
};

class MemoryReader final : public Reader<ImageBatch> {
 public:
  explicit MemoryReader(const MemorySource& source) : source_(source) {}
  void read(const SampleKey& key, ImageBatch& batch, std::int64_t row) override {
    source_.copy(key, batch, row);
  }

 private:
  const MemorySource& source_;
};

std::unique_ptr<Reader<ImageBatch>> MemorySource::make_reader() const {
  return std::make_unique<MemoryReader>(*this);
}

}  // namespace

std::shared_ptr<const ImageSource> memory_source(MemoryImages images, ShiftAndFlip augmentation) {
  return std::make_shared<const MemorySource>(std::move(images), augmentation);
}

}  // namespace assay::train::data
