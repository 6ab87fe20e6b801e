#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/time.h"
#include "train/data/allocator.h"
#include "train/data/source.h"

namespace assay::train::data {

enum class Pass {
  train,  ///< shuffled; only whole global batches, with the rest dropped on all ranks alike
  eval,   ///< in order; every sample exactly once over all ranks, and the last batch may be short
};

/// A position in one rank's stream of batches.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< within the epoch
  bool operator==(const Position&) const = default;
};

struct LoaderOptions {
  Pass pass = Pass::train;
  std::int64_t batch_size = 0;  ///< this rank's
  std::int64_t rank = 0;
  std::int64_t world = 1;
  std::int64_t threads = 2;  ///< for making batches
  std::int64_t buffers = 4;  ///< concurrently existing batches, including the consumer's
  std::uint64_t seed = 1;    ///< for order and augmentation; the same on all ranks
  Position start;            ///< for resuming: the first batch from next()
  std::int64_t epochs = 0;   ///< the stream ends before this epoch; 0: never
  std::shared_ptr<HostAllocator> allocator;        ///< nullptr: heap_allocator()
  Nanoseconds timeout = std::chrono::minutes(10);  ///< longest wait for one batch
};

template <class Batch>
class Loader;

namespace detail {
template <class Batch>
class LoaderState;
}

/// A batch that the consumer holds until this object is destroyed; its buffer is then reused. To
/// copy asynchronously, hold it until the copy is done. May outlive the loader.
template <class Batch>
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept = default;
  Loan& operator=(Loan&& other) noexcept {
    if (this != &other) {
      give_back();
      state_ = std::move(other.state_);
      batch_ = std::exchange(other.batch_, nullptr);
      position_ = other.position_;
      waited_ = other.waited_;
    }
    return *this;
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { give_back(); }

  /// Whether there is a batch; false after the last.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] const Batch& operator*() const noexcept { return *batch_; }
  [[nodiscard]] const Batch* operator->() const noexcept { return batch_; }
  [[nodiscard]] Position position() const noexcept { return position_; }
  /// How long next() had to wait for it.
  [[nodiscard]] Nanoseconds waited() const noexcept { return waited_; }
  /// Returns the buffer now.
  void give_back() noexcept;

 private:
  friend class Loader<Batch>;
  std::shared_ptr<detail::LoaderState<Batch>> state_;
  Batch* batch_ = nullptr;
  Position position_;
  Nanoseconds waited_{0};
};

/// Prepares the batches of one rank ahead of their use, in threads. A batch's content depends only
/// on the source and (seed, epoch, batch, rank, world), not on threads or time; the global batches
/// of `world` ranks of size B are those of one rank of size B·world, rank by rank. next() must be
/// called from one thread.
template <class Batch>
class Loader {
 public:
  /// Throws Error of kind config if these options allow no batch (a batch larger than a rank's
  /// share of the training split, a rank outside the world, a start beyond the epoch).
  Loader(std::shared_ptr<const Source<Batch>> source, LoaderOptions options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  /// Ends all threads; waits only for the samples in progress.
  ~Loader();

  /// The next batch; an empty loan after the last. Rethrows the Error of a failed thread (when that
  /// thread's batch is due, and on every later call); throws Error of kind environment when the
  /// timeout passes, and of kind internal if the consumer holds all buffers.
  [[nodiscard]] Loan<Batch> next();

  /// Batches of this rank: equal on all ranks in training; in evaluation they may differ by one.
  [[nodiscard]] std::int64_t batches_per_epoch() const noexcept;
  [[nodiscard]] const LoaderOptions& options() const noexcept;
  [[nodiscard]] const Source<Batch>& source() const noexcept;

 private:
  std::shared_ptr<detail::LoaderState<Batch>> state_;
};

using ImageLoader = Loader<ImageBatch>;
using ImageLoan = Loan<ImageBatch>;

extern template class Loan<ImageBatch>;
extern template class Loan<TextBatch>;
extern template class Loader<ImageBatch>;
extern template class Loader<TextBatch>;

}  // namespace assay::train::data
