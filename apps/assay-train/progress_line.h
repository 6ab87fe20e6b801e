#pragma once

#include <cstdint>
#include <string>

namespace assay::train {

/// Progress on standard error: a redrawn line on a terminal, otherwise a line now and then. Not
/// shown for anything that takes less than a second.
class ProgressLine {
 public:
  ProgressLine();
  /// Ends the line on a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);

 private:
  bool terminal_;
  std::int64_t next_ns_;
  bool shown_ = false;
};

}  // namespace assay::train
