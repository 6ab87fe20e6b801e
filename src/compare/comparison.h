#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/side.h"
#include "core/enum_names.h"
#include "core/metric.h"
#include "judge/result.h"
#include "stats/two_samples.h"

namespace assay::compare {

/// The verdict on a change, after the correction for all tested ones.
enum class Verdict { better, worse, same, unsure };

constexpr auto enum_names(Verdict /*verdict*/) {
  using enum Verdict;
  return std::to_array<EnumName<Verdict>>(
      {{better, "better"}, {worse, "worse"}, {same, "same"}, {unsure, "unsure"}});
}

struct Options {
  double tolerance = 0.02;   ///< a change whose interval lies within ± this is the SAME
  double level = 0.05;       ///< probability of a false alarm, over all headlines together
  bool all_metrics = false;  ///< also those that are not a case's headline
  std::vector<std::string> metrics{};  ///< these besides the headlines
  bool invalid_too = false;            ///< also compares results that are not VALID, and says so
};

/// One metric of a case over the rounds of both sides.
struct MetricChange {
  MetricInfo info;
  bool headline = false;
  std::vector<double> base{};  ///< one value a round
  std::vector<double> candidate{};
  stats::LevelChange level{};
  /// 95 %, of the change, by the steady steps of these very rounds (compare/step_errors.h); nothing
  /// for a metric that is not computed from them.
  std::optional<stats::Interval> steps{};
  /// The range that a baseline tolerates, relative to its median; it replaces the tolerance.
  std::optional<stats::Interval> tolerated{};
  double adjusted_p = 1;  ///< by Holm, over the headlines or over all other metrics
  Verdict verdict = Verdict::unsure;
  std::string note{};  ///< why it is unsure, and what would decide it
};

/// A difference between the sides other than the results.
struct Difference {
  std::string what;  ///< "node 0: kernel"
  std::string base;
  std::string candidate;
};

/// A requested metric without a change.
struct LeftOut {
  std::string metric;
  std::string why;  ///< "the units differ: J and kJ"
};

struct CaseChange {
  std::string name;
  std::string refused{};                  ///< why it is not compared; empty: it is
  bool only_new = false;                  ///< refused because the base does not have it
  bool not_meant = false;                 ///< refused because neither side was meant to run it
  std::string warning{};                  ///< it is compared although …
  std::vector<Difference> differences{};  ///< of its configuration and rules
  std::vector<MetricChange> metrics{};    ///< the headline first
  std::vector<LeftOut> left_out{};
};

/// One new side compared with the base.
struct Comparison {
  std::string name;
  std::vector<std::string> runs;
  std::vector<Difference> differences;  ///< of machines, programs and suites
  std::vector<CaseChange> cases;        ///< in the order of the base, then those that it lacks
  Options options{};
};

/// All of them.
struct Comparisons {
  std::string base;
  std::vector<std::string> base_runs;
  std::vector<Comparison> sides;
  Options options;
};

/// Compares every new side with the base. A case is refused if it is on one side only, has another
/// model or data, is not VALID or belongs to a run that is not, or has no round with a headline.
/// Throws Error of kind usage for a baseline against a baseline. Pure; uses all processors.
[[nodiscard]] Comparisons compare_sides(const Side& base, std::span<const Side> others,
                                        const Options& options);

/// Whether `name` means the metric: its name, or "throughput" for the steady one.
[[nodiscard]] bool is_named(const std::string& metric, const std::string& name);

/// "FASTER" for a rate or a time that got better, "BETTER" for another metric, …
[[nodiscard]] std::string verdict_word(const MetricChange& change);

}  // namespace assay::compare
