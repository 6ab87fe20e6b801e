#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/student.h"

namespace assay::stats {

/// Whether a series of step times has settled, or why not.
enum class Settling {
  settled,
  too_few,   ///< fewer than kMinSteadySteps to examine
  no_level,  ///< no level lasts to the end and for a quarter of the steps
  drifts,    ///< the last level still rises or falls by more than kDriftTolerance
};

/// The part of a series of step times in which the steps have settled. If no level lasts, or only
/// for too few steps, this is all steps after the warm-up.
struct SteadyState {
  Settling settling = Settling::settled;
  std::size_t first = 0;  ///< index of the first steady step
  std::size_t end = 0;    ///< one past the last; before the series' end if its last steps differ
  std::vector<std::size_t> stalls{};   ///< in [first, end), ascending: excluded from the rest
  double mean = 0;                     ///< of the steady steps
  double median = 0;                   ///< of the steady steps
  std::optional<Interval> interval{};  ///< 95 %, of `mean`, allowing for the steps' autocorrelation
  double drift = 0;  ///< relative change of the step time over the last level, from its slope
};

/// A step that takes this many medians is a stall, as long as at most kMaxStallShare of the steps
/// do: anything more frequent is how the workload runs.
inline constexpr double kStallFactor = 3;
inline constexpr double kMaxStallShare = 0.1;
inline constexpr double kSteadyTolerance = 0.005;
inline constexpr double kDriftTolerance = 0.02;
inline constexpr double kMinSteadyShare = 0.25;
inline constexpr double kMaxTailShare = 0.125;  ///< other steps after the steady ones
inline constexpr std::size_t kMinSteadySteps = 10;

/// Finds the steady steps of `seconds` (not negative, finite, in training order, without
/// evaluations), never counting the first `warmup`.
///
/// 1. The steps are divided into at most 128 groups of 5 or more neighbors. A group's level is its
///    median, which single slow steps, even periodic ones, do not move.
/// 2. The groups are split where their level changes: by the segmentation with the smallest sum of
///    squares, in which each change costs 3·ln(groups) noise variances (optimal partitioning; the
///    noise from the median absolute difference of groups that are one, two or three apart).
/// 3. Neighboring segments whose levels differ by less than kSteadyTolerance, or by less than four
///    standard errors, become one level, the most similar ones first. So do two of the same level
///    with a disturbance between them that moves their mean by less than kSteadyTolerance.
/// 4. The last level with kMinSteadyShare of the groups is the steady one if at most kMaxTailShare
///    of the groups follow. At both of its ends, single steps that are off by more than four robust
///    standard deviations (and 1 %) belong to what lies beyond, unless such steps also make up a
///    hundredth of the rest.
/// 5. It drifts if Theil and Sen's slope changes it by more than kDriftTolerance and by more than
///    four standard errors.
///
/// Returns nothing without a step after the warm-up, or if a value is not finite. O(n).
[[nodiscard]] std::optional<SteadyState> find_steady_state(std::span<const double> seconds,
                                                           std::size_t warmup = 0);

/// Confidence interval of the mean of values that may depend on their predecessors: Student's t
/// with the standard error s·√(τ/n) and n/τ − 1 degrees of freedom, where τ = 1 + 2·Σ ρ_k over the
/// autocorrelations before the first non-positive pair ρ_2m + ρ_2m+1 (Geyer's initial positive
/// sequence), at least 1. For more than 4096 values, uses means of equally many neighbors, reducing
/// them to 4096. n ≥ 4; nothing if n/τ < 2.
[[nodiscard]] std::optional<Interval> autocorrelated_mean_interval(std::span<const double> values,
                                                                   double level = 0.95);

}  // namespace assay::stats
