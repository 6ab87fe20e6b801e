#pragma once

#include <cstdint>
#include <string>

namespace assay::train {

/// How far something is, on standard error: one line that is redrawn on a terminal, else a line now
/// and then. What takes less than a second is not shown.
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
