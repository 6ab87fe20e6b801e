#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/metric.h"
#include "judge/result.h"
#include "stats/two_samples.h"

namespace assay::compare {

/// What may be said about a change, after the correction for all that were tested.
enum class Verdict { better, worse, same, unsure };

constexpr auto enum_names(Verdict /*verdict*/) {
  using enum Verdict;
  return std::to_array<EnumName<Verdict>>(
      {{better, "better"}, {worse, "worse"}, {same, "same"}, {unsure, "unsure"}});
}

struct Options {
  double tolerance = 0.02;   ///< a change whose interval lies within ± this is the SAME
  double level = 0.05;       ///< how probable a false alarm may be, over all headlines together
  bool all_metrics = false;  ///< also those that are not a case's headline
  std::vector<std::string> metrics{};  ///< these besides the headlines
  bool invalid_too = false;            ///< compares what is not VALID, and says so
};

/// One metric of a case over the rounds of both sides.
struct MetricChange {
  MetricInfo info;
  bool headline = false;
  std::vector<double> base{};  ///< one value a round
  std::vector<double> candidate{};
  stats::LevelChange level{};
  double adjusted_p = 1;  ///< by Holm, over the headlines or over all other metrics
  Verdict verdict = Verdict::unsure;
  std::string note{};  ///< why it is unsure, and how many rounds would decide it
};

/// Something besides the results that is not the same on both sides.
struct Difference {
  std::string what;  ///< "node 0: kernel"
  std::string base;
  std::string candidate;
};

struct CaseChange {
  std::string name;
  std::string refused{};                  ///< why it is not compared; empty: it is
  std::string warning{};                  ///< it is compared although …
  std::vector<Difference> differences{};  ///< of its configuration and rules
  std::vector<MetricChange> metrics{};    ///< the headline first
};

struct Comparison {
  std::vector<std::string> base_runs;
  std::vector<std::string> candidate_runs;
  std::vector<Difference> differences;  ///< of machines, programs and suites
  std::vector<CaseChange> cases;        ///< in the order of the base; then what it does not have
  Options options;
};

/// Compares the candidate's runs with the base's. Rounds of several runs of a side count together.
/// A case is refused when it is on one side only, has another model or data, is not VALID, or has
/// no round with a headline. Pure.
[[nodiscard]] Comparison compare_runs(std::span<const judge::RunResult> base,
                                      std::span<const judge::RunResult> candidate,
                                      const Options& options);

/// "FASTER" for a rate or a time that got better, "BETTER" for another metric, …
[[nodiscard]] std::string verdict_word(const MetricChange& change);

/// A bound that a change must not exceed: "throughput: 2 %".
struct Bound {
  std::string metric;  ///< a metric's name, or "headline", or "throughput"
  double worse_by = 0;
};
/// Throws Error of kind usage.
[[nodiscard]] Bound parse_bound(const std::string& text);
/// What exceeds a bound, one sentence each: a change for the worse that is certain and larger; a
/// case that cannot be compared; a metric that no case has. Empty: nothing does.
[[nodiscard]] std::vector<std::string> exceeded(const Comparison& comparison,
                                                std::span<const Bound> bounds);

}  // namespace assay::compare
