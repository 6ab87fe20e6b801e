#pragma once

#include <cstdint>
#include <memory>

#include "train/data/batch.h"

namespace assay::train::data {

/// Names one sample as it is seen once. Everything random about it (crop, flip, masking) depends on
/// these three numbers alone, so that neither threads nor ranks change what is trained on.
struct SampleKey {
  std::int64_t index = 0;  ///< 0…size-1
  std::int64_t epoch = 0;  ///< always 0 in evaluation
  std::uint64_t seed = 0;
};

/// Makes samples; has the scratch memory for it. One thread uses one reader.
template <class Batch>
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  /// Writes every array of row `row`. Allocates nothing once its scratch memory has grown to the
  /// largest sample. Throws Error when the data is bad.
  virtual void read(const SampleKey& key, Batch& batch, std::int64_t row) = 0;
};

/// One split (training or evaluation) of a data set. Immutable, usable by any thread.
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
  /// Different samples found damaged so far and replaced by the next good one.
  [[nodiscard]] virtual std::int64_t damaged() const noexcept { return 0; }
};

using ImageSource = Source<ImageBatch>;
using TextSource = Source<TextBatch>;

}  // namespace assay::train::data
