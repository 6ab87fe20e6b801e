#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "train/data/loader.h"
#include "train/data/random.h"

namespace assay::train::data::detail {

/// Assigns samples to batches; pure arithmetic.
class Shards {
 public:
  Shards() = default;
  /// Throws Error of kind config if no batch is possible.
  Shards(std::int64_t samples, const LoaderOptions& options);

  [[nodiscard]] std::int64_t batches() const noexcept { return batches_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return share_; }
  [[nodiscard]] std::int64_t rows(std::int64_t batch) const noexcept {
    return std::min(batch_size_, share_ - batch * batch_size_);
  }
  /// A row's position in the epoch's order.
  [[nodiscard]] std::int64_t place(std::int64_t batch, std::int64_t row) const noexcept {
    return first_ + batch * stride_ + row;
  }

 private:
  std::int64_t batch_size_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t share_ = 0;   // this rank's number of samples
  std::int64_t first_ = 0;   // position of this rank's first sample
  std::int64_t stride_ = 0;  // distance between this rank's batches
};

/// The queue between the threads that make batches and the consumer. Batches are begun in order;
/// the threads share the rows of the oldest unfinished ones, so that the first batch does not
/// depend on a single thread.
template <class Batch>
class LoaderState {
 public:
  LoaderState(std::shared_ptr<const Source<Batch>> source, LoaderOptions options);
  LoaderState(const LoaderState&) = delete;
  LoaderState& operator=(const LoaderState&) = delete;
  ~LoaderState() { stop(); }

  void stop() noexcept;
  /// The batch, its position and how long it took; nullptr after the last.
  Batch* take(Position& position, Nanoseconds& waited);
  void give_back(Batch* batch) noexcept;

  [[nodiscard]] const LoaderOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Shards& shards() const noexcept { return shards_; }
  [[nodiscard]] const Source<Batch>& source() const noexcept { return *source_; }

 private:
  struct Slot {
    Batch batch;
    Position position;
    Permutation order{1, 0};
    std::int64_t unclaimed = 0;   // the first row that no thread has taken
    std::int64_t unfinished = 0;  // rows still to be made
    std::int64_t failed_row = 0;  // of `error`
    std::exception_ptr error;
  };
  struct Chunk {
    Slot* slot = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  void work(Reader<Batch>& reader) noexcept;
  bool claim(std::unique_lock<std::mutex>& lock, Chunk& chunk);
  void make(Reader<Batch>& reader, Chunk& chunk) noexcept;
  void begin_batch();
  [[noreturn]] void throw_stalled(std::int64_t number) const;

  std::shared_ptr<const Source<Batch>> source_;
  LoaderOptions options_;
  Shards shards_;
  std::int64_t chunk_rows_ = 1;
  std::int64_t last_ = 0;  // one past the stream's last batch
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Reader<Batch>>> readers_;

  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable work_;   // for the threads: rows or a buffer became available
  std::condition_variable ready_;  // for the consumer: a batch is complete
  // Protected by the mutex:
  std::vector<Slot*> free_;
  std::vector<Slot*> begun_;  // ring of slots in batch order
  std::int64_t next_begun_ = 0;
  std::int64_t next_taken_ = 0;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace assay::train::data::detail
