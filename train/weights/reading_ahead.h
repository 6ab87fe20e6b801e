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

/// Has pieces of mapped files read from the disk in a thread of its own, in their order, while
/// others are being used. Stays at most `kAhead` bytes before what was used: more might be given up
/// again where memory is short. Ends with this object.
class ReadingAhead {
 public:
  static constexpr std::uint64_t kAhead = std::uint64_t{2} << 30;

  explicit ReadingAhead(std::vector<std::span<const std::byte>> pieces);

  /// So many bytes more have been used.
  void used(std::size_t bytes);

 private:
  void read(const std::stop_token& stop);
  [[nodiscard]] bool wait_for_room(std::uint64_t begun, const std::stop_token& stop);

  std::vector<std::span<const std::byte>> pieces_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t used_ = 0;
  std::jthread thread_;  // last: it uses all the others
};

}  // namespace assay::train::weights
