#include "train/data/jpeg_source.h"

#include <fmt/format.h>

#include "core/error.h"

namespace assay::train::data {

namespace {

class JpegReader final : public Reader<ImageBatch> {
 public:
  explicit JpegReader(const JpegSource& source) : source_(source) {}
  void read(const SampleKey& key, ImageBatch& batch, std::int64_t row) override {
    source_.make(key, scratch_, batch, row);
  }

 private:
  const JpegSource& source_;
  JpegSource::Scratch scratch_;
};

}  // namespace

JpegSource::JpegSource(std::int64_t samples, std::int64_t image_size, bool augment,
                       double max_damaged)
    : samples_(samples),
      image_size_(image_size),
      augment_(augment),
      damage_(samples, max_damaged) {}

std::unique_ptr<Reader<ImageBatch>> JpegSource::make_reader() const {
  return std::make_unique<JpegReader>(*this);
}

void JpegSource::make(const SampleKey& key, Scratch& scratch, ImageBatch& batch,
                      std::int64_t row) const {
  std::int64_t index = key.index;
  for (std::int64_t attempt = 0; attempt < samples_; ++attempt) {
    const Encoded encoded = load(index, scratch);
    if (encoded.damage.empty()) {
      Random random(key.seed, 0xC80Fu, key.epoch, key.index);
      if (scratch.sampler.make(encoded.jpeg, image_size_, augment_ ? &random : nullptr,
                               batch.image(row))) {
        batch.labels[row] = encoded.label;
        return;
      }
    }
    damage_.report(index, name(index),
                   encoded.damage.empty() ? scratch.sampler.error() : encoded.damage);
    index = (index + 1) % samples_;
  }
  throw Error(ErrorKind::environment, "not one sample of the data set is a readable JPEG",
              name(key.index), "see whether these are JPEG files at all");
}

void check_jpeg_options(std::int64_t image_size, double max_damaged) {
  if (image_size < 8 || image_size > 4096)
    throw Error(ErrorKind::config, fmt::format("an image size of {}", image_size), "data set",
                "use 8 to 4096");
  if (!(max_damaged >= 0 && max_damaged <= 1))
    throw Error(ErrorKind::config, fmt::format("a share of damaged samples of {}", max_damaged),
                "data set", "use 0 to 1");
}

}  // namespace assay::train::data
