#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace assay::train::weights {

/// Reads pieces of mapped files from the disk in a separate thread, in order, while others are
/// being used. Stays at most `kAhead` bytes ahead of use, because more might be evicted again if
/// memory is short. Ends with this object.
class ReadingAhead {
 public:
  static constexpr std::uint64_t kAhead = std::uint64_t{2} << 30;

  explicit ReadingAhead(std::vector<std::span<const std::byte>> pieces);

  /// Reports that this many more bytes have been used.
  void used(std::size_t bytes);

 private:
  void read(const std::stop_token& stop);
  [[nodiscard]] bool wait_for_room(std::uint64_t begun, const std::stop_token& stop);

  std::vector<std::span<const std::byte>> pieces_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t used_ = 0;
  std::jthread thread_;  // last: uses all the others
};

}  // namespace assay::train::weights
