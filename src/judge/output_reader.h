#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "judge/output_values.h"
#include "plan/plan.h"

namespace assay::judge {

/// Finds the numbers of a case's output metrics in one rank's output (docs/suite.md, "metrics"). A
/// line is what a terminal shows at once: newlines, carriage returns and cursor movements end it,
/// backspaces remove characters, colors are ignored. Every match counts. Memory is bounded: a line
/// longer than kWindow is searched in windows that overlap by kOverlap, so a match of at most
/// kOverlap bytes is always found. The result does not depend on how the text is cut into pieces.
/// Single-threaded.
class OutputReader {
 public:
  static constexpr std::size_t kWindow = std::size_t{1} << 20;
  static constexpr std::size_t kOverlap = std::size_t{64} << 10;

  /// `found` gets one element per metric. Throws Error of kind config if a pattern is not a regular
  /// expression. Both arguments must outlive the reader.
  OutputReader(const std::vector<plan::OutputMetric>& metrics, std::vector<OutputValues>& found);
  ~OutputReader();
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  /// Reads text of line number `line`, which it completes if `ends` is set.
  void read(std::string_view text, std::uint64_t line, bool ends);
  /// Marks missing output: the incomplete lines on both sides of it are ignored.
  void hole();
  /// The following text comes after a PerfLog event with that time.
  void passed(const Stamp& at) noexcept;
  /// The following text comes after the end of that step.
  void passed_step(std::int64_t step) noexcept;
  /// Whether there are metrics to look for.
  [[nodiscard]] bool wanted() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::judge
