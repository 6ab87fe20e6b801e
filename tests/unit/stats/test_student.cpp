#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "stats/student.h"

namespace assay::stats {
namespace {

TEST(StudentQuantile, HasItsClosedFormForOneAndTwoDegreesOfFreedom) {
  for (const double p : {0.001, 0.025, 0.3, 0.5, 0.8, 0.95, 0.975, 0.9999}) {
    EXPECT_NEAR(*student_t_quantile(p, 1), std::tan(std::numbers::pi * (p - 0.5)),
                1e-9 * std::abs(std::tan(std::numbers::pi * (p - 0.5))) + 1e-12);
    const double two = (2 * p - 1) / std::sqrt(2 * p * (1 - p));
    EXPECT_NEAR(*student_t_quantile(p, 2), two, 1e-9 * std::abs(two) + 1e-12);
  }
}

// Values of reports that were made before Boost computed them.
TEST(StudentQuantile, StaysAsReportsHaveIt) {
  struct Entry {
    double df, p, t;
  };
  for (const Entry& e :
       std::vector<Entry>{{1, 0.9, 3.0776835371752527},      {1, 0.95, 6.3137515146750314},
                          {1, 0.975, 12.706204736174671},    {1, 0.995, 63.656741162870851},
                          {1, 0.9999, 3183.098757116732},    {2, 0.9, 1.8856180831641267},
                          {2, 0.95, 2.9199855803537229},     {2, 0.975, 4.3026527297494566},
                          {2, 0.995, 9.9248432009182359},    {2, 0.9999, 70.700071074948553},
                          {3, 0.9, 1.6377443536962104},      {3, 0.95, 2.3533634348018215},
                          {3, 0.975, 3.1824463052837046},    {3, 0.995, 5.840909309733334},
                          {3, 0.9999, 22.20374227320087},    {4, 0.9, 1.5332062740589436},
                          {4, 0.95, 2.1318467863266495},     {4, 0.975, 2.7764451051977912},
                          {4, 0.995, 4.6040948713499787},    {4, 0.9999, 13.033671720894981},
                          {9, 0.9, 1.383028738396632},       {9, 0.95, 1.8331129326562356},
                          {9, 0.975, 2.2621571627982044},    {9, 0.995, 3.2498355415921192},
                          {9, 0.9999, 6.0101321290810779},   {29, 0.9, 1.3114336473015578},
                          {29, 0.95, 1.6991270265334941},    {29, 0.975, 2.0452296421327012},
                          {29, 0.995, 2.7563859036706018},   {29, 0.9999, 4.253894118432016},
                          {100, 0.9, 1.2900747613464614},    {100, 0.95, 1.6602343260852359},
                          {100, 0.975, 1.9839715185235616},  {100, 0.995, 2.6258905214380226},
                          {100, 0.9999, 3.8615997909498643}, {1000, 0.9, 1.2823987214616768},
                          {1000, 0.95, 1.6463788172869058},  {1000, 0.975, 1.9623390808262706},
                          {1000, 0.995, 2.5807546980658289}, {1000, 0.9999, 3.7328516045750946}})
    EXPECT_NEAR(*student_t_quantile(e.p, e.df) / e.t, 1, 1e-12) << e.df << " " << e.p;
}

TEST(StudentQuantile, ApproachesTheNormalDistribution) {
  EXPECT_NEAR(*student_t_quantile(0.975, 1e6), 1.959963984540054, 1e-5);
  EXPECT_NEAR(*student_t_quantile(0.975, 1e300), 1.959963984540054, 1e-12);
}

TEST(StudentQuantile, IsSymmetric) {
  for (const double df : {0.5, 1.0, 3.0, 7.5, 40.0, 1000.0})
    for (const double p : {0.01, 0.25, 0.4})
      EXPECT_NEAR(*student_t_quantile(p, df) / *student_t_quantile(1 - p, df), -1, 1e-12) << df;
  EXPECT_EQ(student_t_quantile(0.5, 3), 0);
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
