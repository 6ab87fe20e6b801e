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

/// A value for people: the number and its unit, scaled ("1.23", "kW"). For durations and bytes the
/// unit may be part of the number.
struct Shown {
  std::string number;
  std::string unit;
  std::string half{};  ///< the number after "±", in the unit of the number; empty: none

  /// "8,118 ± 12 samples/s"
  [[nodiscard]] std::string text() const;
};

/// Values that are not finite show as "–".
[[nodiscard]] Shown show(double value, std::string_view unit);

/// With the digits that the uncertainty allows: `half` is rounded to two significant digits, and
/// the value to the last of them, but to no more than six of its own. Without a `half`, like show()
/// above.
[[nodiscard]] Shown show(double value, std::string_view unit, std::optional<double> half);

/// "12.3 %" for 0.123.
[[nodiscard]] std::string show_percent(double ratio);

/// How values of one unit are drawn on an axis: multiply by `factor`, write `unit`.
struct AxisUnit {
  double factor = 1;
  std::string unit;
};
[[nodiscard]] AxisUnit axis_unit(std::string_view unit, double largest);

/// "resnet50 · libtorch · A100 · 2 nodes × 8 procs"; parts that are empty are left out.
[[nodiscard]] page::Html case_subtitle(const judge::CaseResult& result);

[[nodiscard]] const judge::Metric* find_metric(const judge::RoundResult& round,
                                               std::string_view name);
[[nodiscard]] const judge::Summary* find_summary(const judge::CaseResult& result,
                                                 std::string_view name);

/// End-to-end time of the case: median over its rounds that count, in seconds.
[[nodiscard]] std::optional<double> e2e_seconds(const judge::CaseResult& result);

/// The meaning of the number after "±".
struct Spread {
  enum class Kind {
    rounds,     ///< half of the 95 % confidence interval of the mean over rounds
    deviation,  ///< of two rounds, their standard deviation
    steps,      ///< of one round, half of the 95 % confidence interval over its steps
  };
  double ratio = 0;  ///< relative to the mean
  double half = 0;   ///< in the unit of the metric
  Kind kind = Kind::rounds;
};
constexpr auto enum_names(Spread::Kind /*kind*/) {
  using enum Spread::Kind;
  return std::to_array<EnumName<Spread::Kind>>(
      {{rounds, "rounds"}, {deviation, "deviation"}, {steps, "steps"}});
}
/// `summary` is one of the case's.
[[nodiscard]] std::optional<Spread> spread_of(const judge::CaseResult& result,
                                              const judge::Summary& summary);
/// Over the steps of the round.
[[nodiscard]] std::optional<Spread> spread_of(const judge::Metric& metric);

/// The median with the digits that the spread allows, followed by the spread.
[[nodiscard]] Shown show(const judge::CaseResult& result, const judge::Summary& summary);
/// The same without the spread.
[[nodiscard]] std::string median_text(const judge::CaseResult& result,
                                      const judge::Summary& summary);

/// The meaning of `±` in a table of these cases; empty: there is none.
[[nodiscard]] std::string spread_legend(const judge::RunResult& result);

/// The text in place of a case's verdict if it was not run.
inline constexpr std::string_view kSkippedWord = "SKIPPED";

/// "VALID", or "VALID under relaxed rules"; "SKIPPED".
[[nodiscard]] std::string verdict_words(const judge::CaseResult& result);
[[nodiscard]] std::string verdict_words(const judge::RunResult& result);

/// A rule that a suite changed, and the cases that it judges.
struct ChangedRule {
  std::string text;  ///< "repeat-spread: at most 20 % instead of at most 5 % (quick.yaml:12)"
  bool relaxed = false;
  std::vector<std::string> cases;  ///< empty: all
};
/// Those of one case, in their order. Many rules that are only newer than the plan are one entry.
[[nodiscard]] std::vector<ChangedRule> changed_rules(const judge::CaseResult& result);
/// Of all cases; those that were relaxed first.
[[nodiscard]] std::vector<ChangedRule> changed_rules(const judge::RunResult& result);

/// Rounds that completed.
[[nodiscard]] int completed_rounds(const judge::CaseResult& result);

}  // namespace assay::report
