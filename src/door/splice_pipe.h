#pragma once

#include <cstdint>

#include "core/files.h"

namespace assay::door {

/// Carries bytes between non-blocking sockets without copying them into this process.
class SplicePipe {
 public:
  /// The result of a call. refused: the kernel does not connect this kind of sockets, or there is
  /// no pipe; nothing was taken.
  enum class Step { moved, wait, end, refused };

  /// Takes at most `most` bytes from `from`; end: there are no more, or the connection is broken.
  [[nodiscard]] Step fill(int from, std::uint64_t most);
  /// Writes held bytes to `to`; end: it takes no more.
  [[nodiscard]] Step empty(int to);
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

 private:
  UniqueFd out_;
  UniqueFd in_;
  std::uint64_t held_ = 0;
};

}  // namespace assay::door
