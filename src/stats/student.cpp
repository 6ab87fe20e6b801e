#include "stats/student.h"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>

#include "stats/descriptive.h"

namespace assay::stats {

namespace policies = boost::math::policies;

std::optional<double> student_t_quantile(double p, double df) {
  if (!(p > 0 && p < 1) || !(df > 0) || !std::isfinite(df)) return std::nullopt;
  // Returns infinity or NaN instead of throwing when a value cannot be computed.
  using Quiet = policies::policy<policies::overflow_error<policies::ignore_error>,
                                 policies::evaluation_error<policies::ignore_error>>;
  const double t =
      boost::math::quantile(boost::math::students_t_distribution<double, Quiet>(df), p);
  return std::isfinite(t) ? std::optional(t) : std::nullopt;
}

double student_t_tail(double t, double df) {
  if (!(df > 0) || std::isnan(t)) return 1;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return boost::math::cdf(boost::math::complement(boost::math::students_t(df), t));
}

std::optional<Interval> mean_interval(std::span<const double> values, double level) {
  if (!(level > 0 && level < 1)) return std::nullopt;
  const auto center = mean(values);
  const auto spread = stddev(values);
  if (!center || !spread) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const auto t = student_t_quantile(1 - (1 - level) / 2, n - 1);
  if (!t) return std::nullopt;
  const double half = *t * *spread / std::sqrt(n);
  if (!std::isfinite(*center - half) || !std::isfinite(*center + half)) return std::nullopt;
  return Interval{*center - half, *center + half};
}

}  // namespace assay::stats
