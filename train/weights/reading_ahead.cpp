#include "train/weights/reading_ahead.h"

#include <algorithm>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace assay::train::weights {

namespace {

constexpr std::size_t kPart = std::size_t{16} << 20;

// Returns once all of it is in memory. MADV_WILLNEED is not sufficient: it reads at most a
// megabyte.
void bring(std::span<const std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(part.data());
  const std::size_t before = first % page;
  void* begin = const_cast<std::byte*>(part.data() - before);
  ::madvise(begin, before + part.size(), MADV_SEQUENTIAL);
#ifdef MADV_POPULATE_READ
  if (::madvise(begin, before + part.size(), MADV_POPULATE_READ) == 0) return;
#endif
  // For Linux before 5.14.
  for (std::size_t at = 0; at < part.size(); at += page)
    static_cast<void>(*static_cast<const volatile std::byte*>(part.data() + at));
}

}  // namespace

ReadingAhead::ReadingAhead(std::vector<std::span<const std::byte>> pieces)
    : pieces_(std::move(pieces)), thread_([this](const std::stop_token& stop) { read(stop); }) {}

void ReadingAhead::used(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    used_ += bytes;
  }
  changed_.notify_one();
}

bool ReadingAhead::wait_for_room(std::uint64_t begun, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [&] { return begun < used_ + kAhead; });
}

void ReadingAhead::read(const std::stop_token& stop) {
  std::uint64_t begun = 0;
  for (std::span<const std::byte> piece : pieces_) {
    while (!piece.empty()) {
      if (!wait_for_room(begun, stop)) return;
      const auto part = piece.first(std::min(kPart, piece.size()));
      bring(part);
      begun += part.size();
      piece = piece.subspan(part.size());
    }
  }
}

}  // namespace assay::train::weights
