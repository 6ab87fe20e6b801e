#pragma once

#include <algorithm>
#include <cstdint>

namespace assay::push {

/// How much of a file to send at once: what the line carries in a few seconds, so that a slow one
/// is not cut off within a part and a fast one does not wait for answers.
class PartSize {
 public:
  static constexpr std::uint64_t kLeast = 64U << 10;
  static constexpr std::uint64_t kMost = 4U << 20;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Reports that a part of full size took this long.
  void took(double seconds) noexcept {
    if (seconds > 10) bytes_ = std::max(kLeast, bytes_ / 2);
    if (seconds < 2) bytes_ = std::min(kMost, bytes_ * 2);
  }
  /// Reports that a part did not arrive. Returns false if it cannot be smaller.
  [[nodiscard]] bool failed() noexcept {
    if (bytes_ == kLeast) return false;
    bytes_ = std::max(kLeast, bytes_ / 4);
    return true;
  }

 private:
  std::uint64_t bytes_ = 512U << 10;
};

}  // namespace assay::push
