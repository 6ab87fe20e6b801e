#pragma once

#include <cstdint>
#include <string>

#include "commands/base/terminal.h"

namespace assay::commands {

/// Bytes that are done, of so many: one line that is redrawn on a terminal, else a line at the
/// start, at most every five seconds, and at the end.
class ByteProgress {
 public:
  /// `what`: "Sent". What takes less than `silence_ns` is not shown at all.
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
