#include "train/data/loader.h"

#include <algorithm>
#include <new>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "train/data/loader_state.h"
#include "train/data/token_source.h"

namespace assay::train::data {

namespace detail {

namespace {

[[noreturn]] void wrong(std::string what, std::string advice = {}) {
  throw Error(ErrorKind::config, std::move(what), "input pipeline", std::move(advice));
}

void check(const LoaderOptions& options) {
  if (options.batch_size < 1)
    wrong(fmt::format("the batch size is {}", options.batch_size), "use 1 or more");
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world)
    wrong(fmt::format("rank {} is not in a world of {}", options.rank, options.world),
          "ranks are 0 to world size - 1");
  if (options.threads < 1 || options.threads > 1024)
    wrong(fmt::format("{} loader threads", options.threads), "use 1 to 1024");
  if (options.buffers < 2 || options.buffers > 1024)
    wrong(fmt::format("{} batch buffers", options.buffers),
          "use 2 to 1024: one is with the trainer while the next is made");
  constexpr std::int64_t most_epochs = 1'000'000'000;  // keeps batches countable
  if (options.epochs < 0 || options.epochs > most_epochs || options.start.epoch < 0 ||
      options.start.epoch > most_epochs || options.start.batch < 0)
    wrong(fmt::format("cannot start at epoch {}, batch {}, of {} epochs", options.start.epoch,
                      options.start.batch, options.epochs));
  if (options.timeout <= Nanoseconds::zero()) wrong("the timeout of a batch is not positive");
}

// Reports an error now rather than letting the kernel end the process while the buffers fill.
void check_memory(std::int64_t bytes, std::int64_t buffers) {
  const double total = static_cast<double>(bytes) * static_cast<double>(buffers);
  const double machine =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (machine > 0 && total > 0.9 * machine)
    wrong(fmt::format("{} batch buffers of {} do not fit into this machine's memory of {}", buffers,
                      format_bytes(static_cast<double>(bytes)), format_bytes(machine)),
          "use a smaller batch or fewer buffers");
}

}  // namespace

Shards::Shards(std::int64_t samples, const LoaderOptions& options) {
  check(options);
  const std::int64_t rank = options.rank;
  const std::int64_t world = options.world;
  batch_size_ = options.batch_size;
  if (samples < 1) wrong("the data set is empty");
  if (options.pass == Pass::train) {
    if (batch_size_ > samples / world)
      wrong(fmt::format("a batch of {} on {} needs more than the {} training samples there "
                        "are",
                        batch_size_, counted(world, "rank"), samples),
            samples < world ? "use fewer ranks or more data"
                            : fmt::format("use a batch of at most {} per rank", samples / world));
    batches_ = samples / (batch_size_ * world);
    share_ = batches_ * batch_size_;
    first_ = rank * batch_size_;
    stride_ = batch_size_ * world;
  } else {
    // The first samples % world ranks get one more.
    const std::int64_t least = samples / world;
    const std::int64_t extra = samples % world;
    share_ = least + (rank < extra ? 1 : 0);
    first_ = rank * least + std::min(rank, extra);
    batch_size_ = std::min(batch_size_, std::max<std::int64_t>(share_, 1));
    batches_ = (share_ + batch_size_ - 1) / batch_size_;
    stride_ = batch_size_;
  }
  if (options.start.batch > batches_)
    wrong(fmt::format("cannot start at batch {}: an epoch has {}", options.start.batch, batches_),
          "data set, batch size and world size must be those of the run that is resumed");
}

template <class Batch>
LoaderState<Batch>::LoaderState(std::shared_ptr<const Source<Batch>> source, LoaderOptions options)
    : source_(std::move(source)),
      options_(std::move(options)),
      shards_(source_->size(), options_),
      slots_(static_cast<std::size_t>(options_.buffers)) {
  if (options_.allocator == nullptr) options_.allocator = heap_allocator();
  const std::int64_t rows = std::max<std::int64_t>(shards_.batches() > 0 ? shards_.rows(0) : 0, 1);
  chunk_rows_ = std::clamp<std::int64_t>(rows / (4 * options_.threads), 1, 64);

  Batch one;
  one.shape = source_->shape();
  one.size = rows;
  check_memory(one.bytes(), options_.buffers);
  free_.reserve(slots_.size());
  for (Slot& slot : slots_) {
    slot.batch = Batch(one.shape, rows, options_.allocator);
    free_.push_back(&slot);
  }
  begun_.resize(slots_.size());

  const std::int64_t per_epoch = shards_.batches();
  last_ = options_.epochs > 0 ? options_.epochs * per_epoch : INT64_MAX;
  if (per_epoch == 0) last_ = 0;
  next_begun_ = next_taken_ = options_.start.epoch * per_epoch + options_.start.batch;

  for (std::int64_t i = 0; i < options_.threads; ++i) readers_.push_back(source_->make_reader());
  try {
    for (const auto& reader : readers_)
      threads_.emplace_back([this, &reader = *reader] { work(reader); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ErrorKind::environment,
                fmt::format("cannot start {} loader threads: {}", options_.threads, error.what()),
                "input pipeline", "use fewer, or raise the limit of processes (ulimit -u)");
  }
}

template <class Batch>
void LoaderState<Batch>::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

template <class Batch>
void LoaderState<Batch>::work(Reader<Batch>& reader) noexcept {
  std::unique_lock lock(mutex_);
  Chunk chunk;
  while (claim(lock, chunk)) {
    lock.unlock();
    make(reader, chunk);
    lock.lock();
    chunk.slot->unfinished -= chunk.end - chunk.begin;
    if (chunk.slot->unfinished == 0) ready_.notify_one();
  }
}

template <class Batch>
bool LoaderState<Batch>::claim(std::unique_lock<std::mutex>& lock, Chunk& chunk) {
  while (!stopping_) {
    Slot* const newest =
        next_begun_ > next_taken_ ? begun_[(next_begun_ - 1) % begun_.size()] : nullptr;
    if (newest != nullptr && newest->unclaimed < newest->batch.size) {
      chunk.slot = newest;
      chunk.begin = newest->unclaimed;
      chunk.end = std::min(chunk.begin + chunk_rows_, newest->batch.size);
      newest->unclaimed = chunk.end;
      return true;
    }
    if (next_begun_ < last_ && !free_.empty()) {
      begin_batch();
      work_.notify_all();
    } else {
      work_.wait(lock);
    }
  }
  return false;
}

template <class Batch>
void LoaderState<Batch>::begin_batch() {
  Slot& slot = *free_.back();
  free_.pop_back();
  slot.position = {next_begun_ / shards_.batches(), next_begun_ % shards_.batches()};
  if (options_.pass == Pass::train)
    slot.order =
        Permutation(source_->size(), Random(options_.seed, 0x5u, slot.position.epoch).bits());
  slot.batch.size = shards_.rows(slot.position.batch);
  slot.unclaimed = 0;
  slot.unfinished = slot.batch.size;
  slot.error = nullptr;
  begun_[next_begun_ % begun_.size()] = &slot;
  ++next_begun_;
}

template <class Batch>
void LoaderState<Batch>::make(Reader<Batch>& reader, Chunk& chunk) noexcept {
  Slot& slot = *chunk.slot;
  const bool training = options_.pass == Pass::train;
  std::int64_t row = chunk.begin;
  std::exception_ptr error;
  try {
    for (; row < chunk.end && !stopping_.load(std::memory_order_relaxed); ++row) {
      const std::int64_t place = shards_.place(slot.position.batch, row);
      const SampleKey key{training ? slot.order(place) : place, training ? slot.position.epoch : 0,
                          options_.seed};
      reader.read(key, slot.batch, row);
    }
    return;
  } catch (const Error&) {
    error = std::current_exception();
  } catch (const std::bad_alloc&) {
    error = std::make_exception_ptr(Error(ErrorKind::environment, "no memory for a sample",
                                          "input pipeline", "use fewer loader threads"));
  } catch (const std::exception& other) {
    error = std::make_exception_ptr(
        Error(ErrorKind::internal, fmt::format("a loader thread failed: {}", other.what())));
  }
  // Reports the first row's error if a batch has several, whatever the threads' timing.
  const std::lock_guard lock(mutex_);
  if (slot.error == nullptr || row < slot.failed_row) {
    slot.error = error;
    slot.failed_row = row;
  }
}

template <class Batch>
Batch* LoaderState<Batch>::take(Position& position, Nanoseconds& waited) {
  std::unique_lock lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (next_taken_ >= last_) return nullptr;
  if (next_begun_ == next_taken_ && free_.empty())
    throw Error(ErrorKind::internal,
                fmt::format("all {} batch buffers are with the consumer", slots_.size()),
                "input pipeline", "give batches back, or use more buffers");
  const auto complete = [&] {
    return next_begun_ > next_taken_ && begun_[next_taken_ % begun_.size()]->unfinished == 0;
  };
  waited = Nanoseconds::zero();
  if (!complete()) {
    const std::int64_t start = mono_now_ns();
    if (!ready_.wait_for(lock, options_.timeout, complete)) throw_stalled(next_taken_);
    waited = Nanoseconds(mono_now_ns() - start);
  }
  Slot& slot = *begun_[next_taken_ % begun_.size()];
  if (slot.error != nullptr) {
    failure_ = slot.error;
    stopping_ = true;
    work_.notify_all();
    std::rethrow_exception(failure_);
  }
  ++next_taken_;
  position = slot.position;
  return &slot.batch;
}

template <class Batch>
void LoaderState<Batch>::throw_stalled(std::int64_t number) const {
  throw Error(
      ErrorKind::environment,
      fmt::format("batch {} of epoch {} was not ready within {}", number % shards_.batches(),
                  number / shards_.batches(), format_duration(options_.timeout)),
      "input pipeline",
      "the file system of the data set may hang; otherwise use more loader threads");
}

template <class Batch>
void LoaderState<Batch>::give_back(Batch* batch) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& slot) { return &slot.batch == batch; });
    free_.push_back(&*it);
  }
  work_.notify_one();
}

}  // namespace detail

template <class Batch>
void Loan<Batch>::give_back() noexcept {
  if (state_ == nullptr) return;
  state_->give_back(batch_);
  state_ = nullptr;
  batch_ = nullptr;
}

template <class Batch>
Loader<Batch>::Loader(std::shared_ptr<const Source<Batch>> source, LoaderOptions options)
    : state_(std::make_shared<detail::LoaderState<Batch>>(std::move(source), std::move(options))) {}

template <class Batch>
Loader<Batch>::~Loader() {
  state_->stop();
}

template <class Batch>
Loan<Batch> Loader<Batch>::next() {
  Loan<Batch> loan;
  Batch* const batch = state_->take(loan.position_, loan.waited_);
  if (batch == nullptr) return loan;
  loan.batch_ = batch;
  loan.state_ = state_;
  return loan;
}

template <class Batch>
std::int64_t Loader<Batch>::batches_per_epoch() const noexcept {
  return state_->shards().batches();
}

template <class Batch>
const LoaderOptions& Loader<Batch>::options() const noexcept {
  return state_->options();
}

template <class Batch>
const Source<Batch>& Loader<Batch>::source() const noexcept {
  return state_->source();
}

template class Loan<ImageBatch>;
template class Loan<TextBatch>;
template class Loan<TokenBatch>;
template class Loader<ImageBatch>;
template class Loader<TextBatch>;
template class Loader<TokenBatch>;

}  // namespace assay::train::data
