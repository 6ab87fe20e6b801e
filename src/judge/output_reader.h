#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "judge/output_values.h"
#include "plan/plan.h"

namespace assay::judge {

/// Finds the numbers of a case's output metrics in one rank's output (docs/suite.md, "metrics").
/// A line is what a terminal would show at once: newlines, carriage returns and movements of the
/// cursor end it, backspaces take characters back, colors are nothing. Every match counts. Memory
/// is bounded: a line longer than kWindow is searched in windows, which overlap by kOverlap, so
/// that a match of at most kOverlap bytes is always found. How the text is cut into pieces makes no
/// difference. One thread.
class OutputReader {
 public:
  static constexpr std::size_t kWindow = std::size_t{1} << 20;
  static constexpr std::size_t kOverlap = std::size_t{64} << 10;

  /// `found` gets one element per metric. Throws Error of kind config for a pattern that is not a
  /// regular expression. Both must outlive the reader.
  OutputReader(const std::vector<plan::OutputMetric>& metrics, std::vector<OutputValues>& found);
  ~OutputReader();
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  /// Text of line number `line`; `ends`: the line is complete with it.
  void read(std::string_view text, std::uint64_t line, bool ends);
  /// Output is missing here: the halves of lines on both sides of the gap are ignored.
  void hole();
  /// The following text comes after a PerfLog event of that time.
  void passed(const Stamp& at) noexcept;
  /// The following text comes after the end of that step.
  void passed_step(std::int64_t step) noexcept;
  /// There are metrics to look for.
  [[nodiscard]] bool wanted() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::judge
