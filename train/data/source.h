#pragma once

#include <cstdint>
#include <memory>

#include "train/data/batch.h"

namespace assay::train::data {

/// Identifies one occurrence of a sample. All its randomness (crop, flip, masking) depends only on
/// these three numbers, so that neither threads nor ranks change the training data.
struct SampleKey {
  std::int64_t index = 0;  ///< 0…size-1
  std::int64_t epoch = 0;  ///< always 0 in evaluation
  std::uint64_t seed = 0;
};

/// Makes samples and owns the scratch memory for it. Used by one thread.
template <class Batch>
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  /// Writes every array of row `row`. Allocates nothing once its scratch memory fits the largest
  /// sample. Throws Error for bad data.
  virtual void read(const SampleKey& key, Batch& batch, std::int64_t row) = 0;
};

/// One split (training or evaluation) of a data set. Immutable; usable by any thread.
template <class Batch>
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;
  [[nodiscard]] virtual typename Batch::Shape shape() const noexcept = 0;
  /// The reader keeps no reference to the caller, but the source must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Reader<Batch>> make_reader() const = 0;
  /// The number of different samples found damaged and replaced so far.
  [[nodiscard]] virtual std::int64_t damaged() const noexcept { return 0; }
};

using ImageSource = Source<ImageBatch>;
using TextSource = Source<TextBatch>;

}  // namespace assay::train::data
