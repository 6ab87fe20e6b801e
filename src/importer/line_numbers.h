#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::importer {

/// A number that a program prints, and the pattern that finds it again.
struct PrintedMetric {
  std::string name;
  std::string match;  ///< RE2, with one group
  std::string unit{};
  std::string better = "higher";
  bool bar = false;  ///< a progress bar prints it, also the other way round: of 'kind: speed'
};

/// A number in a line of output.
struct NumberInLine {
  std::string label;      ///< the text before it, back to the number before and its unit: "speed: "
  std::string text;       ///< "345.6", "1e-3", "-0.5", "12.3k"
  std::string unit{};     ///< behind it, with the blank between: " img/s"
  std::size_t begin = 0;  ///< where it stands in the line
  /// It may be only a part of a number, or the unit may belong to the next one: "1 234", "12:30".
  bool doubtful = false;
};

/// The numbers of a line that have a label, a unit of so many a second or one of time for a step,
/// from left to right.
[[nodiscard]] std::vector<NumberInLine> numbers_in(std::string_view line);

/// Which of them is measured, by the words around it: a rate (of data before one of steps) before
/// the time of a step before a loss. Nothing where no words say surely what a number is, or where
/// there is only a loss beside a time or speed of which they do not.
[[nodiscard]] std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers);

/// A pattern that finds the number by its label and the unit behind it.
[[nodiscard]] std::string pattern_for(const NumberInLine& number);

/// The metric that the words around the number speak of: of "Tokens/p/s: " a throughput in
/// tokens/s/device. Where they do not say, it has no unit and neither direction is better.
[[nodiscard]] PrintedMetric printed_metric(const NumberInLine& number);

}  // namespace assay::importer
