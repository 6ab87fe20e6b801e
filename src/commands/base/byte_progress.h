#pragma once

#include <cstdint>
#include <string>

#include "commands/base/terminal.h"

namespace assay::commands {

/// Bytes done out of a total: a redrawn line on a terminal, otherwise a line at the start, at most
/// every five seconds, and at the end.
class ByteProgress {
 public:
  /// `what`: "Sent". Shows nothing for anything that takes less than `silence_ns`.
  explicit ByteProgress(std::string what, std::int64_t silence_ns = 0);
  void show(std::uint64_t done, std::uint64_t total);

 private:
  std::string what_;
  Terminal terminal_ = terminal();
  std::int64_t from_ns_;
  std::int64_t shown_ns_ = 0;
  bool ended_ = false;
};

}  // namespace assay::commands
