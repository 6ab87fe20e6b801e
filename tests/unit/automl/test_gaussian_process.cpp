#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/cholesky.h"
#include "automl/distance.h"
#include "automl/gaussian_process.h"
#include "automl/morphism.h"
#include "automl/start_models.h"
#include "error_of.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using Matrix = std::vector<std::vector<double>>;

Matrix random_positive(Random& random, std::size_t n) {
  Matrix b(n, std::vector<double>(n));
  for (auto& row : b) {
    for (double& v : row) v = random.normal();
  }
  Matrix a(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) a[i][j] += b[i][k] * b[j][k];
    }
    a[i][i] += 0.1;
  }
  return a;
}

std::vector<Descriptor> family(int count, std::uint64_t seed) {
  std::vector<Graph> graphs{resnet20()};
  std::vector<Descriptor> descriptors{describe(graphs[0])};
  Random random(seed);
  while (static_cast<int>(graphs.size()) < count) {
    const auto child = random_child(graphs[random.below(graphs.size())], {}, {}, random);
    if (!child) continue;
    Descriptor d = describe(child->graph);
    const bool known = std::any_of(descriptors.begin(), descriptors.end(),
                                   [&](const Descriptor& other) { return other.hash == d.hash; });
    if (known) continue;
    graphs.push_back(child->graph);
    descriptors.push_back(std::move(d));
  }
  return descriptors;
}

Prediction predict_one(GaussianProcess& process, const Descriptor& descriptor) {
  const Descriptor* const one = &descriptor;
  return process.predict({&one, 1})[0];
}

TEST(CholeskyFactor, GrownRowByRowSolvesTheSystem) {
  Random random(2);
  for (const std::size_t n : {1U, 2U, 7U, 20U, 33U}) {
    const Matrix a = random_positive(random, n);
    Cholesky factor;
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(factor.append(std::span(a[i]).first(i + 1)));
    std::vector<double> x(n);
    for (double& v : x) v = random.normal();
    std::vector<double> b(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) b[i] += a[i][j] * x[j];
    }
    factor.solve(b);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(b[i], x[i], 1e-8);
  }
}

TEST(CholeskyFactor, BatchesGiveTheQuadraticForm) {
  Random random(3);
  const std::size_t n = 21;
  const Matrix a = random_positive(random, n);
  Cholesky factor;
  for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(factor.append(std::span(a[i]).first(i + 1)));
  std::vector<double> columns(n * Cholesky::kBatch);
  for (double& v : columns) v = random.normal();
  std::vector<double> solved = columns;
  factor.solve_lower(solved);
  for (std::size_t b = 0; b < Cholesky::kBatch; ++b) {
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = columns[i * Cholesky::kBatch + b];
    const std::vector<double> rhs = x;
    factor.solve(x);
    double expected = 0;
    double actual = 0;
    for (std::size_t i = 0; i < n; ++i) {
      expected += rhs[i] * x[i];
      actual += solved[i * Cholesky::kBatch + b] * solved[i * Cholesky::kBatch + b];
    }
    EXPECT_NEAR(actual, expected, 1e-8 * std::abs(expected));
  }
}

TEST(CholeskyFactor, AMatrixThatIsNotPositiveDefiniteIsRefusedAndChangesNothing) {
  Cholesky factor;
  ASSERT_TRUE(factor.append(std::vector{1.0}));
  EXPECT_FALSE(factor.append(std::vector{1.0, 1.0}));
  EXPECT_EQ(factor.size(), 1U);
  EXPECT_TRUE(factor.append(std::vector{0.5, 1.0}));
  EXPECT_NEAR(factor.log_determinant(), std::log(0.75), 1e-12);
}

TEST(GaussianProcess, KeepsEveryDistinctPointAndMergesRepeatedOnes) {
  GaussianProcess process;
  const auto all = family(300, 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t point = process.add(all[i]);
    EXPECT_EQ(point, i);
    process.measure(point, std::sin(static_cast<double>(i)));
    if (i % 10 == 0) (void)predict_one(process, all[0]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(process.add(all[i]), i);
  EXPECT_EQ(process.size(), 300U);
  EXPECT_EQ(process.measured(), 300U);
  process.measure(7, std::sin(7.0) + 1);
  EXPECT_NEAR(process.value(7), std::sin(7.0) + 0.5, 1e-12);
}

TEST(GaussianProcess, IsSureAndRightWhereItHasMeasuredASmoothFunction) {
  const auto all = family(120, 2);
  GaussianProcess process;
  const auto f = [&](std::size_t i) { return -edit_distance(all[i], all[60]); };
  for (std::size_t i = 0; i < 100; ++i) process.measure(process.add(all[i]), f(i));
  double known = 0;
  double fresh = 0;
  double base = 0;
  double doubt_known = 0;
  double doubt_fresh = 0;
  double mean = 0;
  for (std::size_t i = 0; i < 100; ++i) mean += f(i) / 100;
  for (std::size_t i = 0; i < 20; ++i) {
    known += std::abs(predict_one(process, all[i]).mean - f(i)) / 20;
    fresh += std::abs(predict_one(process, all[100 + i]).mean - f(100 + i)) / 20;
    base += std::abs(mean - f(100 + i)) / 20;
    doubt_known += predict_one(process, all[i]).deviation / 20;
    doubt_fresh += predict_one(process, all[100 + i]).deviation / 20;
  }
  EXPECT_LT(doubt_known, 0.7 * doubt_fresh);
  EXPECT_LT(known, 0.1 * base);
  EXPECT_LT(fresh, 0.4 * base);
}

TEST(GaussianProcess, PredictionsOfABatchAreThoseOfSingleOnes) {
  const auto all = family(60, 3);
  GaussianProcess process;
  for (std::size_t i = 0; i < 41; ++i) {
    process.measure(process.add(all[i]), std::cos(0.1 * static_cast<double>(i)));
  }
  std::vector<const Descriptor*> batch;
  for (std::size_t i = 41; i < 60; ++i) batch.push_back(&all[i]);
  const auto together = process.predict(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Prediction alone = predict_one(process, *batch[i]);
    EXPECT_NEAR(together[i].mean, alone.mean, 1e-12);
    EXPECT_NEAR(together[i].deviation, alone.deviation, 1e-12);
  }
}

TEST(GaussianProcess, APendingPointRemovesDoubtAroundItAndAFailedOneLowersHopes) {
  const auto all = family(40, 4);
  GaussianProcess process;
  for (std::size_t i = 0; i < 30; ++i) {
    process.measure(process.add(all[i]), -edit_distance(all[i], all[20]));
  }
  const Prediction before = predict_one(process, all[35]);
  const std::size_t point = process.add(all[35]);
  const Prediction pending = predict_one(process, all[35]);
  EXPECT_LT(pending.deviation, 0.7 * before.deviation);
  process.fail(point);
  EXPECT_LT(predict_one(process, all[35]).mean, pending.mean);
  EXPECT_EQ(process.size(), 31U);
}

// Beyond the limit each prediction is conditioned on the nearest points alone, but none is lost.
TEST(GaussianProcess, ALongHistoryIsPredictedFromItsNearestPointsAlmostAsWellAsFromAll) {
  const auto all = family(700, 8);
  GaussianProcess exact(10'000);
  GaussianProcess local(100);
  Random random(9);
  for (std::size_t i = 0; i < 600; ++i) {
    const double value = -edit_distance(all[i], all[300]) + random.normal();
    exact.measure(exact.add(all[i]), value);
    local.measure(local.add(all[i]), value);
  }
  double error_exact = 0;
  double error_local = 0;
  double error_mean = 0;
  double ratio = 0;
  double mean = 0;
  for (std::size_t i = 0; i < 600; ++i) mean += local.value(i) / 600;
  for (std::size_t i = 600; i < 700; ++i) {
    const double truth = -edit_distance(all[i], all[300]);
    const Prediction a = predict_one(exact, all[i]);
    const Prediction b = predict_one(local, all[i]);
    error_exact += (a.mean - truth) * (a.mean - truth);
    error_local += (b.mean - truth) * (b.mean - truth);
    error_mean += (mean - truth) * (mean - truth);
    ratio += b.deviation / a.deviation / 100;
  }
  EXPECT_EQ(local.size(), 600U);
  EXPECT_NE(error_local, error_exact);
  EXPECT_LT(error_local, 1.2 * error_exact);
  EXPECT_LT(error_local, 0.2 * error_mean);
  EXPECT_NEAR(ratio, 1.1, 0.3);
}

TEST(GaussianProcess, RestoredBeyondTheLimitItPredictsTheSame) {
  const auto all = family(90, 10);
  GaussianProcess process(50);
  for (std::size_t i = 0; i < 80; ++i)
    process.measure(process.add(all[i]), 0.01 * static_cast<double>(i % 7));
  const Prediction before = predict_one(process, all[85]);
  GaussianProcess restored(50);
  for (std::size_t i = 0; i < 80; ++i)
    restored.measure(restored.add(all[i]), 0.01 * static_cast<double>(i % 7));
  restored.restore(process.save(), "test");
  const Prediction after = predict_one(restored, all[85]);
  EXPECT_EQ(after.mean, before.mean);
  EXPECT_EQ(after.deviation, before.deviation);
}

TEST(GaussianProcess, KnowsNothingWithoutAMeasurement) {
  GaussianProcess process;
  const auto all = family(2, 5);
  process.add(all[0]);
  const Prediction p = predict_one(process, all[1]);
  EXPECT_EQ(p.mean, 0);
  EXPECT_EQ(p.deviation, 1);
}

TEST(GaussianProcess, EqualValuesEverywhereAreNoProblem) {
  GaussianProcess process;
  const auto all = family(20, 6);
  for (std::size_t i = 0; i < 19; ++i) process.measure(process.add(all[i]), 0.5);
  const Prediction p = predict_one(process, all[19]);
  EXPECT_NEAR(p.mean, 0.5, 1e-9);
  EXPECT_TRUE(std::isfinite(p.deviation));
}

TEST(GaussianProcess, AValueThatIsNotFiniteIsRefused) {
  GaussianProcess process;
  const std::size_t point = process.add(family(1, 7)[0]);
  EXPECT_THAT(error_of([&] {
                process.measure(point, NAN);
                return 0;
              }),
              ::testing::HasSubstr("not a finite number"));
  EXPECT_EQ(process.measured(), 0U);
}

}  // namespace
}  // namespace assay::automl
