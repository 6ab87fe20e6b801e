#pragma once

#include <cstdint>

#include "core/files.h"

namespace assay::door {

/// Carries bytes from one non-blocking socket to another without copying them into this process.
class SplicePipe {
 public:
  /// What one call did. refused: sockets of a kind that the kernel does not connect, or no pipe;
  /// nothing was taken.
  enum class Step { moved, wait, end, refused };

  /// Takes at most `most` bytes of `from`; end: there are no more, or the connection is broken.
  [[nodiscard]] Step fill(int from, std::uint64_t most);
  /// Gives `to` of what is held; end: it takes no more.
  [[nodiscard]] Step empty(int to);
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

 private:
  UniqueFd out_;
  UniqueFd in_;
  std::uint64_t held_ = 0;
};

}  // namespace assay::door
