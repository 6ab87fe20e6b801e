#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/metrics.h"
#include "judge/result.h"
#include "page/markup.h"

namespace assay::report {

using catalog::metric_title;

/// A value in readable form: a number and a scaled unit ("1.23", "kW"). For durations and bytes the
/// unit may be part of the number.
struct Shown {
  std::string number;
  std::string unit;
  std::string half{};  ///< the text after "±", in the number's unit; empty: none

  /// "8,118 ± 12 samples/s"
  [[nodiscard]] std::string text() const;
};

/// Non-finite values appear as "–".
[[nodiscard]] Shown show(double value, std::string_view unit);

/// Shows as many digits as the uncertainty allows: rounds `half` to two significant digits, and the
/// value to the last of these, but to at most six of its own. Without `half`, like show() above.
[[nodiscard]] Shown show(double value, std::string_view unit, std::optional<double> half);

/// "12.3 %" for 0.123.
[[nodiscard]] std::string show_percent(double ratio);

/// How to draw values of a unit on an axis: multiply by `factor`, label with `unit`.
struct AxisUnit {
  double factor = 1;
  std::string unit;
};
[[nodiscard]] AxisUnit axis_unit(std::string_view unit, double largest);

/// "resnet50 · libtorch · A100 · 2 nodes × 8 procs", without empty parts.
[[nodiscard]] page::Html case_subtitle(const judge::CaseResult& result);

[[nodiscard]] const judge::Metric* find_metric(const judge::RoundResult& round,
                                               std::string_view name);
[[nodiscard]] const judge::Summary* find_summary(const judge::CaseResult& result,
                                                 std::string_view name);

/// The case's end-to-end time: the median over rounds that count, in seconds.
[[nodiscard]] std::optional<double> e2e_seconds(const judge::CaseResult& result);

/// The value after "±".
struct Spread {
  enum class Kind {
    rounds,     ///< half of the 95 % confidence interval of the mean over rounds
    deviation,  ///< for two rounds, their standard deviation
    steps,      ///< for one round, half of the 95 % confidence interval over its steps
  };
  double ratio = 0;  ///< relative to the mean
  double half = 0;   ///< in the metric's unit
  Kind kind = Kind::rounds;
};
constexpr auto enum_names(Spread::Kind /*kind*/) {
  using enum Spread::Kind;
  return std::to_array<EnumName<Spread::Kind>>(
      {{rounds, "rounds"}, {deviation, "deviation"}, {steps, "steps"}});
}
/// `summary` must be one of the case's.
[[nodiscard]] std::optional<Spread> spread_of(const judge::CaseResult& result,
                                              const judge::Summary& summary);
/// The spread over the round's steps.
[[nodiscard]] std::optional<Spread> spread_of(const judge::Metric& metric);

/// The median with the digits that its spread allows, followed by the spread.
[[nodiscard]] Shown show(const judge::CaseResult& result, const judge::Summary& summary);
/// The same without the spread.
[[nodiscard]] std::string median_text(const judge::CaseResult& result,
                                      const judge::Summary& summary);

/// The meaning of `±` in a table of these cases; empty without one.
[[nodiscard]] std::string spread_legend(const judge::RunResult& result);

/// Replaces the verdict of a case that did not run.
inline constexpr std::string_view kSkippedWord = "SKIPPED";

/// "VALID", "VALID under relaxed rules", or "SKIPPED".
[[nodiscard]] std::string verdict_words(const judge::CaseResult& result);
[[nodiscard]] std::string verdict_words(const judge::RunResult& result);

/// A rule that a suite changed, and the cases judged that way.
struct ChangedRule {
  std::string text;  ///< "repeat-spread: at most 20 % instead of at most 5 % (quick.yaml:12)"
  bool relaxed = false;
  std::vector<std::string> cases;  ///< empty: all
};
/// A case's changed rules, in order. Many rules that are merely newer than the plan are one entry.
[[nodiscard]] std::vector<ChangedRule> changed_rules(const judge::CaseResult& result);
/// The changed rules of all cases, relaxed ones first.
[[nodiscard]] std::vector<ChangedRule> changed_rules(const judge::RunResult& result);

/// The number of completed rounds.
[[nodiscard]] int completed_rounds(const judge::CaseResult& result);

}  // namespace assay::report
