#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "stats/student.h"

namespace assay::stats {
namespace {

TEST(IncompleteBeta, HasItsClosedForms) {
  for (const double x : {0.01, 0.2, 0.5, 0.77, 0.999}) {
    EXPECT_NEAR(*incomplete_beta(1, 1, x), x, 1e-14);
    EXPECT_NEAR(*incomplete_beta(3, 1, x), x * x * x, 1e-14);
    EXPECT_NEAR(*incomplete_beta(1, 4, x), 1 - std::pow(1 - x, 4), 1e-14);
    EXPECT_NEAR(*incomplete_beta(0.5, 0.5, x), 2 / std::numbers::pi * std::asin(std::sqrt(x)),
                1e-14);
  }
  EXPECT_EQ(*incomplete_beta(2, 3, 0), 0);
  EXPECT_EQ(*incomplete_beta(2, 3, 1), 1);
  EXPECT_FALSE(incomplete_beta(0, 1, 0.5));
  EXPECT_FALSE(incomplete_beta(1, 1, 1.5));
}

TEST(StudentQuantile, HasItsClosedFormForOneAndTwoDegreesOfFreedom) {
  for (const double p : {0.001, 0.025, 0.3, 0.5, 0.8, 0.95, 0.975, 0.9999}) {
    EXPECT_NEAR(*student_t_quantile(p, 1), std::tan(std::numbers::pi * (p - 0.5)),
                1e-9 * std::abs(std::tan(std::numbers::pi * (p - 0.5))) + 1e-12);
    const double two = (2 * p - 1) / std::sqrt(2 * p * (1 - p));
    EXPECT_NEAR(*student_t_quantile(p, 2), two, 1e-9 * std::abs(two) + 1e-12);
  }
}

TEST(StudentQuantile, AgreesWithPrintedTables) {
  struct Entry {
    double df, p, t;
  };
  for (const Entry& e : std::vector<Entry>{{1, 0.975, 12.7062047364},
                                           {2, 0.975, 4.30265272991},
                                           {3, 0.975, 3.18244630528},
                                           {4, 0.975, 2.7764451052},
                                           {5, 0.995, 4.03214298356},
                                           {9, 0.975, 2.26215716274},
                                           {29, 0.975, 2.04522964213},
                                           {100, 0.975, 1.98397151845}})
    EXPECT_NEAR(*student_t_quantile(e.p, e.df), e.t, 1e-8) << e.df;
}

TEST(StudentQuantile, ApproachesTheNormalDistribution) {
  EXPECT_NEAR(*student_t_quantile(0.975, 1e6), 1.959963984540054, 1e-5);
}

TEST(StudentQuantile, InvertsTheDistributionFunction) {
  for (const double df : {0.5, 1.0, 3.0, 7.5, 40.0, 1000.0})
    for (const double p : {1e-6, 0.01, 0.4, 0.6, 0.99})
      EXPECT_NEAR(*student_t_cdf(*student_t_quantile(p, df), df), p, 1e-10) << df << " " << p;
}

TEST(StudentQuantile, RefusesWhatIsNotADistribution) {
  EXPECT_FALSE(student_t_quantile(0, 3));
  EXPECT_FALSE(student_t_quantile(1, 3));
  EXPECT_FALSE(student_t_quantile(0.5, 0));
  EXPECT_FALSE(student_t_quantile(0.5, std::numeric_limits<double>::quiet_NaN()));
}

TEST(MeanInterval, IsMeanPlusMinusTimesStandardError) {
  const std::vector<double> v{10, 12, 14};
  const auto interval = mean_interval(v);
  const double half = 4.302652729911275 * 2 / std::sqrt(3.0);
  EXPECT_NEAR(interval->low, 12 - half, 1e-9);
  EXPECT_NEAR(interval->high, 12 + half, 1e-9);
}

TEST(MeanInterval, NeedsTwoValuesAndASensibleLevel) {
  EXPECT_FALSE(mean_interval(std::vector<double>{1}));
  EXPECT_FALSE(mean_interval(std::vector<double>{1, 2}, 1));
  EXPECT_FALSE(mean_interval(std::vector<double>{1, 2}, 0));
}

}  // namespace
}  // namespace assay::stats
