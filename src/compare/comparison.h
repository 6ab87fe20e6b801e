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

/// The verdict on a change, after correction for multiple tests.
enum class Verdict { better, worse, same, unsure };

constexpr auto enum_names(Verdict /*verdict*/) {
  using enum Verdict;
  return std::to_array<EnumName<Verdict>>(
      {{better, "better"}, {worse, "worse"}, {same, "same"}, {unsure, "unsure"}});
}

struct Options {
  double tolerance = 0.02;             ///< a change whose interval is within ± this is the SAME
  double level = 0.05;                 ///< probability of a false alarm over all headlines together
  bool all_metrics = false;            ///< not only the cases' headlines
  std::vector<std::string> metrics{};  ///< in addition to the headlines
  bool invalid_too = false;            ///< also compares what is not VALID, and says so
};

/// A metric of a case over both sides' rounds.
struct MetricChange {
  MetricInfo info;
  bool headline = false;
  std::vector<double> base{};  ///< one value per round
  std::vector<double> candidate{};
  stats::LevelChange level{};
  /// 95 %, of the change, from the steady steps of these particular rounds (compare/step_errors.h);
  /// nothing for a metric that is not computed from them.
  std::optional<stats::Interval> steps{};
  /// The range tolerated by a baseline, relative to its median; replaces the tolerance.
  std::optional<stats::Interval> tolerated{};
  double adjusted_p = 1;  ///< by Holm, over the headlines or all other metrics
  Verdict verdict = Verdict::unsure;
  std::string note{};  ///< why it is unsure, and what would settle it
};

/// A difference between the sides other than their results.
struct Difference {
  std::string what;  ///< "node 0: kernel"
  std::string base;
  std::string candidate;
};

/// A requested metric that has no change.
struct LeftOut {
  std::string metric;
  std::string why;  ///< "the units differ: J and kJ"
};

struct CaseChange {
  std::string name;
  std::string refused{};                  ///< why it is not compared; empty if it is
  bool only_new = false;                  ///< refused because the base lacks it
  bool not_meant = false;                 ///< refused because neither side was meant to run it
  std::string warning{};                  ///< the reservation under which it is compared
  std::vector<Difference> differences{};  ///< in configuration and rules
  std::vector<MetricChange> metrics{};    ///< headline first
  std::vector<LeftOut> left_out{};
};

/// One new side compared with the base.
struct Comparison {
  std::string name;
  std::vector<std::string> runs;
  std::vector<Difference> differences;  ///< in machines, programs and suites
  std::vector<CaseChange> cases;        ///< in the base's order, then those that the base lacks
  Options options{};
};

/// The comparisons of all new sides.
struct Comparisons {
  std::string base;
  std::vector<std::string> base_runs;
  std::vector<Comparison> sides;
  Options options;
};

/// Compares every new side with the base. Refuses a case that only one side has, that has another
/// model or data, that is not VALID or belongs to a run that is not, or that has no round with a
/// headline. Throws Error of kind usage for two baselines. Pure; uses all processors.
[[nodiscard]] Comparisons compare_sides(const Side& base, std::span<const Side> others,
                                        const Options& options);

/// Whether `name` denotes the metric: by its name, or as "throughput" for the steady one.
[[nodiscard]] bool is_named(const std::string& metric, const std::string& name);

/// "FASTER" for a rate or time that improved, "BETTER" for another metric, …
[[nodiscard]] std::string verdict_word(const MetricChange& change);

}  // namespace assay::compare
