#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/data/damage.h"
#include "train/data/jpeg_sample.h"
#include "train/data/source.h"

namespace assay::train::data {

/// The common part of splits whose samples are JPEGs. A damaged sample is replaced by the next good
/// one (after the last, by the first), so that every row is a real sample and the replacement is
/// always the same.
class JpegSource : public ImageSource {
 public:
  /// `augment` means random crops and flips; otherwise center crops.
  JpegSource(std::int64_t samples, std::int64_t image_size, bool augment, double max_damaged);

  [[nodiscard]] std::int64_t size() const noexcept final { return samples_; }
  [[nodiscard]] ImageBatch::Shape shape() const noexcept final {
    return {image_size_, image_size_, 3};
  }
  [[nodiscard]] std::unique_ptr<Reader<ImageBatch>> make_reader() const final;
  [[nodiscard]] std::int64_t damaged() const noexcept final { return damage_.count(); }

  /// A thread's working memory.
  struct Scratch {
    std::string path;
    std::vector<std::uint8_t> bytes;
    JpegSampler sampler;
  };
  void make(const SampleKey& key, Scratch& scratch, ImageBatch& batch, std::int64_t row) const;

 protected:
  /// A sample's JPEG, in `scratch.bytes`, and its label. `damage` says why there is none. Throws
  /// Error if a file cannot be read or a label is invalid.
  struct Encoded {
    std::span<const std::uint8_t> jpeg;
    std::int64_t label = 0;
    std::string damage;
  };
  [[nodiscard]] virtual Encoded load(std::int64_t index, Scratch& scratch) const = 0;
  /// The sample's name for users.
  [[nodiscard]] virtual std::string name(std::int64_t index) const = 0;

 private:
  std::int64_t samples_;
  std::int64_t image_size_;
  bool augment_;
  mutable DamageLog damage_;
};

/// Checks the options common to all JPEG sets. Throws Error of kind config.
void check_jpeg_options(std::int64_t image_size, double max_damaged);

}  // namespace assay::train::data
